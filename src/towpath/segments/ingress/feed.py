"""The feed of a restore: hands batches of archives to lanes, as a fetcher hands on a cluster's.

    archive --thread of the pool: read and encode--> chunk --reactor: take--> lane --> target

Each lane has one chunk that is read ahead while the lane sends what it holds. Only so many lanes
are read for at a time as there is memory for; one that cannot move makes room for those that wait.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from towpath.cluster.data.buffers import Frame
from towpath.model.errors import (
    CorruptBatchError,
    StoreAwayError,
    StoreRefusedError,
    TowpathError,
)
from towpath.model.nouns import Side, SourceOffset, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.records.landing.landing import Landing
from towpath.records.lane.lane import Lane
from towpath.records.source.trouble import LOOKS, SourceLoss, damage
from towpath.records.trouble import AGAIN
from towpath.segments.ingress.encoding import nothing
from towpath.segments.ingress.late import LateParts, lost
from towpath.segments.ingress.supply import Chunk, Chunks, Supply, WithheldError

_MOST_READERS = 16
_THREADS = 4
_STUCK = 5.0
"""Seconds without room after which a lane leaves its place to one that waits."""
_LEAST_HELD = 1 << 20
_MOST_HELD = 8 << 20
_GIVEN_UP = 6
"""Failures in a row after which a partition is given up whose objects the store refuses. A store
that is away is waited for, and any other error would come again."""


@dataclass(eq=False, slots=True)
class _Reading:
    """The reading for one lane, from where it expects the next record.

    Attributes:
        chunks: What is read, `None` before the first chunk.
        ahead: A chunk that waits until the lane has room.
        busy: A thread reads the next chunk.
        over: Nothing more is read: all was handed on, or the reading was replaced.
        since: When the lane had room last.
        weight: Bytes of memory that it takes, about.
    """

    lane: Lane
    supply: Supply
    chunks: Chunks | None = None
    ahead: tuple[Frame, Chunk] | None = None
    busy: bool = False
    over: bool = False
    since: float = field(default_factory=time.monotonic)
    weight: int = 0


class Growing(Protocol):
    """An archive that grows while it is read."""

    def refresh(self) -> bool:
        """Read what was added to it. Blocking. Returns whether it was anything.

        Raises:
            TowpathError: The archive cannot be asked.
        """
        ...

    def has_more(self, lane: Lane) -> bool:
        """Whether there is more than a lane has taken in."""
        ...


class SupplyFeed:
    """Hands batches of supplies to lanes; see `Feed`.

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
        on_lost: Callable[[Lane, WithheldError], None] | None = None,
    ) -> None:
        self._landing, self._supply, self._late, self._close = landing, supply, late, close
        self._growing, self._refreshing, self._more_news = growing, False, False
        self._on_over, self._on_lost = on_over, on_lost or self._lose
        self._pausing: dict[TopicPartition, object] = {}
        """Lanes that are read for again after a pause, unless they are removed before."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="towpath-archive")
        self._readings: dict[TopicPartition, _Reading] = {}
        self._waiting: deque[_Reading] = deque()
        """Those for which there is no memory yet."""
        self._active: set[_Reading] = set()
        self._dry: set[Lane] = set()
        """Those that were handed all that is there."""
        self._missing: set[Lane] = set()
        """Those of which an object is not in the store yet."""
        self.share = 0
        self.ended = False
        self.throttled = 0.0

    # What lanes need

    def connect(self, tps: Iterable[TopicPartition]) -> None:
        """See `Feed`: archives are opened when they are read."""

    def add(self, lane: Lane) -> None:
        """See `Feed`."""
        self.remove(lane)
        if self.ended:
            return
        supply = self._supply(lane)
        reading = self._readings[lane.source] = _Reading(lane, supply, weight=supply.weight)
        self._waiting.append(reading)
        self._landing.reactor.soon(self._fill)

    def remove(self, lane: Lane) -> None:
        """See `Feed`."""
        self._pausing.pop(lane.source, None)
        reading = self._readings.pop(lane.source, None)
        self._dry.discard(lane)
        self._missing.discard(lane)
        if reading is not None:
            self._leave(reading)

    def park(self, lane: Lane) -> None:
        """See `Feed`: a lane that gave its batches back waits behind all others."""
        if lane.source in self._readings:
            self.remove(lane)
            self._again(lane, AGAIN.longest)

    def doubt(self, lane: Lane) -> None:
        """See `Feed`: there is no other place to read the batch from."""
        self.remove(lane)

    def room(self, lane: Lane) -> None:
        """See `Feed`."""
        reading = self._readings.get(lane.source)
        if reading is not None:
            self._go_on(reading)

    def refill(self) -> None:
        """See `Feed`."""
        for reading in [*self._active]:
            self._go_on(reading)
        self._fill()

    def news(self) -> None:
        """See `Feed`: read on what was added, and look again for what is late."""
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
        for lane in [*self._missing]:
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
        """See `Feed`."""
        self.ended = True
        for reading in [*self._readings.values()]:
            self.remove(reading.lane)

    def close(self) -> None:
        """See `Feed`."""
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

    def _fits(self, reading: _Reading) -> bool:
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

    def _leave(self, reading: _Reading) -> None:
        """Read no more for this reading."""
        reading.over = True
        self._active.discard(reading)
        if reading.ahead is not None:
            reading.ahead[0].release()
            reading.ahead = None
        if not reading.busy:
            self._close_chunks(reading)

    @staticmethod
    def _close_chunks(reading: _Reading) -> None:
        chunks, reading.chunks = reading.chunks, None
        if chunks is not None:
            chunks.close()

    def _has_room(self, lane: Lane) -> bool:
        least = _LEAST_HELD // 8 if self._landing.pool.scarce else _LEAST_HELD
        return lane.held < max(least, min(_MOST_HELD, self.share))

    # Reading and handing on

    def _go_on(self, reading: _Reading) -> None:
        """Hand on the chunk that waits, if there is room, and read the next one meanwhile."""
        waits = reading in self._active and reading.ahead is not None
        if waits and self._has_room(reading.lane):
            self._hand(reading)
        if reading in self._active and not (reading.busy or reading.ahead):
            self._read(reading)

    def _read(self, reading: _Reading) -> None:
        lane, reading.busy = reading.lane, True
        first = lane.expected

        def work() -> Chunk | None:
            if reading.chunks is None:
                reading.chunks = reading.supply.read(first)
            return next(reading.chunks, None)

        self._landing.jobs.run(work, lambda said: self._came(reading, said), self._threads)

    def _came(self, reading: _Reading, said: Chunk | TowpathError | None) -> None:
        reading.busy = False
        if reading.over:
            self._close_chunks(reading)
        elif isinstance(said, TowpathError):
            self._failed(reading, said)
        elif said is None:
            self._leave(reading)  # all was handed on
            self._on_end(reading.lane)
            self._fill()
        else:
            frame = self._landing.pool.adopt(np.frombuffer(said.data, np.uint8))
            reading.ahead = frame, said
            self._go_on(reading)

    def _hand(self, reading: _Reading) -> None:
        lane = reading.lane
        assert reading.ahead is not None  # noqa: S101  # by `_go_on`
        (frame, chunk), reading.ahead = reading.ahead, None
        reading.since = time.monotonic()
        self._late.came(lane.source)
        try:
            lane.take(frame, 0, len(chunk.data), chunk.aborted)
        except CorruptBatchError as error:
            self._damaged(lane, error.why)
        finally:
            frame.release()
        self._landing.go(lane)

    # Trouble

    def _damaged(self, lane: Lane, why: str) -> None:
        """Read a damaged batch again, several times, then stop."""
        damaged, looks = damage(lane.source, lane.expected, why), lane.look(lane.expected)
        self.remove(lane)
        if looks < LOOKS:
            lane.hinder(Side.SOURCE, damaged)
            self._again(lane, AGAIN.after(looks + 1))
        else:
            lane.end(damaged)

    def _failed(self, reading: _Reading, error: TowpathError) -> None:
        lane = reading.lane
        self.remove(lane)
        if isinstance(error, WithheldError):
            self._withheld(lane, error)
        else:
            self._refused(lane, error)
        self._landing.go(lane)
        self._fill()

    def _refused(self, lane: Lane, error: TowpathError) -> None:
        """Ask again later; give up where nothing but a person can help."""
        lane.failures += 1
        most = _GIVEN_UP if isinstance(error, StoreRefusedError) else 1
        if lane.failures >= most and not isinstance(error, StoreAwayError):
            lane.end(error.reason)
        else:
            lane.hinder(Side.SOURCE, error.reason)
            self._again(lane, AGAIN.after(lane.failures))

    def _again(self, lane: Lane, pause: float) -> None:
        this = self._pausing[lane.source] = object()
        self._landing.jobs.later(lane, pause, lambda: self._resume(lane, this))

    def _resume(self, lane: Lane, pause: object) -> None:
        if self._pausing.get(lane.source) is pause:
            self.add(lane)

    def _withheld(self, lane: Lane, error: WithheldError) -> None:
        """Wait for a missing part, then stop there, or go on behind it."""
        missed = None if error.is_final else self._late.missed(lane.source, error.first)
        if missed is not None:
            pause, look = missed
            lane.hinder(Side.SOURCE, self._late.policy.waiting(error.why, look))
            self._again(lane, pause)
            if error.why.code is ReasonCode.ARCHIVE_MISSING:
                self._missing.add(lane)
            return
        self._on_lost(lane, error)

    def _lose(self, lane: Lane, error: WithheldError) -> None:
        """Stop in front of a lost part, or go on behind it."""
        policy = self._late.policy
        first = max(error.first, lane.expected)
        loss = SourceLoss(first, error.end, error.end, error.why)
        self._landing.note_gap(lane, loss, policy.skip)
        if policy.skip:
            self._skip(lane, error.end)
        else:
            lane.end(lost(first, error.end, error.why))

    def _skip(self, lane: Lane, end: SourceOffset) -> None:
        """Go on behind a lost part: its offsets are filled like those that compaction emptied."""
        data = nothing(end - 1, end)
        frame = self._landing.pool.adopt(np.frombuffer(data, np.uint8))
        lane.take(frame, 0, len(data))
        frame.release()
        self.add(lane)
