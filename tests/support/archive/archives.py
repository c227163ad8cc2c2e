"""Segments and drafts of archives for tests, without any object behind them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from towpath.archive.log.checksums import summed_entry
from towpath.archive.log.coding import encode
from towpath.archive.log.entries import Draft, EntryKind, LogEntry, LogWriter, SeenPartition
from towpath.archive.model import (
    GapCounts,
    GapKind,
    PartitionId,
    Segment,
    SegmentPlace,
)
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName

CLUSTER = ClusterId("cluster-a")
WRITER = LogWriter(owner="one", host="here", work="run", epoch=1, towpath="1.0")
COMPACTOR = LogWriter(owner="two", host="here", work="compact", epoch=1, towpath="1.0")


def partition_id(partition: int = 0, topic: str = "orders") -> PartitionId:
    return PartitionId(CLUSTER, TopicId(f"id-{topic}"), partition)


def record_digest(first: int, end: int) -> Digest:
    """Return a digest that differs for other offsets, as if each record were its offset."""
    each = (Digest(1, offset * 7 + 1, offset * 11 + 3) for offset in range(first, end))
    return reduce(Digest.then, each, Digest())


def segment(
    start: int,
    end: int,
    partition: int = 0,
    topic: str = "orders",
    *,
    gaps: Iterable[int] = (),
    kind: GapKind = GapKind.MARKER,
    tag: str = "",
    **more: Any,
) -> Segment:
    """Return a segment with a record at each offset but for gaps.

    Args:
        start: First offset.
        end: End, exclusive.
        partition: The partition.
        topic: The topic.
        gaps: Offsets without a record.
        kind: Why they have none.
        tag: Makes another key for the same range.
        more: Further fields.
    """
    missing = set(gaps)
    offsets = [offset for offset in range(start, end) if offset not in missing]
    digest = reduce(Digest.then, (record_digest(each, each + 1) for each in offsets), Digest())
    level = more.get("level", 0)
    place = SegmentPlace(key=f"eu/{topic}/{partition}/{level}/{start}-{end}{tag}", size=end - start)
    given: dict[str, Any] = {
        "cluster": CLUSTER,
        "topic_id": TopicId(f"id-{topic}"),
        "topic": TopicName(topic),
        "partition": partition,
        "start": SourceOffset(start),
        "end": SourceOffset(end),
        "raw_bytes": 20 * len(offsets),
        "first": offsets[0] if offsets else None,
        "last": offsets[-1] if offsets else None,
        "min_time": 1_000 + start if offsets else None,
        "max_time": 1_000 + end if offsets else None,
        "digest": digest,
        "gaps": GapCounts(**{kind.value: end - start - len(offsets)}),
        "place": place if offsets else None,
        "created": 5,
    }
    return Segment(**(given | more))


def seen(start: int, end: int, partition: int = 0, topic: str = "orders") -> SeenPartition:
    return SeenPartition(
        cluster=CLUSTER,
        topic_id=TopicId(f"id-{topic}"),
        topic=TopicName(topic),
        partition=partition,
        log_start=SourceOffset(start),
        stable_end=SourceOffset(end),
    )


def archiving(*segments: Segment, writer: LogWriter = WRITER, **more: Any) -> Draft:
    return Draft(writer=writer, add=segments, **more)


def compacting(*before: Segment, into: Iterable[Segment]) -> Draft:
    removed = tuple(each.id for each in before)
    return Draft(writer=COMPACTOR, kind=EntryKind.COMPACT, remove=removed, add=tuple(into))


def whole(start: int, end: int, partition: int = 0, level: int = 1, **more: Any) -> Segment:
    """Return a compacted segment."""
    return segment(start, end, partition, level=level, **more)


def without_checksum(entry: LogEntry) -> bytes:
    """Return an entry as it was written before entries had checksums."""
    return _unsummed(encode(entry)).replace(b'"checksum":"sha256",', b"", 1)


def resummed(entry: bytes) -> bytes:
    """Return an entry that was changed with the checksum of what it is now."""
    return summed_entry(_unsummed(entry))


def _unsummed(entry: bytes) -> bytes:
    return entry[: entry.rindex(b',"sha256":')] + b"}"
