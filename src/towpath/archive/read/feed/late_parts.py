"""The waiting time for parts of an archive that are missing. Pure but for clocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """The retry policy for a missing or damaged part of an archive.

    It is looked for again `retries` times, with pauses that double and take `seconds` together.
    Then it counts as lost.

    Attributes:
        retries: How often it is looked for again.
        seconds: For how long it is late before it is lost.
        skip: Whether the restore goes on behind a lost part; else its partition stops there.
    """

    retries: int = 16
    seconds: float = 86_400.0
    skip: bool = False

    def pause(self, tries: int) -> float | None:
        """Return the seconds before the next look, `None` if the part counts as lost.

        Args:
            tries: How often it was looked for again already.
        """
        if tries >= self.retries:
            return None
        return float(self.seconds * 2**tries / (2**self.retries - 1))

    def waiting(self, why: Reason, look: int) -> Reason:
        """Return the reason of a partition that waits for a further look; looks count from 1."""
        return Reason.of(ReasonCode.ARCHIVE_LATE, why=why, look=look, looks=self.retries)


@dataclass(slots=True)
class _Late:
    """A part that is waited for: its first offset, how often it was looked for, and the next time.

    The offset is `None` where an earlier slice waited for whatever is missing first.
    """

    first: SourceOffset | None
    looks: int
    due: float


class LateParts:
    """The missing parts of the partitions of a slice.

    Args:
        policy: What is done about them.
        looked: How often parts were looked for by the slices before, by partition.
        clock: Returns seconds.
    """

    def __init__(
        self,
        policy: LatePolicy,
        looked: Mapping[TopicPartition, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy, self._clock = policy, clock
        self._late = {tp: _Late(None, looks, 0.0) for tp, looks in (looked or {}).items()}

    def missed(self, tp: TopicPartition, first: SourceOffset) -> tuple[float, int] | None:
        """Return the pause before the next look and its number, `None` if the part counts as lost.

        A look that comes before it is due, as somebody said that there is news, does not count.

        Args:
            tp: The partition.
            first: The first offset that is missing.
        """
        late = self._late.get(tp)
        if late is None or late.first not in (None, first):
            late = _Late(first, 0, 0.0)
        left = late.due - self._clock()
        if late.first is not None and left > 0:
            return left, late.looks
        pause = self.policy.pause(late.looks)
        if pause is None:
            self._late.pop(tp, None)
            return None
        self._late[tp] = _Late(first, late.looks + 1, self._clock() + pause)
        return pause, late.looks + 1

    def came(self, tp: TopicPartition) -> None:
        """Record that the missing part of a partition has arrived."""
        self._late.pop(tp, None)


def lost(first: SourceOffset, end: SourceOffset, why: Reason) -> Reason:
    """Return the reason of a partition that stops because offsets [first, end) are lost."""
    return Reason.of(ReasonCode.ARCHIVE_LOST, first=first, last=end - 1, why=why)
