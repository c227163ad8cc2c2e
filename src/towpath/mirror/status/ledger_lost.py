"""Detection of lost ledger entries: mirror topics with records that no entry covers.

A partition is written only after its opening is in the ledger. So if the target knows one of the
link's private producer ids and the ledger has no opening, the ledger was deleted or restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.producers import GENERATIONS, producer_id
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.nouns import LEDGER, ProducerId, Side, TopicPartition
from towpath.model.reason_texts import LEDGER_BACK
from towpath.settings import LinkConfig
from towpath.wire.header import BatchHeader

_SAMPLE = 20
"""Number of partitions whose last batch is read, where the target has forgotten the producers."""
_PATIENCE = 5.0
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class LostEntries:
    """Target partitions with records of a link that no ledger entry covers.

    Attributes:
        link: The link.
        partitions: The target partitions that are certain; there may be more.
    """

    link: str
    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        number, first = len(self.partitions), self.partitions[0]
        where = str(first) if number == 1 else f"{number} partitions such as {first}"
        return (
            f"the ledger (topic {LEDGER} on the target) has no entry for records that link"
            f" {self.link} wrote to {where}; was the topic deleted, or restored from an older"
            f" state? {LEDGER_BACK}"
        )


def lost_entries(
    config: LinkConfig, books: LinkBooks, source: Admin, target: Admin
) -> LostEntries | None:
    """Return the mirror partitions whose ledger entries are lost, `None` if none is known.

    Only partitions that the ledger says were never opened are asked about.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    own = dict(_unopened(config, books, source, target))
    if not own:
        return None
    states = target.producers.states(own, patience=_PATIENCE)
    found = {tp for tp, said in states.items() if any(_is_of(own[tp], s.id) for s in said)}
    if not found:
        found |= set(_last_written(config, target, own))
    return LostEntries(config.link, tuple(sorted(found))) if found else None


def _unopened(
    config: LinkConfig, books: LinkBooks, source: Admin, target: Admin
) -> Iterator[tuple[TopicPartition, ProducerId]]:
    """Yield target partitions, each with the first producer id that only this link writes under."""
    topics = {n: i for n, i in source.topics.describe().items() if config.topics.takes(i)}
    names, _ = config.topics.target_names([n for n, info in topics.items() if not info.error])
    there = target.topics.describe(names.values())
    cluster = source.cluster.id()
    for name, mirror in names.items():
        info, copy = topics[name], there.get(mirror)
        for number in range(min(len(info.partitions), len(copy.partitions)) if copy else 0):
            tp = TopicPartition(name, number)
            if copy is not None and books.of(tp).opened is None:
                mine = producer_id(config.link, cluster, info.id, copy.id, tp)
                yield TopicPartition(mirror, number), mine


def _is_of(first: ProducerId, producer: int) -> bool:
    """Whether a producer id is one of the generations that begin with `first`."""
    return 0 <= producer - first < GENERATIONS


def _last_written(
    config: LinkConfig, target: Admin, own: Mapping[TopicPartition, ProducerId]
) -> Iterator[TopicPartition]:
    """Yield partitions whose last batch is the link's: of old records no producer state is left."""
    ends = target.offsets.latest(own, patience=_PATIENCE)
    with Client(config.target, Side.TARGET, target) as client:
        for tp in sorted(tp for tp, end in ends.items() if end)[:_SAMPLE]:
            with suppress(ClusterError, CorruptBatchError):  # this only adds to what is known
                chunk = client.fetch(tp, ends[tp] - 1, max_bytes=_BATCH)
                if chunk.end > chunk.start:
                    header = BatchHeader.read(chunk.batches)
                    if _is_of(own[tp], header.producer_id):
                        yield tp
