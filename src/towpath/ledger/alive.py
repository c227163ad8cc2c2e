"""Whether the process that gave a sign of life in the ledger has ended."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from towpath.ledger.entries import LinkLease, Session


def this_host() -> str:
    """Return the name of this machine, as signs of life carry it."""
    return socket.gethostname()


def is_gone(sign: Session | LinkLease) -> bool:
    """Whether the process was on this machine and has ended; of others nobody can tell."""
    if sign.host != this_host():
        return False
    with suppress(PermissionError):  # it lives, and is of another user
        try:
            os.kill(sign.pid, 0)
        except ProcessLookupError:
            return True
    return False
