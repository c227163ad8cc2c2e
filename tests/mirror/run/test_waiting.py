"""What a run does whose clusters do not answer when it begins. Pure."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from towpath.cluster.connect.login import SecurityError
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run import waiting
from towpath.mirror.run.progress import RunProgress
from towpath.mirror.run.waiting import Waiting
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.findings import Cause, Problem
from towpath.plan.model import PlanRefusedError
from towpath.runtime.backoff import BackOff

AWAY = UnreachableError("source", "connecting to a:1", "nothing listens there")
ELECTION = RefusedError("target", "asking", 5, "LEADER_NOT_AVAILABLE", retriable=True)
LOGIN = SecurityError("source", "connecting to a:1", "the login was refused")
WHOLE_PLAN = PlanRefusedError(
    (Problem("source", str(AWAY), Cause.AWAY), Problem("target", str(AWAY), Cause.AWAY))
)
HALF_A_PLAN = PlanRefusedError(
    (Problem("source", str(AWAY), Cause.AWAY), Problem("orders", "no right", Cause.RIGHTS))
)
FORBIDDEN = RefusedError("target", "asking", 29, "TOPIC_AUTHORIZATION_FAILED")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_AGAIN", BackOff(first=0.0, longest=0.0))


def failing(*errors: ClusterError) -> Callable[[], None]:
    left = list(errors)

    def prepare() -> None:
        if left:
            raise left.pop(0)

    return prepare


def made(shown: list[str], meter: LinkMeter, *, wanted: bool = True) -> Waiting:
    return Waiting(
        wanted=wanted,
        stop=threading.Event(),
        meter=meter,
        show=lambda progress: shown.append(progress.trouble),
    )


def test_it_waits_for_what_may_pass_and_says_for_whom_and_since_when() -> None:
    shown: list[str] = []
    meter, progress = LinkMeter(), RunProgress()
    one, prepare = made(shown, meter), failing(AWAY, AWAY, ELECTION, WHOLE_PLAN)
    assert not one.tried(prepare, progress)
    assert meter.read().trouble
    assert [one.tried(prepare, RunProgress()) for _ in range(4)] == [False] * 3 + [True]
    assert not meter.read().trouble
    assert all(text.startswith("waiting for an answer since 20") for text in shown)
    assert shown[0].endswith(f": {AWAY}")
    assert shown[0] == shown[1], "a log has one line for it"
    assert shown[2].endswith(f": {ELECTION}")


@pytest.mark.parametrize("error", [LOGIN, FORBIDDEN, HALF_A_PLAN])
def test_it_does_not_wait_for_what_stays(error: ClusterError) -> None:
    shown: list[str] = []
    with pytest.raises(type(error)):
        made(shown, LinkMeter()).tried(failing(error), RunProgress())
    assert not shown


def test_a_script_need_not_wait() -> None:
    with pytest.raises(UnreachableError):
        made([], LinkMeter(), wanted=False).tried(failing(AWAY), RunProgress())
