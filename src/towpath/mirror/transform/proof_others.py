"""Records in the mirror topics of a link with `transform` that the link did not write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from towpath.compare.written_rows import NO_LIMIT, WrittenRows
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicName, TopicPartition

Producers = Mapping[int, tuple[TopicPartition, int]]
Others = Mapping[tuple[TopicPartition, int], int]
"""Numbers of records, by target partition and producer id."""


def producers_of(positions: Mapping[TopicPartition, TransformedPosition]) -> Producers:
    """Return the source partition of each producer id, with the last epoch that counts."""
    found = {}
    for tp, at in positions.items():
        found.update(dict.fromkeys(at.earlier, (tp, NO_LIMIT)))
        found[at.producer_id] = tp, at.producer_epoch if at.producer_epoch >= 0 else NO_LIMIT
    return found


def mirrors_of(
    own: TopicName, mirrors: frozenset[TopicName], *, routed: bool
) -> frozenset[TopicName]:
    """Return the mirror topics that may have records of a source partition. Pure.

    Args:
        own: The mirror topic of its topic.
        mirrors: All mirror topics of the link.
        routed: Whether a query may have sent records elsewhere, by the column `topic`.
    """
    return mirrors if routed else frozenset({own})


def others_of(found: Iterable[WrittenRows], positions: PositionsTopic) -> tuple[Others, int]:
    """Return the records that the link did not write, by the positions that it has by now.

    A run may have gone on while the partitions were read. So what stood behind the positions that
    were known is explained only if there is a position for it now.

    Args:
        found: What was read of all mirror topics, with the positions from before.
        positions: The positions of the link.

    Returns:
        The records of others, and the number of those of which a transaction that stays open in
        the topic of positions hides whose they are.
    """
    parts = [*found]
    if not any(each.later or each.others for each in parts):
        return {}, 0
    try:
        return foreign(parts, producers_of(positions.read())), 0
    except LedgerError:
        return {}, sum(foreign(parts, producers_of(positions.seen())).values())


def foreign(found: Iterable[WrittenRows], known: Producers) -> Others:
    """Return the records that no position explains. Pure."""
    counted = Counter[tuple[TopicPartition, int]]()
    for each in found:
        for producer, number in each.others.items():
            if producer not in known:
                counted[each.tp, producer] += number
        for (producer, epoch), number in each.later.items():
            if epoch > known.get(producer, (None, -1))[1]:
                counted[each.tp, producer] += number
    return counted
