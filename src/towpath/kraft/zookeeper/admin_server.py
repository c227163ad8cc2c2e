"""The AdminServer of a ZooKeeper server, which lists connections over HTTP.

Each server since 3.5 has one; the form is that of `Commands.java` of ZooKeeper 3.8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from typing import Any

from towpath.kraft.zookeeper.sockets import reason
from towpath.model.foreign import foreign

Told = tuple[tuple[int, str], ...]
"""Connections: the number of the session, and the address that it comes from."""

_CONNECTIONS = "/commands/connections"
_MOST = 1 << 24
"""Upper bound on the size of an answer, in bytes: one connection takes about 600."""
_OK = 200


def connected(host: str, port: int, seconds: float) -> Told | str:
    """Return the client sessions that a server's AdminServer lists, or why it does not.

    Args:
        host: The server.
        port: Where its AdminServer listens.
        seconds: Longest wait for each part of the answer.
    """
    made = HTTPConnection(host, port, timeout=seconds)
    try:
        made.request("GET", _CONNECTIONS)
        answer = made.getresponse()
        if answer.status != _OK:
            return f"it answered with HTTP status {answer.status}"
        found = connections_in(answer.read(_MOST))
    except OSError as error:
        return reason(error)
    except HTTPException as error:
        return f"what answers there does not speak HTTP: {foreign(error) or type(error).__name__}"
    finally:
        made.close()
    return "its answer lists no connections" if found is None else found


def connections_in(answer: bytes) -> Told | None:
    """Parse the client sessions in an answer; `None` for any other answer. Pure."""
    try:
        told = json.loads(answer)
        listed = [*told["connections"], *told.get("secure_connections", ())]
        return tuple(_sessions(listed))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _sessions(listed: Any) -> Iterator[tuple[int, str]]:
    for each in listed:
        session = each["session_id"]
        host, _, _port = each["remote_socket_address"].rpartition(":")
        if type(session) is not int or not host:
            raise ValueError("it is no connection")
        if session:  # one that has not opened a session yet has 0
            yield session, host.strip("[]")
