"""Calls that block, tried again as long as that may help and there is time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception

from towpath.model.backoff import BackOff
from towpath.model.deadline import Deadline

T = TypeVar("T")


def retried(
    call: Callable[[], T],
    deadline: Deadline,
    back_off: BackOff,
    may_pass: Callable[[BaseException], bool],
) -> T:
    """Return what `call` returns.

    Args:
        call: Called again after each error that may pass.
        deadline: No pause goes beyond it.
        back_off: The pauses.
        may_pass: Whether another call may succeed after an error.

    Raises:
        BaseException: The last error of `call`.
    """

    def stop(state: RetryCallState) -> bool:
        return deadline.left() <= state.upcoming_sleep

    loop = Retrying(
        retry=retry_if_exception(may_pass),
        wait=lambda state: back_off.after(state.attempt_number),
        stop=stop,
        reraise=True,
    )
    return loop(call)
