"""Clients of the source that a gateway cannot take over with its addresses. Blocking, read-only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import every_partition
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName
from towpath.model.quoting import quoted

_NAMED = 3
_INSTEAD = "stop it before, and start it with the address of the gateway"


def not_adopted(source: Admin, topics: Collection[TopicName]) -> Iterator[str]:
    """Yield a sentence on each transactional id that writes to topics, as far as brokers remember.

    Brokers and clients of Kafka 4 agree on transactions that name no partitions beforehand
    (KIP-890). A gateway does not offer these, and a producer that has begun so cannot go on. Which
    of them have, brokers do not tell.

    Args:
        source: The cluster whose addresses a gateway takes over.
        topics: The topics of the link there.
    """
    try:
        names = source.producers.transactional_ids()
        places = every_partition(source.topics.describe(topics)) if names else []
        states = source.producers.states(places) if places else {}
    except ClusterError as error:
        yield f"which transactional producers `adopt` cannot take over is unknown: {error}"
        return
    written: dict[str, set[TopicName]] = defaultdict(set)
    for tp, each in states.items():
        for state in each:
            if state.id in names:
                written[names[state.id]].add(tp.topic)
    for name, those in sorted(written.items()):
        yield (
            f"transactional id {quoted(name)}, which wrote to {shortened(sorted(those), _NAMED)},"
            f" is not taken over by `gateway.adopt` if it is a client of Kafka 4: {_INSTEAD}"
        )
