"""The lock of a folder, under which one process at a time replaces objects."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from towpath.cluster.connect.retrying import retried
from towpath.model.errors import StoreLockedError
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

LOCK = "lock"
"""Name of the file."""
_AGAIN = BackOff(0.002, 0.2, jitter=0.25)
"""Pauses before a lock that another process holds is tried again."""
_NAME = 200
"""Bytes that the name of a holder has at most."""


@contextmanager
def locked(lock: Path, patience: float, where: str) -> Iterator[None]:
    """Hold the lock that keeps other processes from replacing objects, within the context.

    The lock is held for milliseconds, and is free as soon as its holder ends. A holder that is
    frozen keeps it, so nobody waits for it for ever.

    Args:
        lock: The file of the lock.
        patience: Seconds to wait for it.
        where: The object as a URL, for messages.

    Raises:
        OSError: The file system refused it.
        StoreLockedError: Another process kept it for all that time.
    """
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        try:
            retried(partial(_take, file), Deadline.after(patience), _AGAIN, _is_held)
        except BlockingIOError:
            raise StoreLockedError(where, "replace", str(lock), _holder(file)) from None
        with suppress(OSError):  # a full disk: the name is only for people
            os.ftruncate(file, 0)
            os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        os.close(file)  # which gives it back


def _take(file: int) -> None:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_held(error: BaseException) -> bool:
    return isinstance(error, BlockingIOError)


def _holder(file: int) -> str:
    return os.pread(file, _NAME, 0).decode(errors="replace")
