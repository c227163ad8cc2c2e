"""The derived producer id of a source partition (docs/decisions/0002)."""

from __future__ import annotations

import hashlib

from towpath.model.nouns import ClusterId, LinkName, ProducerId, TopicId, TopicPartition

_FIRST = 1 << 40
_SPREAD = 1 << 61
GENERATIONS = 256
"""Producer ids of a partition that serve in turn: the derived one and those behind it. A target
remembers each for a day, so more than that a day would meet one that it still remembers."""


def producer_id(
    link: LinkName,
    cluster: ClusterId,
    source_id: TopicId,
    target_id: TopicId,
    tp: TopicPartition,
    purpose: str = "data",
) -> ProducerId:
    """Compute the producer id of a partition, which is the same in every copier.

    Brokers give out ids from 0 upward, so ours begin at 2^40. Nothing has to be handed out or
    remembered: two copiers that start at once agree, and a topic that was deleted and created
    again, on either side, gets another id.

    Args:
        link: The link.
        cluster: The id of the source cluster.
        source_id: The id of the source topic.
        target_id: The id of the mirror topic.
        tp: The source partition.
        purpose: What is written under the id; ids of different purposes differ.
    """
    facts = (link, cluster, source_id, target_id, tp.topic, str(tp.partition), purpose)
    text = "\0".join(facts)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return ProducerId(_FIRST + number % _SPREAD)


def is_private(producer: int) -> bool:
    """Whether a producer id is of the range that links derive theirs from."""
    return _FIRST <= producer < _FIRST + _SPREAD + GENERATIONS


def of_generation(first: ProducerId, generation: int) -> ProducerId:
    """Return the producer id of a generation, given that of generation 0."""
    return ProducerId(first + generation % GENERATIONS)


def generations(*first: ProducerId) -> frozenset[ProducerId]:
    """Return the producer ids of all generations, given those of generation 0."""
    return frozenset(of_generation(each, number) for each in first for number in range(GENERATIONS))


def transactional_id(link: LinkName, target: TopicPartition) -> str:
    """Return the transactional id under which a link writes and fills a target partition.

    Names of links and topics contain no colon, so no two links share an id, and an ACL for the
    prefix `towpath.<link>.:` covers this link alone. Because of the dot before the colon, an ACL
    for the prefix `towpath.<link>.` is sufficient too.
    """
    return f"towpath.{link}.:{target}"
