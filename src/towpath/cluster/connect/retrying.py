"""Retries of blocking calls within a deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, retry_if_result

from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

T = TypeVar("T")


def retried(
    call: Callable[[], T],
    deadline: Deadline,
    back_off: BackOff,
    may_pass: Callable[[BaseException], bool],
) -> T:
    """Return the result of `call`, repeated after temporary errors.

    Args:
        call: Called again after each error that may pass.
        deadline: No pause goes beyond it.
        back_off: The pauses.
        may_pass: Whether another call may succeed after an error.

    Raises:
        BaseException: The last error of `call`.
    """
    loop = Retrying(
        retry=retry_if_exception(may_pass),
        wait=_pauses(back_off),
        stop=_until(deadline),
        reraise=True,
    )
    return _run(loop, call)


def polled(
    call: Callable[[], T], deadline: Deadline, back_off: BackOff, enough: Callable[[T], bool]
) -> T:
    """Return the first acceptable result of `call`, or the last one before the deadline.

    Args:
        call: Called again after each result that is not enough; its errors are raised.
        deadline: No pause goes beyond it.
        back_off: The pauses.
        enough: Whether a result is what is waited for.
    """
    loop = Retrying(
        retry=retry_if_result(lambda result: not enough(result)),
        wait=_pauses(back_off),
        stop=_until(deadline),
        retry_error_callback=_last_result,
    )
    return _run(loop, call)


def _run(loop: Retrying, call: Callable[[], T]) -> T:
    """Run a loop, and leave no cycle of objects behind.

    The loop's last actions refer to the loop, so that it and the result of the call would stay
    until Python looks for cycles, which happens seldom (`runtime/garbage.py`).
    """
    try:
        return loop(call)
    finally:
        loop.iter_state.reset()


def _pauses(back_off: BackOff) -> Callable[[RetryCallState], float]:
    return lambda state: back_off.after(state.attempt_number)


def _until(deadline: Deadline) -> Callable[[RetryCallState], bool]:
    return lambda state: deadline.left() <= state.upcoming_sleep


def _last_result(state: RetryCallState) -> Any:
    return state.outcome.result() if state.outcome is not None else None
