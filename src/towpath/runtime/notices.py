"""Sentences for people that come from deep inside a call, such as why it takes so long.

Without `led`, as in a slice, nobody is told.
"""

from __future__ import annotations

from collections.abc import Callable

Teller = Callable[[str], object]
_tell: Teller | None = None


def led(tell: Teller | None) -> Teller | None:
    """Lead notices to `tell` from now on; return who got them before."""
    global _tell  # a process has one place to tell people of something
    before, _tell = _tell, tell
    return before


def notice(text: str) -> None:
    """Tell people something, if anybody listens."""
    if _tell is not None:
        _tell(text)
