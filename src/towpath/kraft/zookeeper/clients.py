"""Who is connected to a ZooKeeper, told by each of its servers (`cons`).

Other tools that read or write znodes work on what nobody keeps in step once ZooKeeper is left.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from towpath.config import Tls
from towpath.kraft.observing.surroundings import ClientsSeen
from towpath.kraft.zookeeper.ensemble import asked, asked_all
from towpath.kraft.zookeeper.reading import BROKERS
from towpath.kraft.zookeeper.session import Znode, ZooKeeperSession
from towpath.kraft.zookeeper.sockets import reason
from towpath.model.deadline import Deadline
from towpath.model.foreign import foreign

_LINE = re.compile(r"^ */(?P<host>.+):\d+\[\d+\]\((?P<facts>.*)\)$", re.MULTILINE)
_SESSION = re.compile(r"\bsid=0x([0-9a-f]+)\b")
_SAID = 200


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection: the number of its session, and the address that it comes from."""

    session: int
    host: str


def clients(session: ZooKeeperSession, tls: Tls | None, deadline: Deadline) -> ClientsSeen:
    """Ask each server of the file who is connected, all at the same time.

    Args:
        session: An open session.
        tls: Encryption of the servers' port.
        deadline: When to give up; three seconds are enough for a server.

    Raises:
        ZooKeeperError: ZooKeeper could not be used.
    """
    brokers = _of_brokers(session, deadline)
    told = asked_all(session, deadline, lambda address, seconds: _told(address, tls, seconds))
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
    """Return connections by whose they are. Pure.

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
    """Return the connections that a server told; None where it told something else. Pure."""
    lines = [line for line in told.splitlines() if line.strip()]
    matches = [_LINE.match(line) for line in lines]
    if not lines or None in matches:
        return None
    found = ((each["host"], _SESSION.search(each["facts"])) for each in matches if each)
    # The connection on which this was asked has no session.
    return tuple(Connection(int(at[1], 16), host.strip("[]")) for host, at in found if at)


def _told(address: str, tls: Tls | None, seconds: float) -> tuple[Connection, ...] | str:
    """Return the connections of a server, or why they are not known."""
    try:
        told = asked(address, tls, seconds, b"cons")
    except OSError as error:
        return f"{address} ({reason(error)})"
    except ValueError as error:
        return f"{address} ({foreign(error)})"
    found = connections_of(told)
    said = " ".join(told.split())[:_SAID] or "it closed the connection without an answer"
    return f"{address} ({said})" if found is None else found


def _of_brokers(session: ZooKeeperSession, deadline: Deadline) -> tuple[int, ...]:
    """Return the sessions with which brokers are registered."""
    listed = next(session.read("reading", [BROKERS], deadline, children=True))[1]
    paths = [f"{BROKERS}/{each}" for each in (listed if isinstance(listed, list) else ())]
    znodes = (each for _, each in session.read("reading", paths, deadline))
    return tuple(each.owner for each in znodes if isinstance(each, Znode))
