"""The log files of a broker, read from a disk directory or from a bucket with the same files.

A file `<base offset>.log` is nothing but batches, so a restore can hand them on unopened. What a
fetch response would tell besides is found in the log itself: which transactions were aborted, and
where those begin that are still open. pinterest/tiered-storage uploads these files unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.parts import PackedBatches
from towpath.model.errors import CorruptBatchError
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.wire import plain
from towpath.wire.batch import (
    ATTRIBUTES,
    BASE,
    CONTROL,
    COUNT,
    LAST,
    LENGTH,
    MAGIC,
    MAX_TIME,
    NO_END,
    POSITION,
    PRODUCER,
    TRANSACTIONAL,
    Buffer,
    Table,
    scan,
)
from towpath.wire.legacy import modernise
from towpath.wire.opened import read_headers

_PATH = re.compile(r"(?:^|/)(?P<topic>[^/]+)-(?P<partition>\d+)/(?P<base>\d{20})\.log$")
_WINDOW = 8 << 20
_MAGIC_AT, _SIZE_AT, _BEFORE_SIZE = 16, 8, 12
_ABORT = 0


@dataclass(frozen=True, slots=True, order=True)
class BrokerLogFile:
    """One log file of a partition.

    Attributes:
        base: The base offset, which its name says.
        name: Its path or key.
        partition: The partition, which its folder says.
    """

    base: SourceOffset
    name: str
    partition: TopicPartition

    @classmethod
    def of(cls, name: str) -> BrokerLogFile | None:
        """Parse a path or key; return `None` if it is not a log file of a partition.

        Folders of partitions that are being deleted or moved do not count.
        """
        found = _PATH.search(name)
        if found is None:
            return None
        partition = TopicPartition(TopicName(found["topic"]), int(found["partition"]))
        return cls(SourceOffset(int(found["base"])), name, partition)


@dataclass(frozen=True, slots=True)
class LogCut:
    """The bytes left out at the end of a log, which the broker itself would truncate.

    Attributes:
        name: The file.
        at: Position of the first byte that is left out.
        size: Number of bytes. They begin with a batch that is not whole, or is damaged.
    """

    name: str
    at: int
    size: int


@dataclass(frozen=True, slots=True)
class AbortedStretch:
    """An aborted transaction: producer id, first offset, and the offset of its marker."""

    producer: int
    first: SourceOffset
    marker: SourceOffset


@dataclass(slots=True)
class LogSurvey:
    """A summary of a partition's log files: offsets, transactions and counts.

    Attributes:
        start: The first offset; None if there is no batch.
        end: The offset behind the last whole batch.
        stable_end: The offset up to which all transactions have ended.
        aborted: Aborted transactions.
        cut: What is left out at the end; None if nothing is.
        batches: Number of batches.
        records: Number of their records, with those of aborted transactions, without markers.
        size: Their bytes.
        oldest: The lowest of the highest timestamps of batches, in ms; None if none has one.
        newest: The highest timestamp in ms.
    """

    start: SourceOffset | None = None
    end: SourceOffset = SourceOffset(0)
    stable_end: SourceOffset = SourceOffset(0)
    aborted: list[AbortedStretch] = field(default_factory=list)
    cut: LogCut | None = None
    batches: int = 0
    records: int = 0
    size: int = 0
    oldest: int | None = None
    newest: int | None = None

    def note(self, table: Table) -> None:
        """Add the batches of a table to the counts."""
        kept = table[(table[:, ATTRIBUTES] & CONTROL) == 0]
        self.batches += len(table)
        self.records += int(kept[:, COUNT].sum())
        self.size += int(table[:, LENGTH].sum())
        times = kept[kept[:, MAX_TIME] >= 0, MAX_TIME]
        if len(times):
            low, high = int(times.min()), int(times.max())
            self.oldest = low if self.oldest is None else min(self.oldest, low)
            self.newest = high if self.newest is None else max(self.newest, high)

    def told(self, first: int, last: int) -> tuple[tuple[int, int], ...]:
        """Return the aborted transactions within [first, last], as a fetch response lists them."""
        return tuple(
            (each.producer, each.first)
            for each in self.aborted
            if each.first <= last and each.marker >= first
        )


class BrokerLog:
    """The log of one partition in files, for reading.

    Args:
        files: Its files.
        open_file: Opens a file for reading.
        high_watermark: The offset up to which all replicas have the log, if it is known. Batches
            behind it are left out, as the broker would not hand them out.
    """

    def __init__(
        self,
        files: Iterable[BrokerLogFile],
        open_file: Callable[[str], Any],
        high_watermark: SourceOffset | None = None,
    ) -> None:
        self._files = sorted(files)
        self._open = open_file
        self._most = NO_END if high_watermark is None else high_watermark

    def survey(self) -> LogSurvey:
        """Read the headers of all batches, and summarize them.

        Raises:
            CorruptSegmentError: A file is damaged, and it is not the end of the last one.
        """
        found = LogSurvey()
        under_way: dict[int, SourceOffset] = {}
        for window in self._windows(found):
            for row in np.flatnonzero(window.table[:, ATTRIBUTES] & TRANSACTIONAL).tolist():
                _note_transaction(window, row, under_way, found)
            found.note(window.table)
        found.stable_end = min([found.end, *under_way.values()])
        return found

    def batches(
        self, survey: LogSurvey, first: int = 0, end: int = NO_END
    ) -> Iterator[PackedBatches]:
        """Yield the batches with offsets in [first, end) below the stable end, in groups.

        The first and the last one may have records outside of the range.

        Args:
            survey: What `survey` returned.
            first: The first offset.
            end: The offset after the last one.

        Raises:
            CorruptSegmentError: A file is damaged, or has changed since.
        """
        end = min(end, survey.stable_end)
        for window in self._windows(LogSurvey(), first):
            table = window.table[(window.table[:, LAST] >= first) & (window.table[:, BASE] < end)]
            if len(table):
                start, last = int(table[0, POSITION]), table[-1]
                data = window.buffer[start : int(last[POSITION] + last[LENGTH])]
                told = survey.told(int(table[0, BASE]), int(last[LAST]))
                yield PackedBatches(bytearray(data), SourceOffset(int(last[LAST]) + 1), told)
            if len(window.table) and window.table[-1, LAST] + 1 >= end:
                return

    def _windows(self, found: LogSurvey, first: int = 0) -> Iterator[_Window]:
        """Yield all whole batches that the broker would hand out; note start, end and cut."""
        for index, file in enumerate(self._files):
            following = self._files[index + 1 :]
            if following and following[0].base <= first:
                continue
            reading = _Reading(file, last=not following)
            for window in reading.windows(self._open(file.name)):
                table = window.table[
                    (window.table[:, BASE] >= found.end) & (window.table[:, LAST] < self._most)
                ]
                if not len(table):
                    continue
                if found.start is None:
                    found.start = SourceOffset(int(table[0, BASE]))
                found.end = SourceOffset(int(table[-1, LAST]) + 1)
                yield _Window(window.buffer, table)
            found.cut = reading.cut


@dataclass(frozen=True, slots=True)
class _Window:
    """Whole batches of a log file, and the buffer that holds them."""

    buffer: Buffer
    table: Table


class _Reading:
    """Reads one log file, window by window."""

    def __init__(self, file: BrokerLogFile, *, last: bool) -> None:
        self.cut: LogCut | None = None
        self._file, self._last = file, last
        self._at = 0

    def windows(self, source: Any) -> Iterator[_Window]:
        """Yield the whole batches of the file, in windows of memory."""
        with source:
            size, wanted = source.seek(0, 2), _WINDOW
            while self._at < size:
                source.seek(self._at)
                buffer = np.frombuffer(bytearray(source.read(wanted)), np.uint8)
                window, used = self._window(buffer)
                if len(window.table):
                    yield window
                self._at += used
                needed = _next_size(buffer[used:])
                if needed < 0 or self._at + max(needed, len(buffer) - used + 1) > size:
                    break
                wanted = max(_WINDOW, needed)
            self._finish(size, source)

    def _window(self, buffer: Buffer) -> tuple[_Window, int]:
        """Return the whole batches of a buffer, and how many of its bytes they are."""
        try:
            table = scan(buffer, 0, len(buffer))
        except CorruptBatchError as error:
            old = self._old(buffer, error.at)
            if old is not None:
                return old
            table = scan(buffer, 0, error.at)
        table = table[: _sound(buffer, table)] if self._last and len(table) else table
        used = int(table[-1, POSITION] + table[-1, LENGTH]) if len(table) else 0
        return _Window(buffer, table), used

    def _old(self, buffer: Buffer, at: int) -> tuple[_Window, int] | None:
        """Return messages of an old format as batches; None if there are none."""
        if buffer[at + _MAGIC_AT] >= MAGIC or not buffer[at:].any():
            return None
        used = _entries_end(memoryview(buffer.data))
        try:
            made = np.frombuffer(modernise(memoryview(buffer.data)[:used]), np.uint8)
        except CorruptBatchError:
            return None
        return _Window(made, scan(made, 0, len(made))), used

    def _finish(self, size: int, source: Any) -> None:
        """Say what is left of the file, if it is not preallocated."""
        source.seek(self._at)
        while data := source.read(_WINDOW):
            if any(data):
                self._leave_out(size - self._at)
                return

    def _leave_out(self, size: int) -> None:
        if not self._last:
            raise CorruptSegmentError(
                self._file.name,
                f"{size} bytes from {self._at} on are no whole batches, and other files follow",
            )
        self.cut = LogCut(self._file.name, self._at, size)


def _next_size(rest: Buffer) -> int:
    """Return the size of the batch that bytes begin with; 0 if unknown, -1 if it is damaged."""
    if len(rest) <= _MAGIC_AT:
        return 0
    size = _BEFORE_SIZE + int.from_bytes(rest[_SIZE_AT:_BEFORE_SIZE].tobytes(), "big", signed=True)
    return -1 if size <= len(rest) or rest[_MAGIC_AT] > MAGIC else size


def _sound(buffer: Buffer, table: Table) -> int:
    """Return how many leading batches have a correct checksum."""
    positions, lengths = (np.ascontiguousarray(table[:, at]) for at in (POSITION, LENGTH))
    try:
        read_headers(buffer, positions, lengths)
    except CorruptBatchError:
        half = len(table) // 2
        if not half:
            return 0
        first = _sound(buffer, table[:half])
        return first if first < half else half + _sound(buffer, table[half:])
    return len(table)


def _entries_end(data: memoryview) -> int:
    """Return where the last whole message or batch ends."""
    at = 0
    while at + _MAGIC_AT < len(data):
        size = int.from_bytes(data[at + _SIZE_AT : at + _BEFORE_SIZE], "big", signed=True)
        if size <= 0 or at + _BEFORE_SIZE + size > len(data):
            break
        at += _BEFORE_SIZE + size
    return at


def _note_transaction(
    window: _Window, row: int, under_way: dict[int, SourceOffset], found: LogSurvey
) -> None:
    """Note that a transaction begins, goes on or ends with a batch."""
    batch = window.table[row]
    producer, base = int(batch[PRODUCER]), SourceOffset(int(batch[BASE]))
    if not batch[ATTRIBUTES] & CONTROL:
        under_way.setdefault(producer, base)
        return
    first = under_way.pop(producer, None)
    if first is not None and _is_abort(window, batch):
        found.aborted.append(AbortedStretch(producer, first, base))


def _is_abort(window: _Window, batch: Sequence[int] | Table) -> bool:
    """Whether a control batch has the marker of an abort; one that was emptied has none."""
    start = int(batch[POSITION])
    records = plain.decode(window.buffer[start : start + int(batch[LENGTH])].tobytes())
    # The key of a marker: version and type, 2 bytes each (KIP-98).
    return any(
        int.from_bytes((each.key or b"")[2:4], "big") == _ABORT for each in records if each.key
    )
