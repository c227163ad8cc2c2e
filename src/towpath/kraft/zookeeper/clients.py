"""Clients of ZooKeeper, as each server lists them (`cons`, or its AdminServer).

Other tools that read or write znodes work on what nobody keeps in step once ZooKeeper is left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.facts.surroundings import ClientsSeen
from towpath.kraft.zookeeper.admin_server import connected
from towpath.kraft.zookeeper.ensemble import asked_all, four_letter_answer
from towpath.kraft.zookeeper.reading import BROKERS
from towpath.kraft.zookeeper.session import Znode, ZooKeeperSession
from towpath.kraft.zookeeper.sockets import reason
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline
from towpath.settings.address import host_and_port

_LINE = re.compile(r"^ */(?P<host>.+):\d+\[\d+\]\((?P<facts>.*)\)$", re.MULTILINE)
_SESSION = re.compile(r"\bsid=0x([0-9a-f]+)\b")
_SAID = 200
_HALF = 1 << 63


@dataclass(frozen=True, slots=True)
class Connection:
    """A client connection: session number as in kazoo, and remote address."""

    session: int
    host: str


def clients(session: ZooKeeperSession, config: ZooKeeperConfig, deadline: Deadline) -> ClientsSeen:
    """Return the clients connected to each server of the file; all are asked in parallel.

    Args:
        session: An open session.
        config: Encryption of the servers' port, and the port of their AdminServer.
        deadline: When to give up; three seconds are enough for each way to ask a server.

    Raises:
        ZooKeeperError: ZooKeeper could not be used.
    """
    brokers = _of_brokers(session, deadline)
    told = asked_all(session, deadline, lambda address, seconds: _told(address, config, seconds))
    untold = tuple(each for each in told if isinstance(each, str))
    found = [each for each in told if not isinstance(each, str)]
    ours = (session.id,) if session.id is not None else ()
    return sorted_out([each for some in found for each in some], brokers, ours, untold)


def sorted_out(
    connections: Iterable[Connection],
    brokers: Iterable[int],
    ours: Iterable[int],
    untold: tuple[str, ...] = (),
) -> ClientsSeen:
    """Classify connections as brokers' or others'. Pure.

    Args:
        connections: What servers told.
        brokers: The sessions with which brokers are registered.
        ours: Our own session.
        untold: Servers that did not tell.
    """
    registered, left_out = frozenset(brokers), frozenset(ours)
    hosts = {each.session: each.host for each in connections if each.session not in left_out}
    known = Counter(host for number, host in hosts.items() if number in registered)
    others = Counter(host for number, host in hosts.items() if number not in registered)
    return ClientsSeen(known, others, untold)


def connections_of(told: str) -> tuple[Connection, ...] | None:
    """Parse the connections in a server's answer; `None` if it is another answer. Pure."""
    lines = [line for line in told.splitlines() if line.strip()]
    matches = [_LINE.match(line) for line in lines]
    if not lines or None in matches:
        return None
    found = ((each["host"], _SESSION.search(each["facts"])) for each in matches if each)
    # The connection on which this was asked has no session.
    return tuple(Connection(_signed(int(at[1], 16)), host.strip("[]")) for host, at in found if at)


def _signed(number: int) -> int:
    """Return a session's number as znodes have it: that of a server from id 128 on is negative."""
    return number - 2 * _HALF if number >= _HALF else number


def _told(address: str, config: ZooKeeperConfig, seconds: float) -> tuple[Connection, ...] | str:
    """Return the connections of a server, or why they are not known."""
    by_word = _by_word(address, config, seconds)
    if not isinstance(by_word, str):
        return by_word
    host, _ = host_and_port(address)
    told = connected(host, config.admin_port, seconds)
    if not isinstance(told, str):
        return tuple(Connection(session, host) for session, host in told)
    return f"{address} ({by_word}; its AdminServer at port {config.admin_port}: {told})"


def _by_word(address: str, config: ZooKeeperConfig, seconds: float) -> tuple[Connection, ...] | str:
    try:
        told = four_letter_answer(address, config.tls, seconds, b"cons")
    except OSError as error:
        return reason(error)
    except ValueError as error:
        return foreign(error)
    found = connections_of(told)
    said = " ".join(told.split())[:_SAID] or "it closed the connection without an answer"
    return said if found is None else found


def _of_brokers(session: ZooKeeperSession, deadline: Deadline) -> tuple[int, ...]:
    """Return the sessions with which brokers are registered."""
    listed = next(session.read("reading", [BROKERS], deadline, children=True))[1]
    paths = [f"{BROKERS}/{each}" for each in (listed if isinstance(listed, list) else ())]
    znodes = (each for _, each in session.read("reading", paths, deadline))
    return tuple(each.owner for each in znodes if isinstance(each, Znode))
