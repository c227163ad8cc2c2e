"""What was put off for a lane is void when it comes too late."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.copying.lanes import StandInReactor, lane
from tests.support.ledger.reasons import told
from towpath.model.errors import ClusterError, TowpathError
from towpath.records.jobs import Gathered, Jobs
from towpath.records.lane.lane import Lane


class Heard:
    """A lane with something put off, and what came of it."""

    def __init__(self) -> None:
        self.reactor, self.lane = StandInReactor(), lane()
        self.jobs = Jobs(self.reactor)  # type: ignore[arg-type]  # a stand-in
        self.done: list[object] = []

    def put_off(self) -> None:
        """Put a timer off, and begin a look."""
        self.jobs.later(self.lane, 1.0, lambda: self.done.append("timer"))
        self.jobs.look(self.lane, lambda: None, self.done.append, self.failed)

    def come_back(self) -> None:
        self.reactor.ring()
        while self.reactor.jobs:
            self.reactor.finish("found")

    def failed(self, error: TowpathError) -> None:
        self.done.append(str(error))


def stop(lane: Lane) -> None:
    lane.stop(told("it is over"))


def reopen(lane: Lane) -> None:
    lane.openings += 1


def test_what_was_put_off_comes() -> None:
    heard = Heard()
    heard.put_off()
    heard.come_back()
    assert heard.done == ["timer", "found"]


@pytest.mark.parametrize("meanwhile", [stop, reopen])
def test_what_comes_after_a_stop_or_a_reopening_is_void(meanwhile: object) -> None:
    heard = Heard()
    heard.put_off()
    assert callable(meanwhile)
    meanwhile(heard.lane)
    heard.come_back()
    assert heard.done == []


def test_a_lane_is_busy_until_its_job_is_over() -> None:
    heard = Heard()
    heard.jobs.hold(heard.lane, lambda: None, heard.done.append, heard.failed)
    assert heard.lane.busy
    heard.reactor.finish(ClusterError("target: it was refused"))
    assert not heard.lane.busy
    assert heard.done == ["target: it was refused"]


def test_a_lane_that_stopped_is_free_but_hears_nothing() -> None:
    heard = Heard()
    heard.jobs.hold(heard.lane, lambda: None, heard.done.append, heard.failed)
    heard.lane.stop(told("the source has it no more"))
    heard.reactor.finish(ClusterError("target: it was refused"))
    assert (heard.lane.busy, heard.done) == (False, [])
    assert heard.lane.progress.error == "the source has it no more"


def test_only_errors_of_ours_are_no_fault() -> None:
    heard = Heard()
    heard.jobs.look(heard.lane, lambda: None, heard.done.append, heard.failed)
    with pytest.raises(ZeroDivisionError):
        heard.reactor.finish(ZeroDivisionError())
    heard.jobs.look(heard.lane, lambda: None, heard.done.append, heard.failed)
    heard.jobs.close()
    heard.reactor.finish(ZeroDivisionError())
    assert heard.done == []


class Asked:
    """Owners whose work is done together, and what each was told."""

    def __init__(self) -> None:
        self.reactor = StandInReactor()
        self.told: list[tuple[Lane, object]] = []
        self.begun: list[list[Lane]] = []
        jobs = Jobs(self.reactor)  # type: ignore[arg-type]  # a stand-in
        self.gathered = Gathered[Lane, str](jobs, self.begin, self.done)

    def begin(self, lanes: list[Lane]) -> Callable[[], dict[Lane, str | TowpathError]]:
        self.begun.append(lanes)
        return dict

    def done(self, lane: Lane, answer: str | TowpathError) -> None:
        self.told.append((lane, answer))


def test_those_who_fall_due_meanwhile_are_done_together_behind() -> None:
    asked, (first, second, third) = Asked(), (lane(0), lane(1), lane(2))
    for each in (first, second, third):
        asked.gathered.add(each)
    assert asked.begun == [[first]]
    asked.reactor.finish({first: "at 1"})
    assert asked.begun == [[first], [second, third]]
    assert (first.busy, second.busy) == (False, True)
    asked.reactor.finish({second: "at 2", third: "at 3"})
    assert asked.told == [(first, "at 1"), (second, "at 2"), (third, "at 3")]


def test_no_two_works_are_about_one_owner() -> None:
    """One was opened again while work for it was under way, and is in another party now."""
    asked, (moved, other) = Asked(), (lane(0), lane(1))
    asked.gathered.add(moved, "here")
    moved.openings += 1
    asked.gathered.add(moved, "there")
    asked.gathered.add(other, "there")
    assert asked.begun == [[moved], [other]]
    asked.reactor.finish({moved: "too late"})
    assert (moved.busy, asked.told) == (True, [])
    asked.reactor.finish({other: "well"})
    assert asked.begun == [[moved], [other], [moved]]
    asked.reactor.finish({moved: "in time"})
    assert asked.told == [(other, "well"), (moved, "in time")]


def test_one_error_is_told_to_all_of_a_party_that_still_count() -> None:
    asked, (first, second, third) = Asked(), (lane(0), lane(1), lane(2))
    for each in (first, second, third):
        asked.gathered.add(each)
    asked.reactor.finish({first: "well"})
    stop(third)
    asked.reactor.finish(error := ClusterError("target: it is away"))
    assert asked.told == [(first, "well"), (second, error)]
