"""When a slice may write: what it heard, when, and whether it was paused since."""

from __future__ import annotations

import pytest

from towpath.records.permit import FRESH, WritePermit
from towpath.runtime.clock import Moment

HOUR_MS = 3_600_000


class Clock:
    """Both clocks, which go on as the test says."""

    def __init__(self) -> None:
        self.running, self.wall = 1_000.0, 1_000_000.0

    def now(self) -> Moment:
        return Moment(self.running, self.wall)

    def go_on(self, seconds: float) -> None:
        self.running += seconds
        self.wall += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(Moment, "now", made.now)
    return made


def test_old_records_need_news_of_the_last_seconds(clock: Clock) -> None:
    permit = WritePermit(HOUR_MS)
    assert (permit.good, permit.fresh) == (True, False)
    permit.heard(permit.ask())
    assert (permit.good, permit.fresh) == (True, True)
    clock.go_on(FRESH)
    assert (permit.good, permit.fresh) == (True, False)


def test_half_of_the_targets_memory_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towpath.records.permit.now_ms", lambda: 10 * HOUR_MS)
    assert WritePermit(2 * HOUR_MS).remembered_from == 9 * HOUR_MS
    assert WritePermit(0).remembered_from == 10 * HOUR_MS


@pytest.mark.parametrize("clocks", [("running", "wall"), ("running",), ("wall",)])
def test_nothing_counts_that_was_heard_before_a_pause(
    clock: Clock, clocks: tuple[str, ...]
) -> None:
    permit = WritePermit(HOUR_MS)
    permit.heard(permit.ask())
    asked = permit.ask()
    assert permit.pauses() == 0
    for name in clocks:
        setattr(clock, name, getattr(clock, name) + 3.0)
    assert permit.pauses() == 1
    permit.heard(asked)  # the answer to a question of before the pause
    assert (permit.good, permit.fresh) == (False, False)
    clock.go_on(0.1)
    permit.heard(permit.ask())
    assert (permit.good, permit.fresh, permit.pauses()) == (True, True, 1)


def test_short_waits_are_no_pauses(clock: Clock) -> None:
    permit = WritePermit(HOUR_MS)
    for _ in range(100):
        clock.go_on(0.25)
        assert permit.pauses() == 0


def test_what_came_before_a_slice_began_is_no_pause(clock: Clock) -> None:
    permit = WritePermit(HOUR_MS)
    clock.go_on(60.0)
    permit.restart()
    assert (permit.pauses(), permit.good, permit.fresh) == (0, True, False)


def test_a_lost_lease_stays_lost() -> None:
    permit = WritePermit(HOUR_MS)
    permit.lose()
    assert permit.pauses() == 1, "connections close instead of sending what they still hold"
    permit.heard(permit.ask())
    assert (permit.good, permit.fresh) == (False, False)
