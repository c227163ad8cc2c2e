"""The search for records in mirror topics that MirrorMaker 2 did not write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from towpath.cluster.admin import Admin
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.mirror.mm2.others import Looked, WrittenBatch, judge, task_ids
from towpath.mirror.mm2.policy import Policy
from towpath.mirror.mm2.records import NotOfMirrorMakerError, OffsetSync
from towpath.model.errors import ClusterError, CorruptBatchError, RefusedError
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.wire.header import CONTROL, HEADER_SIZE, BatchHeader, split

_FETCH_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class SkippedSpan:
    """Offsets [first, end) that a consumer would skip, and the checkpoints that cause it."""

    first: int
    end: int
    checkpoints: tuple[int, ...]


class WriterLook:
    """Asks the target who wrote to mirror partitions.

    Args:
        admin: The target.
        client: Fetches from it.
        most: Bytes to read of each partition at most, 0 to read nothing.

    Attributes:
        tasks: Producer ids of MirrorMaker 2's tasks; none unless it writes in transactions.
        failed: Why partitions could not be looked at.
    """

    def __init__(self, admin: Admin, client: Client, most: int) -> None:
        self._admin, self._client, self._most = admin, client, most
        self.tasks = frozenset[ProducerId]()
        self.failed: dict[TopicPartition, str] = {}

    def look(
        self, spans: Mapping[TopicPartition, SkippedSpan], policy: Policy, alias: str
    ) -> dict[TopicPartition, Looked]:
        """Return the known writers of each partition.

        Args:
            spans: What to look at.
            policy: MirrorMaker 2's replication policy.
            alias: Its alias of the source.
        """
        if not self._most or not spans:
            return {}
        self.tasks = self._task_ids()
        syncs = self._syncs(policy, alias)
        found = {}
        for tp, span in sorted(spans.items()):
            try:
                batches = tuple(joined(self._batches(tp, span)))
            except (ClusterError, CorruptBatchError) as error:
                self.failed[tp] = str(error)
                continue
            theirs = syncs.get((policy.original(alias, tp.topic), tp.partition), ())
            found[tp] = judge(batches, span.checkpoints, self.tasks, theirs)
        return found

    def notes(
        self, spans: Mapping[TopicPartition, SkippedSpan], looked: Mapping[TopicPartition, Looked]
    ) -> Iterator[str]:
        """Yield sentences about what could not be observed."""
        if not spans:
            return
        if not self._most:
            yield "nobody looked for records that others wrote to the mirror topics (--scan none)"
            return
        for tp, error in self.failed.items():
            yield f"{tp}: nobody could look who wrote there: {error}"
        part = {tp: seen for tp, seen in looked.items() if seen.end < spans[tp].end}
        for tp, seen in sorted(part.items()):
            yield (
                f"{tp}: only offsets {spans[tp].first} to {seen.end - 1} of {spans[tp].end} were"
                " looked at for records that others wrote; --scan SIZE looks at more"
            )
        if not all(seen.counted for seen in looked.values()):
            yield (
                "records that others wrote without a producer id (librdkafka's default) cannot be"
                " told from MirrorMaker 2's: that needs its offset syncs on the target"
            )

    def _task_ids(self) -> frozenset[ProducerId]:
        try:
            return task_ids(self._admin.producers.transactional_ids())
        except ClusterError:  # an old broker, or a login without the right to list them
            return frozenset()

    def _syncs(
        self, policy: Policy, alias: str
    ) -> dict[tuple[TopicName | None, int], list[OffsetSync]]:
        """Return the offset syncs on the target, none where MirrorMaker 2 has them elsewhere."""
        topic = policy.offset_syncs(alias)
        found: dict[tuple[TopicName | None, int], list[OffsetSync]] = {}
        try:
            if topic not in self._admin.topics.describe([topic]):
                return {}
            records = CommittedReader(self._admin, self._client, TopicPartition(topic, 0)).read()
            for record in records:
                try:
                    sync = OffsetSync.read(record.key or b"", record.value or b"")
                except NotOfMirrorMakerError:
                    continue
                found.setdefault((sync.tp.topic, sync.tp.partition), []).append(sync)
        except ClusterError:  # they only help to see more
            return {}
        return found

    def _batches(self, tp: TopicPartition, span: SkippedSpan) -> Iterator[WrittenBatch]:
        at, left = span.first, self._most
        while at < span.end and left > 0:
            try:
                chunk = self._client.fetch(tp, at, max_bytes=min(_FETCH_BYTES, left))
            except RefusedError as error:
                start = self._admin.offsets.earliest([tp]).sure(tp)
                if error.error != OFFSET_OUT_OF_RANGE or start <= at:
                    raise
                at = start
                continue
            before, left = at, left - len(chunk.batches)
            for batch in map(_header, split(chunk.batches)):
                at = max(at, batch.end)
                yield batch
            if at == before:
                return  # nothing more is committed by the replicas


def _header(raw: memoryview) -> WrittenBatch:
    header = BatchHeader.read(raw[:HEADER_SIZE])
    end = header.base_offset + header.last_offset_delta + 1
    records = 0 if header.attributes & CONTROL else header.count
    return WrittenBatch(header.base_offset, end, records, ProducerId(header.producer_id))


def joined(batches: Iterable[WrittenBatch]) -> Iterator[WrittenBatch]:
    """Join adjacent batches of one producer that have a record at each offset."""
    last: WrittenBatch | None = None
    for batch in batches:
        if last is not None and _continues(last, batch):
            records = last.records + batch.records
            last = WrittenBatch(last.first, batch.end, records, last.producer)
            continue
        if last is not None:
            yield last
        last = batch
    yield from chain([last] if last is not None else [])


def _continues(last: WrittenBatch, batch: WrittenBatch) -> bool:
    dense = all(each.end - each.first == each.records for each in (last, batch))
    return dense and last.producer == batch.producer and last.end == batch.first
