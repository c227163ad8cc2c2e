"""States of the servers of a ZooKeeper, asked with four-letter words."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from kazoo.exceptions import KazooException

from towpath.kraft.facts.servers import EnsembleSeen, ServerMode, ServerSeen
from towpath.kraft.zookeeper.session import ZooKeeperSession
from towpath.kraft.zookeeper.sockets import connect, reason
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline
from towpath.settings import Tls
from towpath.settings.address import host_and_port

T = TypeVar("T")
_SECONDS = 3.0
_MOST = 1 << 24
"""Upper bound on the size of an answer, in bytes."""
_MEMBERS = "/zookeeper/config"
"""Where servers since 3.5 keep who they are; it is never below the path of a cluster."""
_MEMBER = re.compile(rb"^server\.\d+=.*?(?::(participant|observer))?(?:;.*)?$", re.MULTILINE)
_LINE = re.compile(r"^(Zookeeper version|Mode|Outstanding): *(.*)$", re.MULTILINE)


def ensemble(session: ZooKeeperSession, tls: Tls | None, deadline: Deadline) -> EnsembleSeen:
    """Return the states of all servers of the file; all are asked in parallel.

    Args:
        session: An open session.
        tls: Encryption of the servers' port.
        deadline: When to give up; three seconds are enough for a server.

    Raises:
        ZooKeeperError: ZooKeeper could not be used.
    """
    voters = _voters(session, deadline)
    servers = asked_all(session, deadline, lambda address, seconds: _server(address, tls, seconds))
    return EnsembleSeen(tuple(servers), voters)


def asked_all(
    session: ZooKeeperSession, deadline: Deadline, ask: Callable[[str, float], T]
) -> Sequence[T]:
    """Return the answers of all servers of the file, asked in parallel.

    Args:
        session: A session, which knows the servers.
        deadline: When to give up; three seconds are enough for a server.
        ask: Asks the server at an address, within so many seconds.
    """
    addresses = session.servers.split(",")
    seconds = max(0.1, min(_SECONDS, deadline.left()))
    with ThreadPoolExecutor(len(addresses)) as pool:
        return list(pool.map(lambda address: ask(address, seconds), addresses))


def _voters(session: ZooKeeperSession, deadline: Deadline) -> int | None:
    try:
        data, _ = session.call("reading", lambda made: made.get_async(_MEMBERS), deadline)
    except KazooException:  # older than 3.5, or not for our eyes
        return None
    found = [match[1] for match in _MEMBER.finditer(data or b"")]
    return sum(kind != b"observer" for kind in found) or None


def _server(address: str, tls: Tls | None, seconds: float) -> ServerSeen:
    try:
        told = four_letter_answer(address, tls, seconds, b"srvr")
    except OSError as error:
        return ServerSeen(address, None, "", None, reason(error))
    except ValueError as error:
        return ServerSeen(address, None, "", None, foreign(error))
    return server(address, told)


def server(address: str, told: str) -> ServerSeen:
    """Parse the answer to `srvr` into the state of a server. Pure."""
    lines = dict(_LINE.findall(told))
    version = lines.get("Zookeeper version", "").partition("-")[0].partition(",")[0]
    try:
        mode = ServerMode(lines.get("Mode", "").strip())
    except ValueError:
        said = " ".join(told.split())[:200] or "it closed the connection without an answer"
        return ServerSeen(address, None, version, None, said)
    waiting = lines.get("Outstanding", "").strip()
    return ServerSeen(address, mode, version, int(waiting) if waiting.isdigit() else None, "")


def four_letter_answer(address: str, tls: Tls | None, seconds: float, word: bytes) -> str:
    """Return the answer of a server to a four-letter word.

    Raises:
        OSError: It cannot be reached, or TLS fails.
        ValueError: The certificates of the file cannot be used.
    """
    host, port = host_and_port(address)
    with connect((host, port), host, tls, seconds) as made:
        made.settimeout(seconds)
        made.sendall(word)
        return _all(made).decode(errors="replace")


def _all(made: socket.socket) -> bytes:
    parts: list[bytes] = []
    while (part := made.recv(4096)) and sum(map(len, parts)) < _MOST:
        parts.append(part)
    return b"".join(parts)
