"""The queue of one partition between fetching and producing. Pure: no socket, no clock."""

from __future__ import annotations

from collections import deque

from towpath.records.items import Batch, Fill, Item, Wait
from towpath.wire import batch as wire

_PINNED = 4
"""A batch is copied out of a buffer that is so many times larger, where memory is scarce."""


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
