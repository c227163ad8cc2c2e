"""Spark's JVM may end at any moment; whoever calls it hears one error of ours."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from towpath.engine import watching
from towpath.engine.batch import run
from towpath.engine.rounds import Job, Rounds
from towpath.model.errors import SparkLostError


class Ended:
    """Something of a JVM that ended after `calls` more calls."""

    def __init__(self, calls: int = 0) -> None:
        self._left = calls

    def __getattr__(self, name: str) -> Any:
        if self._left == 0:
            raise Py4JNetworkError("Answer from Java side is empty")
        self._left -= 1
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self


@pytest.mark.parametrize("calls", range(6))
def test_rounds_that_cannot_begin(calls: int) -> None:
    threads = {*threading.enumerate()}
    with pytest.raises(SparkLostError):
        Rounds(Ended(calls), Job(lambda _: [], "os:getcwd", "n INT", once=True), print)  # type: ignore[arg-type]
    assert {*threading.enumerate()} <= threads


@pytest.mark.parametrize(("slices", "calls"), [([], 0), ([1], 0), ([1], 3), ([1], 7)])
def test_slices_that_cannot_run(slices: list[int], calls: int) -> None:
    with pytest.raises(SparkLostError):
        run(Ended(calls), slices, iter, "n INT", lambda *_: None, threading.Event())  # type: ignore[arg-type]


def test_who_looks_at_progress_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_LOOK", 0.0)
    watch = watching.JobsWatch(Ended(3), lambda *_: None, threading.Event(), 1)  # type: ignore[arg-type]
    with watch:
        watch._thread.join(10)
        assert not watch._thread.is_alive()
