"""The sequence of a run's rounds; the next one starts before the present one ends."""

from __future__ import annotations

import time
from collections.abc import Callable

from towpath.engine.rounds import Rounds
from towpath.records.session import LinkSession
from towpath.runtime.deadline import Deadline

_READY = 10.0
"""Seconds for the slices of the next round to connect; they may lack room beside those that run."""
_GONE = 20.0
"""Seconds after which a round that was told to end is cut off. Its slices send nothing more by
then: they hear of it within `FRESH`, or may not write, and drain for less than the rest."""


class Relay:
    """The present round, and the next one while its slices take over.

    Args:
        begin: Begins a round, given its number and that of the round that it follows, or 0.
        session: Tells slices of the end of rounds.
        number: The number of the first round.
        has_begun: Whether all slices of a round run.
        is_ready: Whether all slices of a round that follows another are connected.

    Attributes:
        number: The round that goes on.

    Raises:
        RuntimeError: The first round did not begin; the text is Spark's.
    """

    def __init__(
        self,
        begin: Callable[[int, int], Rounds],
        session: LinkSession,
        number: int,
        has_begun: Callable[[int], bool],
        is_ready: Callable[[int], bool],
    ) -> None:
        self._begin, self._session = begin, session
        self._has_begun, self._is_ready = has_begun, is_ready
        self.number = number
        self._round = begin(number, 0)
        self._began = self._since = time.monotonic()
        self._under_way = False
        self._next: Rounds | None = None
        self._next_began = 0.0
        self._ending = False
        self._until = Deadline.after(0.0)

    def is_over(self, longest: float) -> bool:
        """Return whether the present round has lasted long enough, and has been copying.

        Its slices begin anew to find their positions. If a round took long to begin, as on a busy
        machine, this may take as long again; rounds that end before would never copy anything.
        """
        lasted = time.monotonic() - self._since
        return self._under_way and lasted >= max(longest, self._since - self._began)

    @property
    def hands_over(self) -> bool:
        """Whether the next round has begun and the present one has not ended."""
        return self._next is not None

    @property
    def last(self) -> int:
        """The number of the last round that has begun."""
        return self.number + self.hands_over

    def hand_over(self, *, room: bool) -> None:
        """Begin the next round; the present one ends once the next one is ready.

        Args:
            room: Whether the slices of both rounds may run at the same time. Otherwise the current
                round ends at once.

        Raises:
            RuntimeError: It did not begin; the text is Spark's.
        """
        if self._next is None:
            self._next_began = time.monotonic()
            self._next = self._begin(self.number + 1, self.number)
            self._until = Deadline.after(_READY if room else 0.0)

    def wait(self, seconds: float) -> bool:
        """Wait up to some seconds for the present round to end; return whether none is left.

        Raises:
            RuntimeError: A round failed; the text is Spark's.
            SparkLostError: The JVM is gone.
            ClusterError: The slices cannot be told.
        """
        ended = self._round.wait(seconds)
        self._look_whether_under_way()
        if self._next is None:
            return ended
        self._next.require()
        if ended or (self._ending and self._until.over):
            self._switch(self._next)
        elif not self._ending and (self._until.over or self._is_ready(self.number + 1)):
            self._session.end_round(self.number)
            self._ending, self._until = True, Deadline.after(_GONE)
        return False

    def _look_whether_under_way(self) -> None:
        """Let the round's time run from when its slices run, or could have begun."""
        if not self._under_way:
            now = time.monotonic()
            late = now - self._began > _READY + _GONE
            self._under_way, self._since = self._has_begun(self.number) or late, now

    def _switch(self, following: Rounds) -> None:
        self._round.stop()
        self._session.leave_round(self.number)
        self._round, self._next, self._ending = following, None, False
        self.number, self._began, self._under_way = self.number + 1, self._next_began, False
        self._look_whether_under_way()

    def stop(self) -> None:
        """Stop all rounds; running slices are cut off, which is harmless."""
        for each in filter(None, (self._round, self._next)):
            each.stop()
