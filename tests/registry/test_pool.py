"""The threads that ask registries."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from towpath.registry.pool import AskingPool


def test_calls_are_done_in_so_many_threads_at_most() -> None:
    at_once, together = threading.Barrier(3), set[str]()

    def call(number: int) -> int:
        at_once.wait(20)
        together.add(threading.current_thread().name)
        return number * number

    with AskingPool(3, "asking") as pool:
        assert list(pool.map(call, range(9))) == [n * n for n in range(9)]
    assert together == {"asking-1", "asking-2", "asking-3"}


def test_one_call_at_a_time_needs_one_thread() -> None:
    with AskingPool(9) as pool:
        names = [pool.submit(lambda: threading.current_thread().name).result() for _ in range(5)]
    assert len({*names}) <= 2  # one may not be free yet when its answer is there


def test_an_error_is_raised_by_who_waits() -> None:
    def fail() -> None:
        raise ValueError("no")

    with AskingPool(1) as pool, pytest.raises(ValueError, match="no"):
        pool.submit(fail).result()


def test_a_pool_closes_without_what_never_ends() -> None:
    begun, never = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        never.wait(60)

    with AskingPool(1) as pool:
        first, second = pool.submit(hang), pool.submit(hang)
        assert begun.wait(20)
    assert not first.done()
    with pytest.raises(CancelledError):
        second.result(0)
    with pytest.raises(RuntimeError):
        pool.submit(hang)
    daemons = [each for each in threading.enumerate() if each.name == "towpath-schemas-1"]
    assert all(each.daemon for each in daemons)
    never.set()
    first.result(20)
