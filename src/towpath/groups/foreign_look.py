"""Reads what it takes to find a group's place in a topic that another tool mirrored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.groups import foreign
from towpath.ledger.offsets import TranslatedOffset
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.wire import batch as wire
from towpath.wire.aborted import visible
from towpath.wire.legacy import modernise
from towpath.wire.plain import Record, decode

_BYTES = 1 << 18
"""Bytes of a fetch, and how far records are looked through for one that looks the same."""
_FURTHER = 8
"""How much further back each look goes where consumers see none of the records before."""


@dataclass(frozen=True, slots=True)
class Log:
    """A partition on one side, as consumers with isolation.level=read_committed see it."""

    admin: Admin
    client: Client
    tp: TopicPartition

    @property
    def start(self) -> int:
        """The log start offset."""
        return self.admin.offsets.earliest([self.tp]).sure(self.tp)

    @property
    def end(self) -> int:
        """The last stable offset."""
        return self.admin.offsets.latest([self.tp], committed=True).sure(self.tp)

    def at_time(self, ms: int) -> int:
        """Return the first offset of a record that is not older, else the log end offset."""
        return self.admin.offsets.at_time([self.tp], ms).sure(self.tp)

    def last_before(self, offset: int, start: int) -> Record | None:
        """Return the last record in [start, offset)."""
        end, step = offset, 1
        while end > start:
            first = max(start, end - step)
            found = [each for each, _ in self.records(first, end) if each.offset < end]
            if found:
                return found[-1]
            end, step = first, step * _FURTHER
        return None

    def records(self, first: int, end: int) -> Iterator[tuple[Record, bool]]:
        """Yield records from the batch of offset `first` on, at least up to offset `end`.

        With each comes whether the broker has set its timestamp (LogAppendTime).
        """
        at = first
        while at < end:
            chunk = self.client.fetch(self.tp, at, max_bytes=_BYTES, committed=True)
            buffer, start, stop = chunk.buffer, chunk.start, chunk.end
            if stop > start and buffer[start + 16] < wire.MAGIC:
                buffer = np.frombuffer(modernise(buffer[start:stop].data), np.uint8)
                start, stop = 0, len(buffer)
            table = wire.scan(buffer, start, stop)
            if not len(table):
                return
            for row in table[visible(table, chunk.said.aborted)].tolist():
                stamped = bool(row[wire.ATTRIBUTES] & wire.LOG_APPEND_TIME)
                position = row[wire.POSITION]
                for record in decode(buffer[position : position + row[wire.LENGTH]].data):
                    yield record, stamped
            at = int(table[-1, wire.LAST]) + 1


def translate(source: Log, target: Log, offset: SourceOffset) -> TranslatedOffset[TargetOffset]:
    """Return where a consumer goes on in a mirror topic of another tool.

    Args:
        source: The source partition.
        target: Its copy.
        offset: The committed offset at the source.

    Raises:
        ClusterError: A cluster could not be asked.
        CorruptBatchError: A batch is damaged.
    """
    last = source.last_before(offset, source.start)
    start = TargetOffset(target.start)
    place = foreign.Place(offset, last, start, TargetOffset(target.end))
    answer = foreign.at_once(place)
    if answer is not None:
        return answer
    guess = start if last is None or last.timestamp < 0 else _at_time(target, last.timestamp)
    found = next(_from(target, min(guess, place.end - 1), place.end), None)
    first = found[0] if found else target.last_before(place.end, start)
    if first is not None and foreign.source_offset(first) is not None:
        return _by_headers(target, foreign.HeaderSearch(place, guess), place.end)
    stamped = found is not None and found[1]
    if stamped and last is not None:
        guess = max(start, _at_time(target, max(0, last.timestamp - foreign.CLOCKS)))
    near = [record for record, _ in _from(target, guess, min(place.end, guess + 1))]
    return foreign.by_time(place, guess, near, stamped=stamped)


def _at_time(target: Log, ms: int) -> TargetOffset:
    return TargetOffset(target.at_time(ms))


def _from(target: Log, first: int, end: int) -> Iterator[tuple[Record, bool]]:
    return ((each, stamped) for each, stamped in target.records(first, end) if each.offset >= first)


def _by_headers(
    target: Log, search: foreign.HeaderSearch, end: int
) -> TranslatedOffset[TargetOffset]:
    while search.at is not None:
        record = next((each for each, _ in _from(target, search.at, end)), None)
        if record is None:
            search.nothing()
            continue
        there = foreign.source_offset(record)
        if there is None:  # somebody else wrote it
            break
        search.told(TargetOffset(record.offset), there)
    return search.answer
