"""A partition as its broker keeps it: segments, retention, the cleaner, and fetches. Pure.

The rules are those of Kafka's `UnifiedLog` and `Cleaner`: retention and limits of size take whole
segments from the start; DeleteRecords moves the start anywhere; the cleaner takes single records
out of all segments but the last one, and leaves offsets as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tests.support.logs.batches import batch
from towpath.cluster.admin import Admin
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client, Records
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.compare.cursor import Reader
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicPartition
from towpath.wire.batch import CONTROL, TRANSACTIONAL
from towpath.wire.plain import Record

MARKER = Record(b"\0\0\0\1", b"\0\0\0\0\0\0")
_BATCHES = 3
"""Batches in one fetch answer."""


@dataclass(frozen=True)
class KeptBatch:
    """A batch: offsets [base, last], and what is left of its records."""

    base: int
    last: int
    records: tuple[Record, ...]
    producer: int = -1
    sequence: int = 7
    control: bool = False

    @property
    def bytes(self) -> bytes:
        """The batch as it is on the wire."""
        return bytes(
            batch(
                self.records,
                base=self.base,
                last=self.last,
                producer_id=self.producer,
                sequence=self.sequence,
                attributes=CONTROL | TRANSACTIONAL if self.control else 0,
            )
        )

    @property
    def size(self) -> int:
        """About its bytes."""
        return 61 + 20 * len(self.records)


@dataclass
class KeptLog:
    """The log of a partition."""

    roll: int
    """Batches in a segment."""
    segments: list[list[KeptBatch]] = field(default_factory=lambda: [[]])
    start: int = 0
    end: int = 0

    def append(self, records: Iterable[Record], producer: int = -1, **more: Any) -> None:
        """Append a batch of records, which get the next offsets."""
        if len(self.segments[-1]) >= self.roll:
            self.segments.append([])
        some = tuple(replace(r, offset=self.end + i) for i, r in enumerate(records))
        last = self.end + len(some) - 1
        self.segments[-1].append(KeptBatch(self.end, last, some, producer, **more))
        self.end = last + 1

    def mark(self, offsets: int) -> None:
        """Append transaction markers, one an offset."""
        for _ in range(offsets):
            self.append([MARKER], producer=1 << 50, control=True)

    @property
    def records(self) -> Iterator[Record]:
        """What consumers see."""
        for each in self._batches:
            if not each.control:
                yield from (r for r in each.records if r.offset >= self.start)

    @property
    def _batches(self) -> Iterator[KeptBatch]:
        for segment in self.segments:
            yield from segment

    # What brokers do

    def expire(self, before: int) -> None:
        """Delete the first segments in which no record is as young as a time."""
        while self._used and max(self._times(self.segments[0]), default=-1) < before:
            self._drop()

    def shrink(self, size: int) -> None:
        """Delete the first segments without which the log still has a size."""
        while self._used:
            rest = sum(each.size for segment in self.segments[1:] for each in segment)
            if rest < size:
                return
            self._drop()

    def delete_before(self, offset: int) -> None:
        """Do what DeleteRecords does."""
        self.start = max(self.start, min(offset, self.end))
        while self._used and self.segments[0][-1].last < self.start:
            self._drop()

    def clean(self, *, tombstones: bool) -> None:
        """Take out what a later record replaces, and tombstones as well if they are old enough."""
        dirty = [each for segment in self.segments[:-1] for each in segment if not each.control]
        last = {r.key: r.offset for each in dirty for r in each.records}
        for segment in self.segments[:-1]:
            segment[:] = [
                replace(each, records=tuple(r for r in each.records if self._stays(r, last, old)))
                if not each.control
                else each
                for old in (tombstones,)
                for each in segment
            ]

    def lose(self, offset: int) -> None:
        """Take out one record, which no broker does."""
        for segment in self.segments:
            segment[:] = [
                replace(each, records=tuple(r for r in each.records if r.offset != offset))
                for each in segment
            ]

    def _stays(self, record: Record, last: dict[bytes | None, int], old: bool) -> bool:
        replaced = last.get(record.key, -1) > record.offset
        return not replaced and not (old and record.value is None)

    @property
    def _used(self) -> bool:
        return any(self.segments)

    def _drop(self) -> None:
        self.segments.pop(0)
        if not self.segments:
            self.segments.append([])
        first = next(self._batches, None)
        self.start = max(self.start, first.base if first is not None else self.end)

    @staticmethod
    def _times(segment: Iterable[KeptBatch]) -> Iterator[int]:
        yield from (r.timestamp for each in segment for r in each.records if not each.control)

    # What clients ask

    def fetch(self, tp: TopicPartition, offset: int, **_: Any) -> Records:
        """Answer a fetch with some batches."""
        if not self.start <= offset <= self.end:
            raise RefusedError("log", f"fetching {tp}", OFFSET_OUT_OF_RANGE, "OFFSET_OUT_OF_RANGE")
        found = [each for each in self._batches if each.last >= offset][:_BATCHES]
        data = bytearray(b"".join(each.bytes for each in found))
        said = Fetched(
            tp=tp,
            error=0,
            high_watermark=self.end,
            last_stable=self.end,
            log_start=self.start,
            aborted=(),
            preferred_replica=-1,
            start=0,
            end=len(data),
        )
        return Records(data, said)

    def earliest(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log start offset."""
        return dict.fromkeys(tps, self.start)

    def latest(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log end offset."""
        return dict.fromkeys(tps, self.end)

    @property
    def offsets(self) -> KeptLog:
        """What asks about offsets."""
        return self

    def reader(self, side: Side) -> Reader:
        """Return a reader of the log, as slices that compare have one."""
        return Reader(side, cast("Client", self), cast("Admin", self), 1 << 20, 5.0)
