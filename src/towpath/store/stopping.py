"""What commands tell that the user stopped while the store of the archive did not answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from towpath.model.errors import StoppedError, StoreAwayError


def given_up(error: StoreAwayError, stop: threading.Event) -> str:
    """Return why a command that was stopped did not end what it had begun.

    Raises:
        StoreAwayError: That error, as the user did not ask to stop.
    """
    if not stop.is_set():
        raise error
    return f"the store did not answer ({error})"


@contextmanager
def stoppable(stop: threading.Event, what: str) -> Iterator[None]:
    """Tell that the work in this context was stopped, where it fails as the store is away.

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
