"""Topics that programs purge themselves, judged by their names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towpath.mirror.status.unread import PURGED
from towpath.model.amounts import shortened
from towpath.model.findings import Note
from towpath.model.nouns import TopicName

_NAMED = 5
"""So many topics are named at most."""


def purged(topics: Iterable[TopicName]) -> Iterator[Note]:
    """Yield notes on topics that Kafka Streams purges itself.

    Args:
        topics: The mirrored topics, with their names at the source.
    """
    found = sorted(name for name in topics if name.endswith(PURGED))
    if not found:
        return
    yield Note(
        "topics",
        f"{shortened(found, _NAMED)}: Kafka Streams deletes from its repartition topics what"
        " it has read (DeleteRecords, every `repartition.purge.interval.ms`). Where the link is"
        " behind, it passes over what all groups that read the partition had read, writes that to"
        " the ledger, and the partition is mapped from there on; what it cannot see that all have"
        " read is a gap (`records.on_gap`, which can be said by topic)",
    )
