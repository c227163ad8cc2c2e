"""Archives in a folder, made of records without any source, and the files that describe them."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.archive.archives import CLUSTER, WRITER
from tests.support.archive.segments import TINY, buffer
from tests.support.logs.batches import batch, numbered
from towpath.archive.config import ArchiveConfig, load_archive
from towpath.archive.format.either_format import write_object
from towpath.archive.format.footer import SegmentHead
from towpath.archive.keys import segment_key
from towpath.archive.log import CommitLog
from towpath.archive.log.captures import TopicCapture
from towpath.archive.log.entries import Draft, SeenPartition
from towpath.archive.model import PartitionId, Segment, SegmentPlace
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.runtime.clock import now_ms
from towpath.store import Store
from towpath.wire.batch import CONTROL, TRANSACTIONAL
from towpath.wire.codec import ZSTD
from towpath.wire.plain import Record

REGION = "eu"
DAY = 86_400_000
_EPOCH_AT = 12
_COMMIT = Record(b"\0\0\0\1", b"\0" * 6, (), 7, 0)


def old_records(count: int, first: int = 0, days: int = 40) -> tuple[Record, ...]:
    """Return records that are so many days old."""
    then = now_ms() - days * DAY
    return numbered([_record(place, then) for place in range(first, first + count)], first)


def _record(place: int, then: int) -> Record:
    value = None if place % 11 == 10 else b"value %d " % place * 9
    headers = ((b"n", b"%d" % place), (b"n", None)) if place % 5 == 0 else ()
    return Record(b"key %d" % place, value, headers, then + place, 0)


def batches_of(records: Sequence[Record], each: int = 7) -> list[bytes]:
    """Return records in batches, with a marker wherever an offset is missing between two."""
    made: list[bytes] = []
    some: list[Record] = []
    for record in records:
        if some and (record.offset != some[-1].offset + 1 or len(some) == each):
            made.append(bytes(batch(some, ZSTD)))
            missing = range(some[-1].offset + 1, record.offset)
            made += (_marker(offset) for offset in missing)
            some = []
        some.append(record)
    return [*made, bytes(batch(some, ZSTD))] if some else made


def _marker(offset: int) -> bytes:
    ended = replace(_COMMIT, offset=offset)
    return bytes(batch([ended], attributes=CONTROL | TRANSACTIONAL, producer_id=11))


@dataclass
class StoredArchive:
    """An archive in a folder.

    Attributes:
        folder: Where it is, and its file.
        name: Its name.
        target: Where its file restores to.
        more: Further sections of the file.
        region: The region that archives.
        cluster: Of which cluster it says that it is.
        kind: How its objects hold records.
        epoch: The leader epoch in which records were written.
    """

    folder: Path
    name: str
    target: str
    more: Mapping[str, Any] = field(default_factory=dict)
    region: str = REGION
    cluster: ClusterId = CLUSTER
    kind: SegmentFormat = SegmentFormat.PARQUET
    epoch: int = 3

    def file(self, **restore: Any) -> Path:
        """Write the file with this section `restore`."""
        path = self.folder / f"{self.name}.yaml"
        told = {
            "kind": "archive",
            "archive": self.name,
            "source": {"bootstrap": "127.0.0.1:1"},
            "store": {"url": self.url},
            "region": self.region,
            "topics": {"include": [".*"]},
            "run": {"heartbeat": "1s"},
            "target": {"bootstrap": self.target},
            "restore": restore,
            **self.more,
        }
        path.write_text(json.dumps(told))
        return path

    def config(self, **restore: Any) -> ArchiveConfig:
        """Return what the file says."""
        return load_archive(self.file(**restore))

    @property
    def url(self) -> str:
        return f"file:{self.folder / self.name}-store"

    def path(self, segment: Segment) -> Path:
        """Return where the object of a segment is."""
        assert segment.place is not None
        return self.folder / f"{self.name}-store" / segment.place.key

    @property
    def store(self) -> Store:
        return Store(self.config().store)

    @property
    def log(self) -> CommitLog:
        return CommitLog.open_or_begin(self.store, self.region)

    def describe(
        self,
        topic: str,
        own: Mapping[str, str] | None = None,
        partitions: int = 1,
        number: str = "",
    ) -> None:
        """Archive the description of a topic."""
        told = TopicCapture(
            cluster=self.cluster,
            id=TopicId(number or f"id-{topic}"),
            name=TopicName(topic),
            partitions=partitions,
            replication_factor=1,
            own=own or {},
            configs=own or {},
        )
        self.log.append(Draft(writer=WRITER, captures=(told.capture(),)))

    def put(
        self,
        topic: str,
        records: Sequence[Record],
        cuts: Iterable[int] = (),
        partition: int = 0,
        number: str = "",
        end: int | None = None,
        start: int | None = None,
    ) -> list[Segment]:
        """Archive records of a partition in segments that begin at these offsets."""
        wanted = records[-1].offset + 1 if end is None else end
        places = [records[0].offset if start is None else start, *cuts, wanted]
        pid = PartitionId(self.cluster, TopicId(number or f"id-{topic}"), partition)
        made = [self._segment(pid, topic, records, *each) for each in pairwise(places)]
        seen = SeenPartition(
            cluster=self.cluster,
            topic_id=pid.topic_id,
            topic=TopicName(topic),
            partition=partition,
            log_start=SourceOffset(places[0]),
            stable_end=SourceOffset(wanted),
        )
        self.log.append(Draft(writer=WRITER, add=tuple(made), partitions=(seen,)))
        return made

    def fork(self, topic: str, at: int, history: int = 1, partition: int = 0) -> str:
        """Begin another history of a partition at an offset; return the `number` for `put`."""
        pid = PartitionId(self.cluster, TopicId(f"id-{topic}"), partition).of_history(history)
        seen = SeenPartition(
            cluster=self.cluster,
            topic_id=pid.topic_id,
            topic=TopicName(topic),
            partition=partition,
            log_start=SourceOffset(0),
            stable_end=SourceOffset(at),
            fork=SourceOffset(at),
        )
        self.log.append(Draft(writer=WRITER, partitions=(seen,)))
        return pid.topic_id

    def _segment(
        self, pid: PartitionId, topic: str, records: Sequence[Record], start: int, end: int
    ) -> Segment:
        out = io.BytesIO()
        target = write_object(self.kind, lambda: out, TINY)
        head = SegmentHead(
            cluster=self.cluster,
            topic_id=pid.topic_id,
            topic=TopicName(topic),
            partition=pid.partition,
            start=SourceOffset(start),
        )
        writer = target.segment(head, end=SourceOffset(end))
        some = [each for each in records if start <= each.offset < end]
        for each in batches_of(some):
            told = bytearray(each)
            struct.pack_into(">i", told, _EPOCH_AT, self.epoch)  # the checksum does not cover it
            writer.take(buffer(bytes(told)), 0, len(told), ())
        footer = writer.close(SourceOffset(end))
        target.close()
        first, last = SourceOffset(start), SourceOffset(end)
        key = segment_key(
            self.region, TopicName(topic), pid.partition, 0, first, last, suffix=self.kind
        )
        if pid.topic_id != f"id-{topic}":
            key = f"{pid.topic_id}/{key}"
        data = out.getvalue()
        self.store.put_new(key, data)
        groups = len(footer.parts) if self.kind is SegmentFormat.PARQUET else 0
        place = SegmentPlace(key=key, size=len(data), row_groups=groups, crc=zlib.crc32(data))
        return footer.segment(self.kind, place if footer.parts else None)
