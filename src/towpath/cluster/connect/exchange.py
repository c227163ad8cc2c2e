"""One request and its answer over a blocking socket, encoded by kafka-python's messages."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Mapping
from typing import Any

from kafka.protocol.frame import KafkaBytes

from towpath.cluster.codes import UNSUPPORTED_VERSION, code
from towpath.cluster.data.frames import CLIENT_ID, receive
from towpath.model.errors import RefusedError
from towpath.runtime.deadline import Deadline

Address = tuple[str, int]
"""Host, an IPv6 address without brackets, and port."""
Versions = Mapping[int, tuple[int, int]]
"""Lowest and highest supported version of each request, by API key."""

_LARGEST = 200 << 20
_correlations = itertools.count(1)


class StrangeAnswerError(ConnectionError):
    """The received bytes are not a Kafka response; `start` holds the first ones."""

    def __init__(self, start: bytes) -> None:
        super().__init__(start)
        self.start = start

    def __str__(self) -> str:
        return f"the answer is none of Kafka's protocol (it begins with {self.start.hex()})"


def address_text(address: Address) -> str:
    """Return host and port as address text."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def pick_version(side: str, message: Any, versions: Versions, newest: int | None = None) -> int:
    """Return the newest version of `message` that the broker, kafka-python and Towpath know.

    Raises:
        RefusedError: There is none.
    """
    low, high = versions.get(message.API_KEY, (0, -1))
    version: int = min(high, message.max_version, high if newest is None else newest)
    if version < max(low, 0):
        raise RefusedError(
            side,
            message.name,
            UNSUPPORTED_VERSION,
            code(UNSUPPORTED_VERSION).name,
            f"the broker takes versions {low} to {high}; {code(UNSUPPORTED_VERSION).advice}",
        )
    return version


def ask(connection: socket.socket, request: Any, version: int, deadline: Deadline) -> Any:
    """Send `request`, and return the decoded answer."""
    return decoded(request, exchange(connection, request, version, deadline))


def exchange(connection: socket.socket, request: Any, version: int, deadline: Deadline) -> bytes:
    """Send `request`, and return the answer's bytes from the correlation id on.

    The socket can be used again only if this returned.

    Raises:
        OSError: The connection broke, the time is over, or the bytes are not a Kafka response.
    """
    correlation = next(_correlations) & 0x7FFFFFFF
    request.API_VERSION = version
    request.with_header(correlation_id=correlation, client_id=CLIENT_ID.decode())
    connection.settimeout(_some(deadline))
    connection.sendall(request.encode(framed=True, header=True))
    head = _receive(connection, 4, deadline)
    size = int.from_bytes(head, "big", signed=True)
    if not 4 <= size <= _LARGEST:
        raise StrangeAnswerError(head)
    data = _receive(connection, size, deadline)
    if int.from_bytes(data[:4], "big") != correlation:
        raise StrangeAnswerError(data[:8])
    return data


def decoded(request: Any, data: bytes) -> Any:
    """Decode the answer to a request.

    Raises:
        OSError: The bytes are not a Kafka response.
    """
    answer = request.header.get_response_class()
    buffer = KafkaBytes(len(data))
    buffer[:] = data
    try:
        answer.parse_header(buffer)
        return answer.decode(buffer)
    except (ValueError, IndexError, struct.error, UnicodeDecodeError) as error:
        raise StrangeAnswerError(data[:8]) from error


def _receive(connection: socket.socket, size: int, deadline: Deadline) -> bytes:
    data = bytearray(size)
    receive(connection, memoryview(data), lambda: _some(deadline))
    return bytes(data)


def _some(deadline: Deadline) -> float:
    # Zero would make the socket non-blocking.
    return max(deadline.left(), 0.001)
