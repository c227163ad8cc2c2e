"""The queue of one partition between fetching and producing. Pure: no socket, no clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from towpath.cluster.data.buffers import Frame
from towpath.cluster.data.client import Client
from towpath.ledger.entries import Run
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import Reason
from towpath.wire import batch as wire

_PINNED = 4
"""A batch is copied out of a buffer that is so many times larger, where memory is scarce."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """One batch to be sent, stamped; it covers the source offsets [base, end).

    `pieces` are the runs (source offset, length) of its records where they have holes between. One
    that was `sent` may lie on the target already, so it goes again as it is.
    """

    data: memoryview
    frame: Frame | None
    base: SourceOffset
    end: SourceOffset
    count: int
    sequence: int
    crc: int
    epoch: int
    time: int
    pieces: tuple[tuple[SourceOffset, int], ...] | None = None
    sent: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data)

    def release(self) -> None:
        """Let the bytes go."""
        if self.frame is not None:
            self.frame.release()
            self.frame = None


@dataclass(slots=True)
class Fill:
    """Source offsets [base, end) that hold nothing a consumer may see.

    `epoch` is the leader epoch of the last one, -1 where it is not known. `holes` is how many of
    them compaction left empty. Those that were `lost` held records that cannot be had any more, so
    nothing takes their place; the end is before the base where the source log was cut.
    """

    base: SourceOffset
    end: SourceOffset
    epoch: int = -1
    holes: int = 0
    lost: bool = False

    def joins(self, behind: Fill) -> bool:
        """Whether this and the one behind it are one."""
        return self.end == behind.base and self.lost == behind.lost

    def cut(self, at: SourceOffset) -> tuple[Fill, Fill]:
        """Return the part before the offset `at`, and the rest."""
        holes = min(self.holes, at - self.base)
        first = Fill(self.base, at, -1, holes)
        return first, Fill(at, self.end, self.epoch, self.holes - holes)


@dataclass(slots=True)
class BecomeMapped:
    """From source offset `base` on, offsets cannot stay the same."""

    base: SourceOffset
    why: Reason


@dataclass(slots=True)
class Stop:
    """The source has nothing more; behind all others the partition stops, and `why`."""

    why: Reason


@dataclass(slots=True, eq=False)
class Wait:
    """Nothing behind it is sent before something has happened outside of both clusters' logs.

    Attributes:
        why: What the partition waits for.
        ready: Returns whether it has happened. Blocking; it has a time limit of its own.
        asked: How often that was asked.
        over: It has happened.
    """

    why: Reason
    ready: Callable[[], bool]
    asked: int = 0
    over: bool = False


Item = Batch | Fill | BecomeMapped | Stop | Wait


class TransactionalWriter(Protocol):
    """Who writes a target partition in transactions, where our producer ids are refused."""

    def write(self, client: Client, batches: Sequence[Batch]) -> list[TargetOffset]:
        """Write batches in one transaction; return the base offset of each. Blocking."""


class RunBuilder:
    """Joins acknowledged batches to runs; a run that cannot grow any more is `closed`."""

    def __init__(self, run: Run) -> None:
        self.growing = run
        self.closed: list[Run] = []

    def add(
        self, source: SourceOffset, target: TargetOffset, length: int, *, across: bool = False
    ) -> None:
        """Records of source offsets from `source` on lie on the target from `target` on.

        With `across`, offsets between the growing run and these hold no record on either side, so
        the run may grow over them.
        """
        start, target_start, so_far = self.growing
        joins = source >= start + so_far if across else source == start + so_far
        if so_far and joins and target - source == target_start - start:
            self.growing = (start, target_start, source + length - start)
            return
        if so_far:
            self.closed.append(self.growing)
        self.growing = (source, target, length)

    def take_closed(self) -> tuple[Run, ...]:
        """Return the closed runs that were not taken yet."""
        taken, self.closed = tuple(self.closed), []
        return taken


class Queue:
    """Items in source order: first those sent and not acknowledged, then those that wait."""

    def __init__(self) -> None:
        self.waiting: deque[Item] = deque()
        self.flying: list[Batch | Fill] = []  # at most a few; an empty deque takes 760 bytes
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self.waiting or self.flying)

    @property
    def holes(self) -> int:
        """Offsets of its fills that compaction left empty."""
        items = (*self.flying, *self.waiting)
        return sum(item.holes for item in items if isinstance(item, Fill))

    @property
    def head(self) -> Item | None:
        """The first item that waits."""
        return self.waiting[0] if self.waiting else None

    @property
    def due_wait(self) -> Wait | None:
        """What is to happen outside before anything else may be sent."""
        head = self.head
        return head if isinstance(head, Wait) and not head.over else None

    def waited(self, wait: Wait) -> None:
        """What something waited for has happened; batches that go again may be before it."""
        wait.over = True
        if self.head is wait:
            self.waiting.popleft()

    @property
    def next_time(self) -> int | None:
        """The timestamp in ms of the first batch that waits, `None` if none does.

        What waits before it may be passed over at once, so that it is the one to be sent.
        """
        return next((item.time for item in self.waiting if isinstance(item, Batch)), None)

    @property
    def sent_end(self) -> int:
        """The sequence behind the last record that was sent, -1 if none flies."""
        batches = [item for item in self.flying if isinstance(item, Batch)]
        last = batches[-1] if batches else None
        return (last.sequence + last.count) % wire.SEQUENCES if last else -1

    @property
    def sent_oldest(self) -> int | None:
        """The oldest timestamp in ms of the batches that fly, `None` if none does."""
        return min((item.time for item in self.flying if isinstance(item, Batch)), default=None)

    def put(self, item: Item) -> None:
        """Add an item behind all others; adjacent fills become one."""
        last = self.waiting[-1] if self.waiting else None
        if isinstance(item, Fill) and isinstance(last, Fill) and last.joins(item):
            last.end, last.epoch = item.end, item.epoch
            last.holes += item.holes
            return
        if isinstance(item, Batch):
            self.bytes += item.size
        self.waiting.append(item)

    def done(self, batch: Batch) -> None:
        """Drop a batch that was acknowledged."""
        self.bytes -= batch.size
        batch.release()

    def send_again(self) -> None:
        """Put everything that flies back in front of what waits."""
        self.waiting.extendleft(reversed(self.flying))
        self.flying.clear()

    def clear(self) -> None:
        """Drop everything."""
        self.send_again()
        self.drop_waiting()

    def drop_waiting(self) -> None:
        """Drop what was not sent yet."""
        for item in self.waiting:
            if isinstance(item, Batch):
                self.done(item)
        self.waiting.clear()

    def shed(self) -> tuple[Batch | Fill | None, int]:
        """Drop what waits and was not sent, from the end on; it can be fetched again.

        Returns:
            The first item that was dropped, if any, and the sequence of the first dropped batch, -1
            where there is none.
        """
        first: Batch | Fill | None = None
        sequence = -1
        while self.waiting:
            item = self.waiting[-1]
            if not isinstance(item, Batch | Fill) or (isinstance(item, Batch) and item.sent):
                break
            first = item
            self.waiting.pop()
            if isinstance(item, Batch):
                sequence = item.sequence
                self.done(item)
        return first, sequence

    def unpin(self) -> None:
        """Copy batches that keep a far larger buffer from being used again.

        Those that fly stay where they are: a connection may still be sending them from there.
        """
        for item in self.waiting:
            if isinstance(item, Batch) and item.frame and item.frame.held > _PINNED * item.size:
                frame, data = item.frame, bytes(item.data)
                item.data, item.frame = memoryview(data), frame.instead(data)
                frame.release()

    def small_head(self, small: int, most: int) -> list[Batch]:
        """Return the leading waiting batches that are smaller than `small`, up to `most` bytes.

        None that was sent is among them, and there are none unless there are two. Where the slice
        has no memory for a copy of them there are none either: they go one by one.
        """
        head = self.waiting[0] if self.waiting else None
        if isinstance(head, Batch) and head.frame is not None:
            most = min(most, head.frame.room)
        taken: list[Batch] = []
        size = 0
        for item in self.waiting:
            if not isinstance(item, Batch) or item.sent:
                break
            if item.size >= small or size + item.size > most:
                break
            taken.append(item)
            size += item.size
        return taken if len(taken) > 1 else []

    def replace_head(self, taken: list[Batch], by: list[Batch]) -> None:
        """Put merged or split batches where the leading ones were."""
        self.bytes += sum(b.size for b in by) - sum(b.size for b in taken)
        origin = taken[0].frame
        for batch in by:
            if batch.frame is None and origin is not None:
                batch.frame = origin.instead(batch.data)
        for batch in taken:
            self.waiting.popleft()
            batch.release()
        self.waiting.extendleft(reversed(by))
