"""Messages of commands that were stopped while a store did not answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from towpath.model.errors import StoppedError, StoreAwayError


def given_up(error: StoreAwayError, stop: threading.Event) -> str:
    """Return why a stopped command left its work unfinished.

    Raises:
        StoreAwayError: That error, as the user did not ask to stop.
    """
    if not stop.is_set():
        raise error
    return f"the store did not answer ({error})"


@contextmanager
def stoppable(stop: threading.Event, what: str) -> Iterator[None]:
    """Report failures in this context as stopped, once the user has asked to stop.

    Args:
        stop: Set once the user asks to stop.
        what: What is incomplete then.

    Raises:
        StoppedError: The store is away, and the user asked to stop.
    """
    try:
        yield
    except StoreAwayError as error:
        raise StoppedError(f"{given_up(error, stop)}; {what}") from error
