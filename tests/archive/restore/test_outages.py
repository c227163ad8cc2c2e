"""A restore that follows its archive lives through outages of the store, however many. Pure."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from towpath.archive.restore import playing, run
from towpath.archive.restore.playing import RoundPlayer
from towpath.archive.restore.progress import RestoreProgress
from towpath.model.errors import StoreAwayError, TowpathError
from towpath.runtime.backoff import BackOff

AWAY = StoreAwayError("s3://b", "read", "nothing listens there")
AT_ONCE = BackOff(first=0.0, longest=0.0)


class Job:
    """A job of slices that fails, or ends without a row."""

    failing = True

    def __init__(self, _spark: object, _slices: object) -> None:
        pass

    def start(self) -> None:
        pass

    def wait(self, _seconds: float) -> bool:
        return True

    def result(self) -> Any:
        if self.failing:
            raise RuntimeError("a slice failed")
        return SimpleNamespace(to_pylist=list)


def anything(**more: Any) -> Any:
    """Return a stand-in of which only what a test names does anything."""

    class Anything(SimpleNamespace):
        def __getattr__(self, _name: str) -> Any:
            return lambda *_args, **_named: None

    return Anything(**more)


@pytest.fixture
def player(monkeypatch: pytest.MonkeyPatch) -> RoundPlayer:
    monkeypatch.setattr(playing, "plan_slices", lambda *_: ["a slice"])
    monkeypatch.setattr(playing, "SliceJob", Job)
    monkeypatch.setattr(playing, "slots", lambda *_: 1)
    monkeypatch.setattr(playing, "TAKEOVER", 0.0)
    monkeypatch.setattr(playing, "_AGAIN", AT_ONCE)
    state = anything(
        progress=RestoreProgress(),
        stop=threading.Event(),
        session=anything(run_id="run", settled=anything(), taken_over=None),
        to=anything(events=anything(), target=None, books=None),
        beside=anything(),
        planned=anything(fill=0),
        follower=anything(young=frozenset()),
        task=anything(rules=anything(follow=anything(look=0.1))),
    )
    return RoundPlayer(state, None, None)


def test_rounds_that_fail_end_a_restore_only_if_no_round_goes_well_between(
    player: RoundPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    for _ in range(3):
        monkeypatch.setattr(Job, "failing", True)
        for _ in range(5):
            number += 1
            assert not player.play(number)
        monkeypatch.setattr(Job, "failing", False)
        number += 1
        player.play(number)
    monkeypatch.setattr(Job, "failing", True)
    for _ in range(5):
        player.play(number)
    with pytest.raises(TowpathError):
        player.play(number)


def test_a_restore_that_follows_is_planned_again_once_the_store_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, answers = list[str](), [AWAY, AWAY]
    progress = RestoreProgress()

    def plan(*_: object) -> Any:
        if answers:
            raise answers.pop()
        return SimpleNamespace(plan=None)

    adopted = list[Any]()
    monkeypatch.setattr(run, "plan_restore", plan)
    monkeypatch.setattr(run, "refuse", lambda _plan: None)
    monkeypatch.setattr(run, "AGAIN", AT_ONCE)
    state = anything(
        progress=progress,
        stop=threading.Event(),
        beside=anything(planning=nullcontext()),
        to=anything(),
        look=lambda: told.append(progress.trouble),
    )
    made = run._Restore(state, anything())
    monkeypatch.setattr(made, "_adopt", adopted.append)
    made._plan_again(anything())
    assert told == [str(AWAY), str(AWAY)]
    assert (len(adopted), progress.trouble) == (1, "")
