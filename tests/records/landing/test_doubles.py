"""Batches that landed behind their place, and what lies between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.support.copying.lanes import StandInReactor, lane, plain, standing, took
from towpath.model.errors import ClusterError, DoubledError, TargetLostError, TowpathError
from towpath.model.nouns import Mode, TargetOffset
from towpath.records.jobs import Jobs
from towpath.records.landing.doubles import Doubles
from towpath.records.lane.lane import Lane
from towpath.records.target.written import Surplus


class NoClients:
    @contextmanager
    def one(self) -> Iterator[None]:
        yield None


@dataclass
class Looking:
    """A lane of one batch in flight, and what became of it."""

    mode: Mode = Mode.MAPPED
    landed: list[Lane] = field(default_factory=list)
    wrong: list[TowpathError] = field(default_factory=list)
    failed: list[TowpathError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reactor = StandInReactor()
        self.doubles = Doubles(
            Jobs(self.reactor),  # type: ignore[arg-type]  # a stand-in
            NoClients(),  # type: ignore[arg-type]  # a stand-in
            on_landed=self.landed.append,
            on_wrong=lambda _, error: self.wrong.append(error),
            on_failed=lambda _, error: self.failed.append(error),
        )
        self.lane = lane(at=100)
        self.lane.resume(standing(100))
        self.lane.progress.mode = self.mode
        took(self.lane, plain(100, 5))
        assert self.lane.next_batch() is not None

    @property
    def target_end(self) -> int:
        return self.lane.progress.position.target


@pytest.mark.parametrize("mode", [Mode.MAPPED, Mode.IDENTICAL])
def test_a_batch_in_its_place_is_acknowledged_at_once(mode: Mode) -> None:
    looking = Looking(mode)
    looking.doubles.landed(looking.lane, TargetOffset(100))
    assert (looking.target_end, looking.reactor.jobs) == (105, [])
    assert looking.landed == [looking.lane]


def test_records_of_others_before_a_batch_are_passed_over() -> None:
    looking = Looking()
    looking.doubles.landed(looking.lane, TargetOffset(110))
    assert (looking.lane.busy, looking.target_end) == (True, 100)
    looking.reactor.finish(None)
    assert (looking.lane.busy, looking.target_end, looking.wrong) == (False, 115, [])


def test_records_of_ours_before_a_batch_stop_the_partition() -> None:
    looking = Looking()
    looking.doubles.landed(looking.lane, TargetOffset(110))
    looking.reactor.finish(Surplus(101, 108, 7))
    [error] = looking.wrong
    assert isinstance(error, DoubledError)
    assert (error.first, error.end, error.records) == (101, 108, 7)
    assert looking.target_end == 100


def test_where_another_writer_was_first_an_identical_partition_becomes_mapped() -> None:
    looking = Looking(Mode.IDENTICAL)
    looking.doubles.landed(looking.lane, TargetOffset(103))
    looking.reactor.finish(None)
    assert (looking.lane.progress.mode, looking.target_end) == (Mode.MAPPED, 108)


@pytest.mark.parametrize("mode", [Mode.MAPPED, Mode.IDENTICAL])
def test_a_log_that_became_shorter_is_a_loss(mode: Mode) -> None:
    looking = Looking(mode)
    looking.doubles.landed(looking.lane, TargetOffset(40))
    [error] = looking.wrong
    assert isinstance(error, TargetLostError)
    assert (error.acknowledged, error.found, error.unit) == (100, 40, "offset")


def test_a_look_that_fails_is_told() -> None:
    looking = Looking()
    looking.doubles.landed(looking.lane, TargetOffset(110))
    looking.reactor.finish(ClusterError("target: it is away"))
    assert [str(error) for error in looking.failed] == ["target: it is away"]


def test_answers_that_come_during_a_look_wait_for_it() -> None:
    looking = Looking()
    looking.doubles.landed(looking.lane, TargetOffset(110))
    took(looking.lane, plain(105, 5))
    looking.lane.busy = False
    assert looking.lane.next_batch() is None, "the first batch after opening flies alone"
    looking.lane.busy = True
    looking.reactor.finish(None)
    assert looking.lane.next_batch() is not None
    looking.doubles.landed(looking.lane, TargetOffset(115))
    assert looking.target_end == 120
