"""Why an address cannot be listened on, and what to do about it. Pure."""

from __future__ import annotations

import errno
import socket

_ELSEWHERE = frozenset({errno.EADDRNOTAVAIL, socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL})
"""Errors of an address that is none of this machine, and of names that nobody knows."""


def why_not(error: OSError | OverflowError) -> str:
    """Return why an address cannot be listened on, without the address itself."""
    if isinstance(error, OverflowError):
        return "there is no such port"
    return (error.strerror or str(error)).partition(" (while ")[0]  # Python adds the address


def instead(error: OSError | OverflowError) -> str:
    """Return what the operator should do."""
    if isinstance(error, OverflowError):
        return "name another port"
    if error.errno in _ELSEWHERE:
        return "name an address of this machine, and what clients are told as `gateway.advertised`"
    if error.errno == errno.EADDRINUSE:
        return "stop what listens there, such as another gateway, or name another port"
    return "name another port"
