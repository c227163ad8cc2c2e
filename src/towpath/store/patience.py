"""Repetition of store requests, which ends once the user asks to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from towpath.cluster.connect.retrying import retried
from towpath.model.errors import StoreAwayError
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.settings import Duration, StoreConfig

T = TypeVar("T")

AGAIN = BackOff(first=1.0, longest=5.0)
"""Pauses of a loop between its calls to a store that is away."""
BACK_OFF = BackOff(0.1, 5.0, jitter=0.25)
_PATIENCE = 10.0
"""Seconds for which a request is repeated before its caller does other things."""
_LEAVING = 5.0
"""Seconds without an answer after which a store is given up, once the user asks to stop."""
_LAST = 0.5
"""Seconds that each call still gets after that: the store may be back, or refuse at once."""
_LOOK = 0.1


def hasty(store: StoreConfig) -> StoreConfig:
    """Return a store config with short timeouts, for a loop that repeats its requests.

    A store that is away must not hold up the loop, which tells of it and listens to people.

    Args:
        store: The config from the file.
    """
    timeout = min(store.timeout, Duration(_PATIENCE))
    return store.model_copy(update={"timeout": timeout})


class Patience:
    """Repeats calls to a store that does not answer.

    Args:
        config: The store.
    """

    def __init__(self, config: StoreConfig) -> None:
        self._config = config

    def repeated(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, repeated while the store does not answer.

        Raises:
            StoreError: The last error.
        """
        return retried(call, Deadline.after(self._config.timeout), BACK_OFF, _is_away)


class StoppablePatience(Patience):
    """Repeats calls to a store that does not answer, until the user asks to stop.

    A store that answers is used as before, so that what was begun can be ended well. One that does
    not is given up soon, also in the middle of a request: whether that was done is open then, as
    if the process had been killed. Threads may share it.

    Args:
        config: The store.
        stop: Set once the user asks to stop.
    """

    def __init__(self, config: StoreConfig, stop: threading.Event) -> None:
        super().__init__(config)
        self._stop = stop
        self._given_up: float | None = None

    def repeated(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, repeated while the store does not answer.

        Raises:
            StoreError: The last error.
        """
        deadline, failures = Deadline.after(self._config.timeout), 0
        while True:
            try:
                found = self._answer(call)
            except StoreAwayError:
                failures += 1
                pause = BACK_OFF.after(failures)
                if min(deadline.left(), self._left()) <= pause:
                    raise
                self._pause(pause)
            except BaseException:
                self._given_up = None
                raise
            else:
                self._given_up = None
                return found

    def _left(self) -> float:
        """Return for how many seconds more the store may be away."""
        if not self._stop.is_set():
            return float("inf")
        if self._given_up is None:
            self._given_up = time.monotonic() + _LEAVING
        return max(0.0, self._given_up - time.monotonic())

    def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until the user asks to stop."""
        if self._stop.is_set():
            time.sleep(seconds)
        else:
            self._stop.wait(seconds)

    def _answer(self, call: Callable[[], T]) -> T:
        """Return what a call returns, unless it is given up.

        Raises:
            StoreError: As the call raises it, or there was no answer in time after a stop.
        """
        request = _Request(call)
        request.start()
        begun = Deadline.after(_LAST)
        while request.is_alive() and (self._left() or begun.left()):
            request.join(_LOOK)
        if request.is_alive():
            why = f"none came within {_LEAVING:.0f} s after the stop"
            raise StoreAwayError(self._config.url, "wait for an answer", why)
        return request.outcome()


class _Request(threading.Thread, Generic[T]):
    """A call in a thread of its own, which ends with the process if nobody waits for it."""

    def __init__(self, call: Callable[[], T]) -> None:
        super().__init__(name="towpath-request", daemon=True)
        self._call = call
        self._found: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:  # noqa: BLE001  # raised again by who waits
            self._error = error

    def outcome(self) -> T:
        """Return the result of the call, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._found[0]


def _is_away(error: BaseException) -> bool:
    return isinstance(error, StoreAwayError)
