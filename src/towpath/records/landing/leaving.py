"""Removal of lanes from a running slice, once the target has answered their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from towpath.model.nouns import TopicPartition
from towpath.records.lane.lane import Lane
from towpath.records.receipts import Receipts
from towpath.records.source.reader import Feed
from towpath.records.target.opening import Opener
from towpath.records.target.producer import Producers
from towpath.records.target.tail import Underway
from towpath.runtime.deadline import Deadline

_PATIENCE = 5.0
"""Seconds to wait for answers to batches in flight."""


class Leaving:
    """Lanes that are leaving the slice; nothing more is fetched or sent for them."""

    def __init__(
        self,
        feed: Feed[Lane],
        producers: Producers[Lane],
        opener: Opener,
        receipts: Receipts,
        lanes: dict[TopicPartition, Lane],
    ) -> None:
        self._feed, self._producers, self._opener = feed, producers, opener
        self._receipts, self._lanes = receipts, lanes
        self._going: dict[Lane, tuple[int, Deadline]] = {}
        """Each with its number of openings at that time, and until when answers are waited for."""
        self._parties: list[tuple[set[Lane], Callable[[], None]]] = []
        """Lanes that leave together, and what is called when all have left."""

    def __contains__(self, lane: Lane) -> bool:
        return lane in self._going

    def let_go(self, lanes: Iterable[Lane], then: Callable[[], None]) -> None:
        """Remove lanes. Calls `then` once all have left and their receipts are due."""
        party = set(lanes)
        for lane in party - self._going.keys():
            self._going[lane] = lane.openings, Deadline.after(_PATIENCE)
            self._feed.remove(lane)
            lane.queue.drop_waiting()
        self._parties.append((party, then))
        self.look()

    def look(self) -> None:
        """Remove the lanes that need not wait any longer."""
        for lane, (openings, until) in list(self._going.items()):
            if _is_done(lane, openings) or until.over:
                self._gone(lane)
                del self._going[lane]
        gone = [each for each in self._parties if each[0].isdisjoint(self._going)]
        for each in gone:
            self._parties.remove(each)
            each[1]()

    def _gone(self, lane: Lane) -> None:
        if lane.unanswered:
            sent = Underway(end=lane.queue.sent_end, oldest=lane.queue.sent_oldest)
            self._opener.may_arrive(lane.work, sent)
        self._producers.of(lane).remove(lane)
        self._feed.remove(lane)
        lane.openings += 1  # jobs put off for it are void
        lane.queue.clear()
        self._receipts.close_out(lane)
        del self._lanes[lane.source]


def _is_done(lane: Lane, openings: int) -> bool:
    """Whether there is nothing to wait for: all batches are answered, or no answer will come."""
    if lane.stopped or lane.lost or lane.openings != openings:
        return True
    return not (lane.queue.in_flight or lane.busy)
