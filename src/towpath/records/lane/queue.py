"""The queue of one partition between fetching and producing. Pure: no socket, no clock."""

from __future__ import annotations

from collections import deque

from towpath.records.items import Batch, Fill, Item, Wait
from towpath.wire import batch as wire

_PINNED = 4
"""Where memory is scarce, a batch is copied out of a buffer that is this many times larger."""
APART = 16 << 10
"""Bytes in one codec from which on they are not joined with bytes in another: a request of their
own costs less than to compress them anew."""
YOUNGER = 60_000
"""Milliseconds by which a batch may be younger than one that it is joined with. One answer brings
batches of one segment of the source, a queue those of several: old records that are joined with
young ones would be kept on the target as long as these."""
_FEW = 256
"""Rows of a tally above which a fill does not grow, as each growth copies them."""


class Queue:
    """The items of a queue in source order: those in flight, then those that wait."""

    def __init__(self) -> None:
        self.waiting: deque[Item] = deque()
        self.in_flight: list[Batch | Fill] = []  # at most a few; an empty deque takes 760 bytes
        self.bytes = 0

    def __bool__(self) -> bool:
        return bool(self.waiting or self.in_flight)

    @property
    def holes(self) -> int:
        """Number of offsets in queued fills that compaction left empty."""
        items = (*self.in_flight, *self.waiting)
        return sum(item.holes for item in items if isinstance(item, Fill))

    @property
    def head(self) -> Item | None:
        """The first waiting item."""
        return self.waiting[0] if self.waiting else None

    @property
    def due_wait(self) -> Wait | None:
        """The external condition that must hold before anything else is sent."""
        head = self.head
        return head if isinstance(head, Wait) and not head.over else None

    def waited(self, wait: Wait) -> None:
        """Mark a wait as over; batches to be sent again may precede it."""
        wait.over = True
        if self.head is wait:
            self.waiting.popleft()

    @property
    def next_time(self) -> int | None:
        """Timestamp in ms of the first waiting batch, `None` if no batch waits.

        Items before it may pass at once, so this batch may be the next one to be sent.
        """
        return next((item.time for item in self.waiting if isinstance(item, Batch)), None)

    @property
    def sent_end(self) -> int:
        """The sequence after the last record in flight, -1 if none is in flight."""
        batches = [item for item in self.in_flight if isinstance(item, Batch)]
        last = batches[-1] if batches else None
        return (last.sequence + last.count) % wire.SEQUENCES if last else -1

    @property
    def sent_oldest(self) -> int | None:
        """The oldest timestamp in ms of the batches in flight, `None` if none is in flight."""
        return min((item.time for item in self.in_flight if isinstance(item, Batch)), default=None)

    def put(self, item: Item) -> None:
        """Append an item. Adjacent fills become one."""
        last = self.waiting[-1] if self.waiting else None
        if (
            isinstance(item, Fill)
            and isinstance(last, Fill)
            and last.joins(item)
            and len(last.tally.rows) <= _FEW
        ):
            last.end, last.epoch = item.end, item.epoch
            last.holes += item.holes
            last.tally = last.tally.then(item.tally)
            return
        if isinstance(item, Batch):
            self.bytes += item.size
        self.waiting.append(item)

    def done(self, batch: Batch) -> None:
        """Drop an acknowledged batch."""
        self.bytes -= batch.size
        batch.release()

    def send_again(self) -> None:
        """Move all batches in flight back to the front of the waiting items."""
        self.waiting.extendleft(reversed(self.in_flight))
        self.in_flight.clear()

    def clear(self) -> None:
        """Drop all items."""
        self.send_again()
        self.drop_waiting()

    def drop_waiting(self) -> None:
        """Drop the waiting items."""
        for item in self.waiting:
            if isinstance(item, Batch):
                self.done(item)
        self.waiting.clear()

    def shed(self) -> tuple[Batch | Fill | None, int]:
        """Drop the waiting items that were never sent. They can be fetched again.

        Returns:
            The first dropped item, if any, and the sequence of the first dropped batch, -1 if no
            batch was dropped.
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
        """Copy waiting batches out of much larger buffers, to free these.

        Batches in flight stay in their buffers: a connection may still be sending them.
        """
        for item in self.waiting:
            if isinstance(item, Batch) and item.frame and item.frame.held > _PINNED * item.size:
                frame, data = item.frame, bytes(item.data)
                item.data, item.frame = memoryview(data), frame.instead(data)
                frame.release()

    def small_head(self, small: int, most: int) -> list[Batch]:
        """Return the leading waiting batches that are worth merging.

        Each is smaller than `small` bytes, or was joined before, and none was ever sent or is
        settled. Together they have at most `most` bytes. They end where the codec changes, unless
        little lies on either side, and before a batch that is younger than the first by more than
        `YOUNGER`. The list is empty if there are fewer than two, or if the slice has no memory for
        a copy of them.
        """
        head = self.waiting[0] if self.waiting else None
        if isinstance(head, Batch) and head.frame is not None:
            most = min(most, head.frame.room)
        taken: list[Batch] = []
        size, codec, alike = 0, -1, 0
        for item in self.waiting:
            if not isinstance(item, Batch) or item.sent or item.settled:
                break
            more, its = item.size, item.codec
            if not (item.joined or more < small) or size + more > most:
                break
            if taken and item.time - taken[0].time > YOUNGER:
                break
            if its != codec:
                if taken and max(alike, more) >= APART:
                    break
                codec, alike = its, 0
            taken.append(item)
            size, alike = size + more, alike + more
        return taken if len(taken) > 1 else []

    def replace_head(self, taken: list[Batch], by: list[Batch]) -> None:
        """Replace the leading batches by merged or split ones, which stay as they are."""
        self.bytes += sum(b.size for b in by) - sum(b.size for b in taken)
        origin = taken[0].frame
        for batch in by:
            batch.settled = True
            if batch.frame is None and origin is not None:
                batch.frame = origin.instead(batch.data)
        for batch in taken:
            self.waiting.popleft()
            batch.release()
        self.waiting.extendleft(reversed(by))
