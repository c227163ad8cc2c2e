"""When the next round begins, when the present one ends, and who is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import MagicMock

import pytest

from towpath.mirror.run import relay
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.run.relay import Relay
from towpath.mirror.run.run import _Mirror
from towpath.model.nouns import Side


@dataclass
class StandInRound:
    """A query that ends when it is told to."""

    number: int
    log: list[str]
    ended: bool = False
    failed: bool = False

    def wait(self, _seconds: float) -> bool:
        self.require()
        return self.ended

    def require(self) -> None:
        if self.failed:
            raise RuntimeError(f"round {self.number} failed")

    def stop(self) -> None:
        self.log.append(f"stop {self.number}")


@dataclass
class Track:
    """A relay whose rounds and slices are stand-ins."""

    ready: bool = False
    begun: bool = False
    log: list[str] = field(default_factory=list)
    rounds: dict[int, StandInRound] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.relay = Relay(
            self.begin,  # type: ignore[arg-type]  # a stand-in
            self,  # type: ignore[arg-type]  # a stand-in
            7,
            lambda _: self.begun,
            lambda _: self.ready,
        )

    def begin(self, number: int, follows: int) -> StandInRound:
        self.log.append(f"begin {number} after {follows}")
        self.rounds[number] = StandInRound(number, self.log)
        return self.rounds[number]

    def end_round(self, number: int) -> None:
        self.log.append(f"end {number}")

    def leave_round(self, number: int) -> None:
        self.log.append(f"left {number}")

    def happens(self) -> list[str]:
        """Return what happens in one look after the rounds."""
        self.log.clear()
        assert not self.relay.wait(1.0)
        return self.log


def test_a_round_ends_when_the_slices_of_the_next_are_ready() -> None:
    track = Track()
    assert track.log == ["begin 7 after 0"]
    track.relay.hand_over(room=True)
    track.relay.hand_over(room=True)
    assert track.log == ["begin 7 after 0", "begin 8 after 7"]
    assert track.happens() == []
    track.ready = True
    assert track.happens() == ["end 7"]
    assert track.happens() == []
    assert (track.relay.number, track.relay.last) == (7, 8)
    track.rounds[7].ended = True
    assert track.happens() == ["stop 7", "left 7"]
    assert (track.relay.number, track.relay.last, track.relay.hands_over) == (8, 8, False)
    track.rounds[8].ended = True
    assert track.relay.wait(1.0), "no round goes on"


def test_slices_without_room_beside_the_others_begin_when_those_have_ended() -> None:
    track = Track()
    track.relay.hand_over(room=False)
    assert track.happens() == ["end 7"]


def test_a_round_that_ends_by_itself_is_left_at_once() -> None:
    track = Track()
    track.relay.hand_over(room=True)
    track.rounds[7].ended = True
    assert track.happens() == ["stop 7", "left 7"]


def test_a_round_that_does_not_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "_GONE", 0.0)
    track = Track(ready=True)
    track.relay.hand_over(room=True)
    assert track.happens() == ["end 7"]
    assert track.happens() == ["stop 7", "left 7"]


def test_the_failure_of_either_round_is_told() -> None:
    for number in (7, 8):
        track = Track()
        track.relay.hand_over(room=True)
        track.rounds[number].failed = True
        with pytest.raises(RuntimeError, match=f"round {number} failed"):
            track.relay.wait(1.0)
        track.log.clear()
        track.relay.stop()
        assert track.log == ["stop 7", "stop 8"]


def test_a_round_that_ends_behind_the_failure_of_the_next_is_not_the_last() -> None:
    """The number of the next one was told as ended, and is used no more."""
    progress = RunProgress()
    progress.round = 8  # it failed
    mirror: Any = MagicMock(progress=progress, _failures=1)
    mirror._throttled = dict.fromkeys(Side, 0.0)
    mirror._session.was_repeated.return_value = False
    _Mirror._ended(mirror, 7, [])
    mirror._session.settled.ended.assert_called_once_with(7, settled=True)
    assert (progress.round, mirror._failures) == (8, 1)
    _Mirror._ended(mirror, 9, [])
    assert (progress.round, mirror._failures) == (9, 0)


def test_a_round_lasts_from_when_its_slices_run_and_no_less_than_it_took_to_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("towpath.mirror.run.relay.time.monotonic", lambda: clock[0])
    track = Track()
    clock[0] += 5
    track.happens()
    assert not track.relay.is_over(2), "its slices do not run"
    track.begun = True
    track.happens()
    clock[0] += 4
    assert not track.relay.is_over(2), "it took 5 seconds to begin"
    clock[0] += 1
    assert track.relay.is_over(2)
    track.relay.hand_over(room=True)
    clock[0] += 3
    track.rounds[7].ended = True
    track.happens()
    assert track.relay.number == 8
    assert not track.relay.is_over(1)
    clock[0] += 3
    assert track.relay.is_over(1)
    assert not track.relay.is_over(60)


def test_a_round_without_room_for_its_slices_ends_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("towpath.mirror.run.relay.time.monotonic", lambda: clock[0])
    track = Track()
    clock[0] += 31
    track.happens()
    clock[0] += 31
    assert track.relay.is_over(2)
