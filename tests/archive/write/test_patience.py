"""How long a slice waits for a range: its own work and a busy machine are no silence."""

from __future__ import annotations

import pytest

from tests.support.archive.archives import partition_id
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.patience import WaitingClock
from towpath.archive.write.slice.range_reader import RangeReader
from towpath.model.nouns import SourceOffset, TopicName


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def passing(self, seconds: float) -> None:
        self.now += seconds


def test_only_waiting_counts() -> None:
    seconds = Seconds()
    clock = WaitingClock(lambda: seconds.now)
    work = PlannedRange(
        id=partition_id(), topic=TopicName("orders"), start=SourceOffset(0), end=SourceOffset(9),
        bytes=1,
    )  # fmt: skip
    reader = RangeReader(work, lambda: clock.seconds)
    for _ in range(20):
        seconds.passing(5.0)  # segments are written
        clock.turn(lambda: seconds.passing(0.1))
    assert reader.idle == pytest.approx(2.0)
    clock.turn(lambda: seconds.passing(30.0))  # the machine gave us no turn
    assert reader.idle == pytest.approx(2.2)
