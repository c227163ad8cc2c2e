"""Liveness of the process behind a heartbeat in the ledger, and how long it has run."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Protocol, Self

from towpath.ledger.entries import Session
from towpath.model.amounts import span
from towpath.runtime.clock import now_ms, readable

_SILENCE = 10.0
"""Seconds after the last heartbeat until which a run counts as alive: it writes one every two, and
the clocks of two machines may differ a little."""
_BEGAN = 19
"""Where the kernel tells when a process began, counted from its state (`proc_pid_stat(5)`)."""


class Life(StrEnum):
    """The state of a run by its heartbeats: alive, ended, dead, or unknown."""

    ALIVE = "alive"
    SILENT = "silent"
    """It has not said that it is over, and its last heartbeat is too old."""
    DEAD = "dead"
    """It ran on this machine, and ended without saying so."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLife:
    """The last run of a link and whether it is alive; `str()` gives a sentence for people.

    Attributes:
        state: Whether it lives.
        host: The host name.
        pid: The process id.
        since: When it started, in ms since 1970; `beat`, its last heartbeat, likewise. Both by the
            clock of that host.
        silence: Seconds since the last heartbeat, by the clock of this machine.
    """

    state: Life
    host: str
    pid: int
    since: int
    beat: int
    silence: float

    @classmethod
    def of(cls, last: Session) -> Self:
        """Return the state of a run, given its last heartbeat."""
        silence = max(0.0, (now_ms() - last.beat) / 1000)
        state = Life.ALIVE if silence <= _SILENCE else Life.SILENT
        if last.over or is_gone(last):
            state = Life.ENDED if last.over else Life.DEAD
        return cls(
            state=state, host=last.host, pid=last.pid, since=last.started, beat=last.beat,
            silence=silence,
        )  # fmt: skip

    def __str__(self) -> str:
        where = f"on {self.host}, pid {self.pid}, since {readable(self.since)}"
        match self.state:
            case Life.ALIVE:
                return f"alive {where}, last heartbeat {span(self.silence)} ago"
            case Life.SILENT:
                return (
                    f"silent for {span(self.silence)}: the run {where} is dead, frozen or cut off"
                )
            case Life.DEAD:
                return f"none is alive; the last one, {where}, died at about {readable(self.beat)}"
            case _:
                return f"none is alive; the last one, {where}, ended {readable(self.beat)}"


def this_host() -> str:
    """Return the name of this machine, as heartbeats carry it."""
    return socket.gethostname()


@cache
def this_space() -> str:
    """Return an identifier of this process's PID namespace; each container has its own.

    Containers may have the same host name and other processes. It is "" where nothing tells.
    """
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    return ""


class Sign(Protocol):
    """Protocol of a heartbeat: the host, process id and PID namespace of its writer."""

    @property
    def host(self) -> str:
        """The host name."""

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def space(self) -> str:
        """An identifier of the PID namespace of `pid`; "" in heartbeats of older versions."""

    @property
    def born(self) -> int:
        """When the process began, as `birth` tells it; 0 in heartbeats of older versions."""


ProcessKey = tuple[str, int, str, int]
"""Host, process id, which processes it is one of, and when it began."""


def process_of(sign: Sign) -> ProcessKey:
    """Return a value that identifies the process behind a heartbeat."""
    return sign.host, sign.pid, sign.space, sign.born


def birth(pid: int = 0) -> int:
    """Return when a process began, in clock ticks since its machine did; 0 where nothing tells.

    A machine gives the id of a process that has ended to another one, a busy one within minutes.
    No step of the clock changes this time.

    Args:
        pid: The process; 0 for this one.
    """
    with suppress(OSError, IndexError, ValueError):
        return int(_stat(pid or os.getpid())[_BEGAN])
    return 0


def is_gone(sign: Sign) -> bool:
    """Return whether a process of this machine has ended; `False` for other machines.

    Another process may have its id since.
    """
    if sign.host != this_host() or sign.space not in {"", this_space()}:
        return False
    with suppress(PermissionError):  # it lives, and is of another user
        try:
            os.kill(sign.pid, 0)
        except ProcessLookupError:
            return True
    return _is_zombie(sign.pid) or _is_another(sign)


def _is_another(sign: Sign) -> bool:
    """Return whether the process that has this id now began at another time."""
    began = birth(sign.pid) if sign.born else 0
    return began not in {0, sign.born}


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended, and its parent has not asked for its exit code yet.

    The first process of a container may never ask.
    """
    with suppress(OSError, IndexError):
        return _stat(pid)[0] in b"ZX"
    return False


def _stat(pid: int) -> list[bytes]:
    """Return what the kernel tells of a process, from its state on.

    Raises:
        OSError: There is none, or this is no Linux.
    """
    # "pid (name) state ..."; a name may have any characters.
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
