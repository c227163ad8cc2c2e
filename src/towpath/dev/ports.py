"""Free ports, reserved so that two processes never choose the same one.

The ports lie below the kernel's ephemeral range: inside it, a client that tries to reach a stopped
broker can be given the broker's own port, connect to itself, and keep the broker from coming back.
"""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

import psutil

from towpath.dev.errors import DevError, PortTakenError

LOWEST = 10_000
USUAL_EPHEMERAL = 32_768
"""First ephemeral port of Linux by default; that of macOS is higher."""

_held: dict[int, int] = {}
"""A locked file for each reserved port; the kernel frees the locks when this process ends."""


def reserve(count: int, seed: int | None = None) -> list[int]:
    """Reserve free ports for this process until it ends.

    Args:
        count: Number of ports.
        seed: Start of the search; by default it differs between processes.
    """
    candidates = list(range(LOWEST, ephemeral_start()))
    random.Random(os.getpid() if seed is None else seed).shuffle(candidates)  # noqa: S311 - no secret
    ports: list[int] = []
    for port in candidates:
        if len(ports) == count:
            return ports
        if _hold(port):
            ports.append(port)
    raise DevError(f"{count} free ports were asked for, {len(ports)} found above {LOWEST}")


def require_free(port: int) -> None:
    """Raise if a process listens on the port.

    Raises:
        PortTakenError: A process does; the error names it if the system tells.
    """
    if not is_free(port):
        raise PortTakenError(port, _holder(port))


def is_free(port: int) -> bool:
    """Return whether a server can bind the port now."""
    with socket.socket() as probe:
        # As brokers do: connections in TIME_WAIT do not block a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def ephemeral_start() -> int:
    """Return the first port of the kernel's ephemeral range."""
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    except OSError:
        return USUAL_EPHEMERAL
    return max(LOWEST + 1000, min(USUAL_EPHEMERAL, int(text.split()[0])))


def _hold(port: int) -> bool:
    if port in _held:
        return False
    folder = Path(tempfile.gettempdir()) / f"towpath-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(folder / str(port), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    if not is_free(port):
        os.close(lock)
        return False
    _held[port] = lock
    return True


def _holder(port: int) -> str:
    try:
        connections = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return ""  # macOS tells only root
    for connection in connections:
        listens = connection.status == psutil.CONN_LISTEN
        if listens and connection.laddr.port == port and connection.pid:
            return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return ""
