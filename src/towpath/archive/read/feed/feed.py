"""The feed of a restore: supplies batches of archives to lanes.

    archive --thread of the pool: read and encode--> chunk --reactor: take--> lane --> target

Each lane has one chunk that is read ahead while the lane sends what it holds. Only so many lanes
are read for at a time as there is memory for; one that cannot move makes room for those that wait.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from towpath.archive.read.feed.lane_reading import Growing, LaneReading
from towpath.archive.read.feed.late_parts import LateParts
from towpath.archive.read.feed.supply import Chunk, Supply
from towpath.archive.read.feed.supply_trouble import OnLost, SupplyTrouble
from towpath.model.errors import CorruptBatchError, TowpathError
from towpath.model.nouns import TopicPartition
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.trouble import AGAIN
from towpath.wire.batch import Buffer
from towpath.wire.packing import used_again

_MOST_READERS = 16
_THREADS = 4
_STUCK = 5.0
"""Seconds without room after which a lane leaves its place to one that waits."""
_LEAST_HELD = 1 << 20
_MOST_HELD = 8 << 20


class SupplyFeed:
    """Hands batches from archive supplies to lanes; implements `Feed`.

    Args:
        landing: Whose lanes are fed.
        supply: Returns the supply of a lane.
        late: The parts that are missing.
        close: Closes what the supplies share.
        growing: The archive, if lanes go on with what is added to it.
        on_over: Gets each lane that was handed all that is there, if nothing is added.
        on_lost: Gets each part that stays missing; by default, it is lost as `late` says.
    """

    def __init__(
        self,
        landing: Landing,
        supply: Callable[[Lane], Supply],
        late: LateParts,
        close: Callable[[], None] = lambda: None,
        growing: Growing | None = None,
        *,
        on_over: Callable[[Lane], None] = lambda _: None,
        on_lost: OnLost | None = None,
    ) -> None:
        self._landing, self._supply, self._late, self._close = landing, supply, late, close
        self._growing, self._refreshing, self._more_news = growing, False, False
        self._on_over = on_over
        self._trouble = SupplyTrouble(landing, late, self.add, on_lost)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="towpath-archive")
        self._readings: dict[TopicPartition, LaneReading] = {}
        self._waiting: deque[LaneReading] = deque()
        """Those for which there is no memory yet."""
        self._active: set[LaneReading] = set()
        self._dry: set[Lane] = set()
        """Those that were handed all that is there."""
        self.share = 0
        self.ended = False
        self.throttled = 0.0

    # What lanes need

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """Do nothing: archives are opened when they are read."""

    def add(self, lane: Lane) -> None:
        """Feed `reader` from now on, from `expected`."""
        self.remove(lane)
        if self.ended:
            return
        supply = self._supply(lane)
        reading = self._readings[lane.source] = LaneReading(lane, supply, weight=supply.weight)
        self._waiting.append(reading)
        self._landing.reactor.soon(self._fill)

    def remove(self, lane: Lane) -> None:
        """Stop feeding `reader`."""
        self._trouble.forget(lane)
        reading = self._readings.pop(lane.source, None)
        self._dry.discard(lane)
        if reading is not None:
            self._leave(reading)

    def park(self, lane: Lane) -> None:
        """Drop a lane's reading; it is read again later, after all other lanes."""
        if lane.source in self._readings:
            self.remove(lane)
            self._trouble.again(lane, AGAIN.longest)

    def doubt(self, lane: Lane) -> None:
        """Stop feeding a lane, as there is no other place to read the batch from."""
        self.remove(lane)

    def room(self, lane: Lane) -> None:
        """Continue to fill the paused queue of a lane, if it has room again."""
        reading = self._readings.get(lane.source)
        if reading is not None:
            self._go_on(reading)

    def refill(self) -> None:
        """Continue with lanes that waited for memory, as far as there is memory now."""
        for reading in [*self._active]:
            self._go_on(reading)
        self._fill()

    def news(self) -> None:
        """Read newly archived segments, and look again for late parts."""
        if self._growing is None or self.ended:
            return
        if self._refreshing:
            self._more_news = True
            return
        self._refreshing = True
        self._landing.jobs.run(self._growing.refresh, self._refreshed, self._threads)

    def _refreshed(self, said: bool | TowpathError) -> None:
        again, self._refreshing, self._more_news = self._more_news, False, False
        if again or isinstance(said, TowpathError):
            pause = AGAIN.after(1) if isinstance(said, TowpathError) else 0.0
            self._landing.reactor.later(pause, self.news)
        for lane in [*self._dry]:
            self._on_end(lane)
        for lane in self._trouble.missing:
            self.add(lane)

    def _on_end(self, lane: Lane) -> None:
        """Go on with a lane that was handed all that was there, if there is more by now."""
        if self._growing is None:
            self._on_over(lane)
        elif self._growing.has_more(lane):
            self.add(lane)
        else:
            self._dry.add(lane)

    def end(self) -> None:
        """Feed no reader any more, even if one is added later."""
        self.ended = True
        for reading in [*self._readings.values()]:
            self.remove(reading.lane)

    def close(self) -> None:
        """Close all connections."""
        self.end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._close()

    # Who is read for

    def _fill(self) -> None:
        """Begin to read for lanes that wait, as far as there is memory."""
        while self._waiting and not self.ended:
            reading = self._waiting[0]
            if reading.over:
                self._waiting.popleft()
            elif self._fits(reading):
                self._waiting.popleft()
                self._active.add(reading)
                self._go_on(reading)
            elif not self._make_room():
                return

    def _fits(self, reading: LaneReading) -> bool:
        """Whether there is memory to read for one more lane; there is for one in any case."""
        weight = sum(each.weight for each in self._active) + reading.weight
        fits = weight <= self._landing.pool.limit and len(self._active) < _MOST_READERS
        return fits or not self._active

    def _make_room(self) -> bool:
        """Let a lane that has had no room for a while wait behind the others."""
        now = time.monotonic()
        for reading in self._active:
            if not reading.busy and now - reading.since > _STUCK:
                self.add(reading.lane)
                return True
        return False

    def _leave(self, reading: LaneReading) -> None:
        """Read no more for this reading."""
        reading.over = True
        self._active.discard(reading)
        if reading.ahead is not None:
            reading.ahead[0].release()
            reading.ahead = None
        if not reading.busy:
            reading.close_chunks()

    def _has_room(self, lane: Lane) -> bool:
        held, usual = lane.held, min(_MOST_HELD, self.share)
        if held >= max(_LEAST_HELD, usual):  # the usual case: asked for each answer of the target
            return False
        return held < usual or held < _LEAST_HELD // 8 or not self._landing.pool.scarce

    # Reading and handing on

    def _go_on(self, reading: LaneReading) -> None:
        """Hand on the chunk that waits, if there is room, and read the next one meanwhile."""
        if reading not in self._active:
            return
        if reading.ahead is not None and self._has_room(reading.lane):
            self._hand(reading)
        if reading.ahead is None and not reading.busy and reading in self._active:
            self._read(reading)

    def _read(self, reading: LaneReading) -> None:
        lane, reading.busy = reading.lane, True
        first = lane.expected

        def work() -> Chunk | None:
            if reading.chunks is None:
                reading.chunks = reading.supply.read(first)
            return next(reading.chunks, None)

        self._landing.jobs.run(work, lambda said: self._came(reading, said), self._threads)

    def _came(self, reading: LaneReading, said: Chunk | TowpathError | None) -> None:
        reading.busy = False
        if reading.over:
            reading.close_chunks()
        elif isinstance(said, TowpathError):
            self._failed(reading, said)
        elif said is None:
            self._leave(reading)  # all was handed on
            self._on_end(reading.lane)
            self._fill()
        else:
            frame = self._landing.pool.adopt(_memory_of(said), _then(said))
            reading.ahead = frame, said
            self._go_on(reading)

    def _hand(self, reading: LaneReading) -> None:
        lane = reading.lane
        assert reading.ahead is not None  # noqa: S101  # by `_go_on`
        (frame, chunk), reading.ahead = reading.ahead, None
        reading.since = time.monotonic()
        self._late.came(lane.source)
        try:
            lane.take(frame, 0, len(chunk.data), chunk.aborted)
        except CorruptBatchError as error:
            self.remove(lane)
            self._trouble.damaged(lane, error.why)
        finally:
            frame.release()
        self._landing.go(lane)

    def _failed(self, reading: LaneReading, error: TowpathError) -> None:
        lane = reading.lane
        self.remove(lane)
        self._trouble.failed(lane, error)
        self._landing.go(lane)
        self._fill()


def _memory_of(chunk: Chunk) -> Buffer:
    """Return the memory that a chunk holds, which begins with its batches."""
    return np.frombuffer(chunk.data, np.uint8) if chunk.memory is None else chunk.memory


def _then(chunk: Chunk) -> Callable[[Buffer], object] | None:
    return None if chunk.memory is None else used_again
