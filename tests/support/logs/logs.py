"""Logs of one partition, as brokers keep them: drawn by hypothesis, and read slowly but plainly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.support.logs.batches import CODECS, RECORD, at_offsets, batch
from towpath.archive.model import GapKind, OffsetGap
from towpath.model.nouns import SourceOffset
from towpath.wire import plain
from towpath.wire.aborted import Aborted, AbortedTransactions
from towpath.wire.batch import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader
from towpath.wire.plain import Record

PRODUCERS = (11, 12, 13)
_COMMIT = b"\0\0\0\1"


@dataclass(frozen=True, slots=True)
class Log:
    """A log in whole batches.

    Attributes:
        batches: Its batches.
        aborted: Producer id and first offset of each aborted transaction.
    """

    batches: tuple[bytes, ...]
    aborted: tuple[tuple[int, int], ...] = ()

    @property
    def data(self) -> bytes:
        return b"".join(self.batches)

    @property
    def start(self) -> int:
        return BatchHeader.read(self.batches[0]).base_offset if self.batches else 0

    @property
    def end(self) -> int:
        if not self.batches:
            return 0
        header = BatchHeader.read(self.batches[-1])
        return header.base_offset + header.last_offset_delta + 1


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as consumers see it, with what else an archive keeps of it."""

    record: Record
    time_type: int
    epoch: int


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw a log: plain batches, transactions, compaction, several codecs and types of time."""
    at = draw(st.sampled_from([0, 5, 2**40 + 7, 2**62]))
    batches: list[bytes] = []
    aborted: list[tuple[int, int]] = []
    begun: dict[int, tuple[int, bool]] = {}
    for _ in range(draw(st.integers(0, 7))):
        at += draw(st.sampled_from([0, 0, 0, 1, 9]))
        what = draw(st.sampled_from(["plain", "plain", "append", "of", "end", "empty"]))
        who = draw(st.sampled_from(PRODUCERS))
        if what == "end":
            end = [Record(_COMMIT, b"\0" * 6, (), 7, at)]
            flags = CONTROL | TRANSACTIONAL
            batches.append(bytes(batch(end, attributes=flags, producer_id=who)))
            begun.pop(who, None)
            at += 1
            continue
        flags = {"append": LOG_APPEND_TIME, "of": TRANSACTIONAL}.get(what, 0)
        if what == "of" and who not in begun:
            begun[who] = (at, draw(st.booleans()))
            if begun[who][1]:
                aborted.append((who, at))
        made = _batch(draw, at, flags, who if what == "of" else -1, empty=what == "empty")
        header = BatchHeader.read(made)
        at = header.base_offset + header.last_offset_delta + 1
        batches.append(made)
    return Log(tuple(batches), tuple(aborted))


def _batch(draw: st.DrawFn, at: int, flags: int, producer: int, *, empty: bool) -> bytes:
    records = [] if empty else draw(st.lists(RECORD, min_size=1, max_size=6))
    steps = [draw(st.sampled_from([1, 1, 1, 3])) for _ in records]
    offsets, place = [], at + draw(st.sampled_from([0, 0, 2]))
    for step in steps:
        offsets.append(place)
        place += step
    return bytes(
        batch(
            at_offsets(records, offsets),
            draw(st.sampled_from(CODECS)),
            attributes=flags,
            base=at,
            last=place - 1 + draw(st.sampled_from([0, 0, 4])) if records else at + 2,
            max_timestamp=draw(st.sampled_from([-1, 0, 1_700_000_000_000]))
            if flags == LOG_APPEND_TIME
            else None,
            producer_id=producer,
        )
    )


def read_plainly(log: Log, start: int, end: int) -> tuple[list[Seen], list[OffsetGap]]:
    """Return the records and the gaps of [start, end), by the readable codec."""
    transactions = AbortedTransactions(log.aborted)
    seen: list[Seen] = []
    kinds: dict[int, GapKind] = {}
    at = start
    for raw in log.batches:
        header = BatchHeader.read(raw)
        last = header.base_offset + header.last_offset_delta
        void = transactions.void(last, header.attributes, header.producer_id)
        kind = GapKind.COMPACTED
        if void:
            kind = GapKind.MARKER if header.attributes & CONTROL else GapKind.ABORTED
        held = () if void else plain.decode(raw)
        for record in held:
            if start <= record.offset < end:
                is_append = bool(header.attributes & LOG_APPEND_TIME)
                seen.append(Seen(record, int(is_append), header.leader_epoch))
        there = {record.offset for record in held}
        for offset in range(max(start, header.base_offset), min(end, last + 1)):
            if offset not in there:
                kinds[offset] = kind
    there = {each.record.offset for each in seen}
    gaps: list[OffsetGap] = []
    for at in range(start, end):
        if at in there:
            continue
        kind = kinds.get(at, GapKind.COMPACTED)
        if gaps and gaps[-1].end == at and gaps[-1].kind is kind:
            gaps[-1] = replace(gaps[-1], end=SourceOffset(at + 1))
        else:
            gaps.append(OffsetGap(SourceOffset(at), SourceOffset(at + 1), kind))
    return seen, gaps


def cut(log: Log, sizes: Sequence[int]) -> list[tuple[bytes, Aborted]]:
    """Return the batches in several responses, each with so many of them, as a broker would."""
    parts, at = [], 0
    for size in (*sizes, len(log.batches)):
        part = log.batches[at : at + size]
        at += size
        if part:
            parts.append((b"".join(part), _told(log, part)))
    return parts


def _told(log: Log, part: Sequence[bytes]) -> Aborted:
    """Return the aborted transactions that have offsets among some batches."""
    first = BatchHeader.read(part[0]).base_offset
    header = BatchHeader.read(part[-1])
    last = header.base_offset + header.last_offset_delta
    return tuple(
        (producer, begun)
        for producer, begun in log.aborted
        if begun <= last and _ended(log, producer, begun) >= first
    )


def _ended(log: Log, producer: int, begun: int) -> int:
    """Return the offset of the marker of a transaction."""
    for header in map(BatchHeader.read, log.batches):
        if header.base_offset > begun and (header.producer_id, CONTROL) == (
            producer,
            header.attributes & CONTROL,
        ):
            return header.base_offset
    return log.end
