"""A target that freezes while a command of this process compares records."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.here import Ended
from towpath.dev.broker import LocalCluster
from towpath.engine.batch import run as run_slices


def nothing(*_: object) -> None:
    """Do nothing."""


def press_ctrl_c() -> None:
    """Send this process what Ctrl-C in a terminal sends."""
    os.kill(os.getpid(), signal.SIGINT)


def frozen_while_comparing(
    target: LocalCluster,
    command: Callable[[], Ended],
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[[], None] = nothing,
) -> Ended:
    """Freeze the target when slices begin to compare; do something once they run."""
    left = [then]

    def frozen(
        spark: SparkSession, slices: Any, work: Any, schema: str, on_done: Any, stop: Any
    ) -> Any:

        def done(number: int, total: int) -> None:
            if left:
                left.pop()()
            on_done(number, total)

        target.pause(1)
        return run_slices(spark, slices, work, schema, done, stop)

    with monkeypatch.context() as patched:
        patched.setattr("towpath.mirror.verify.comparing.run_slices", frozen)
        try:
            return command()
        finally:
            target.resume(1)
