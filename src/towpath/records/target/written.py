"""The link's records in a target partition, read after a crash or for a proof. Blocking.

Our plain batches count at once. Our transactional batches count once the marker of their
transaction commits it. The partition is not read with isolation.level=read_committed, which would
end wherever any other writer has an open transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client, Records
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import ProducerId, Side, TopicPartition
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.wire import batch as wire
from towpath.wire import records
from towpath.wire.digest import Hashes, record_hashes

_FETCH_BYTES = 4 << 20
_WAIT = 0.05
_COMMIT = b"\0\1"

Part = tuple[wire.Table, Hashes, Hashes, wire.Table]
"""Offsets of records, their hashes with timestamps, their hashes without, and their sequences."""


@dataclass(frozen=True, slots=True)
class Span:
    """The wanted part of a batch: target offsets [first, end) and sequences.

    The cleaner of a compacted topic removes records of a batch and keeps its sequences.
    """

    first: int
    end: int
    sequence: int
    length: int


@dataclass(frozen=True, slots=True)
class Sought:
    """The link's records to look for in a target log.

    Attributes:
        start: The first offset that counts.
        end: The log end offset.
        plain: How many records of `own` there are. A record becomes visible only when it is on all
            in-sync replicas.
        own: Our producer ids that write without transactions.
        writers: Our producer ids that write in transactions.
    """

    start: int
    end: int
    plain: int
    own: AbstractSet[ProducerId]
    writers: AbstractSet[ProducerId] = frozenset()


def find(client: Client, tp: TopicPartition, wanted: Sought) -> OwnRecords:
    """Find the wanted records in `tp`, as far as they can be read now.

    Raises:
        ClusterError: The target could not be read.
    """
    at, found = wanted.start, OwnRecords(wanted=wanted)
    while True:
        chunk = client.fetch(tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT)
        behind = found.take(chunk)
        at = max(at, behind)
        if behind < 0 or at >= max(chunk.said.high_watermark, wanted.end):
            found.end = at
            return found


@dataclass(slots=True, kw_only=True)
class OwnRecords:
    """The wanted records that were found: `plain` without transactions, read up to `end`."""

    wanted: Sought
    plain: int = 0
    spans: list[Span] = field(default_factory=list)
    """The plain batches."""
    end: int = 0
    _parts: list[Part] = field(default_factory=list)
    _open: dict[int, list[Part]] = field(default_factory=dict)
    _by_clock: bool = False

    @property
    def complete(self) -> bool:
        """Whether all wanted records were found."""
        return self.plain >= self.wanted.plain and self.end >= self.wanted.end

    def take(self, chunk: Records) -> int:
        """Search a fetch response; return the offset after it, -1 if it is empty."""
        table = wire.scan(chunk.buffer, chunk.start, chunk.end)
        ours = np.isin(table[:, wire.PRODUCER], [*self.wanted.own, *self.wanted.writers])
        for row in table[ours].tolist():
            end = row[wire.POSITION] + row[wire.LENGTH]
            batch = chunk.buffer[row[wire.POSITION] : end].data
            if row[wire.ATTRIBUTES] & wire.CONTROL:
                self._decide(row[wire.PRODUCER], commit=is_commit(batch))
            else:
                self._add(row[wire.PRODUCER], row[wire.ATTRIBUTES], batch)
        return int(table[-1, wire.LAST]) + 1 if len(table) else -1

    def _add(self, producer: int, attributes: int, batch: memoryview) -> None:
        offsets, hashes = record_hashes(batch)
        _, timeless = record_hashes(batch, timed=False)
        fresh = offsets >= self.wanted.start
        header = wire.BatchHeader.read(batch)
        sequences = offsets - header.base_offset + header.base_sequence
        part = offsets[fresh], hashes[fresh], timeless[fresh], sequences[fresh]
        self._by_clock |= bool(attributes & wire.LOG_APPEND_TIME)
        if attributes & wire.TRANSACTIONAL:
            self._open.setdefault(producer, []).append(part)
            return
        self._parts.append(part)
        if producer in self.wanted.own and fresh.any():
            self.plain += int(fresh.sum())
            self.spans.append(_span(header, self.wanted.start))

    def _decide(self, producer: int, *, commit: bool) -> None:
        parts = self._open.pop(producer, [])
        if commit:
            self._parts.extend(parts)

    def passed(
        self, retained: int = 0, cleaned_from: tuple[int, int] | None = None
    ) -> BeyondReceipt:
        """Return the relevant records, in the order of offsets.

        If the target topic sets timestamps itself, their hashes leave timestamps out, so that they
        can be found at the source.

        Args:
            retained: How many records before them the target has deleted.
            cleaned_from: The source offset and the sequence from which on they were written, if the
                target's cleaner may have removed some between. Sequences tell how many.
        """
        if not self._parts:
            return BeyondReceipt(retained=retained)
        offsets = np.concatenate([part[0] for part in self._parts])
        order = np.argsort(offsets)
        hashes = np.concatenate([part[2 if self._by_clock else 1] for part in self._parts])
        missing, old_below = None, 0
        if cleaned_from is not None:
            source, sequence = cleaned_from
            sequences = np.concatenate([part[3] for part in self._parts])[order]
            missing = np.diff(sequences, prepend=sequence + retained - 1) - 1
            missing %= wire.SEQUENCES
            old_below = source + retained + int(missing.sum()) + len(missing)
        return BeyondReceipt(
            offsets[order],
            hashes[order],
            timed=not self._by_clock,
            retained=retained,
            missing=missing,
            old_below=old_below,
        )


def _span(header: wire.BatchHeader, start: int) -> Span:
    """Return the part of a batch from offset `start` on."""
    cut = max(0, start - header.base_offset)
    length = header.last_offset_delta + 1
    first = header.base_offset + cut
    sequence = (header.base_sequence + cut) % wire.SEQUENCES
    return Span(first, header.base_offset + length, sequence, length - cut)


@dataclass(frozen=True, slots=True)
class Surplus:
    """Unexpected records of the link at target offsets [first, end)."""

    first: int
    end: int
    records: int


def surplus(
    client: Client, tp: TopicPartition, start: int, end: int, own: AbstractSet[ProducerId]
) -> Surplus | None:
    """Return the records that the link wrote in a stretch of the target log, by batch headers.

    Deleted offsets are passed over.

    Args:
        client: Reads the target.
        tp: The mirror partition.
        start: The first target offset to look at.
        end: The target offset behind the last one.
        own: Producer ids of the link.

    Raises:
        ClusterError: The target could not be read that far yet.
    """
    at, found = start, list[Span]()
    while at < end:
        try:
            chunk = client.fetch(tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT)
        except RefusedError as error:
            deleted = error.error == OFFSET_OUT_OF_RANGE
            begins = client.fetch(tp, end, max_bytes=1).said.log_start if deleted else at
            if begins <= at:
                raise
            at = begins
            continue
        table = wire.scan(chunk.buffer, chunk.start, chunk.end)
        if not len(table):
            raise UnreachableError(
                Side.TARGET, f"reading {tp}", f"offset {at} is in the log but not visible yet"
            )
        ours = np.isin(table[:, wire.PRODUCER], [*own])
        ours &= table[:, wire.ATTRIBUTES] & wire.CONTROL == 0
        inside = (table[:, wire.LAST] >= start) & (table[:, wire.BASE] < end)
        for row in table[ours & inside].tolist():
            count = row[wire.LAST] + 1 - row[wire.BASE]
            found.append(Span(row[wire.BASE], row[wire.LAST] + 1, 0, count))
        at = int(table[-1, wire.LAST]) + 1
    if not found:
        return None
    return Surplus(found[0].first, found[-1].end, sum(span.length for span in found))


@dataclass(frozen=True, slots=True)
class Undone:
    """A transaction that was not committed: its first offset, and the offset of its marker."""

    producer: int
    first: int
    marker: int


def undone(client: Client, tp: TopicPartition, start: int, writers: Sequence[int]) -> list[Undone]:
    """Return the uncommitted transactions of `writers` from `start` to the high watermark."""
    found: list[Undone] = []
    first: dict[int, int] = {}
    at = start
    while True:
        chunk = client.fetch(tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT)
        table = wire.scan(chunk.buffer, chunk.start, chunk.end)
        special = table[:, wire.ATTRIBUTES] & wire.TRANSACTIONAL != 0
        for row in table[special & np.isin(table[:, wire.PRODUCER], writers)].tolist():
            producer, base = row[wire.PRODUCER], row[wire.BASE]
            begun = first.setdefault(producer, base)
            if row[wire.ATTRIBUTES] & wire.CONTROL:
                end = row[wire.POSITION] + row[wire.LENGTH]
                if not is_commit(chunk.buffer[row[wire.POSITION] : end].data):
                    found.append(Undone(producer, begun, base))
                del first[producer]
        at = int(table[-1, wire.LAST]) + 1 if len(table) else at
        if at >= chunk.said.high_watermark:
            return [*found, *(Undone(producer, base, at) for producer, base in first.items())]


def is_commit(marker: memoryview) -> bool:
    """Return whether a transaction marker is a commit (KIP-98: its key is version and type)."""
    return bool(records.decode(marker)["key"][0].as_py()[2:4] == _COMMIT)
