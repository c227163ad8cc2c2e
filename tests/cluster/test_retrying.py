"""Retries of blocking calls."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable

import pytest

from towpath.cluster.connect.retrying import polled, retried
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

SOON = BackOff(0.0001, 0.0001)


class Answer:
    """What a call returns."""


def at_once() -> object:
    return retried(Answer, Deadline.after(60), SOON, lambda _: True)


def after_an_error() -> object:
    numbers = itertools.count()

    def call() -> Answer:
        if not next(numbers):
            raise ValueError("not yet")
        return Answer()

    return retried(call, Deadline.after(60), SOON, lambda _: True)


def after_looks() -> object:
    numbers = itertools.count()
    return polled(lambda: next(numbers), Deadline.after(60), SOON, lambda number: number == 2)


def too_late() -> object:
    return polled(Answer, Deadline.after(0.001), SOON, lambda _: False)


@pytest.mark.parametrize("call", [at_once, after_an_error, after_looks, too_late])
def test_a_retried_call_leaves_no_cycle_behind(call: Callable[[], object]) -> None:
    """A run lives for weeks and looks for cycles seldom, so they would take memory for hours."""
    call()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            call()
        assert gc.collect() < 20
    finally:
        gc.enable()
