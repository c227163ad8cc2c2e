"""A proxy before a real broker that refuses producer ids which no broker gives out.

No broker of Apache Kafka does so, other brokers of its protocol may. Everything else goes through.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from tests.support.clusters.brokers import SharedCluster
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

FOREIGN = 1 << 40
MAPPING = 49  # INVALID_PRODUCER_ID_MAPPING
_PRODUCE, _VERSIONS, _END = 0, 18, 26
_KNOWN = (7, 8)


class Refused(Mirror):
    """A mirror that reaches its target through the proxy."""

    def address(self, cluster: LocalCluster) -> str:
        """Return where the mirror finds a cluster."""
        if cluster is not self.target:
            return cluster.bootstrap
        assert isinstance(cluster, SharedCluster)
        return cluster.through("REFUSED").bootstrap


Asked = list[tuple[bytes, list[int]]]
"""Topics and partitions of a produce request."""


class Refusal:
    """The running proxy of a cluster of one broker.

    Attributes:
        error: What is answered to foreign producer ids; 0 lets them through.
        refused: How many requests were refused.
        on_end: Called when a transaction is ended, with "before" and "after"; an `OSError` closes
            the connection at that moment.
    """

    def __init__(self, cluster: SharedCluster) -> None:
        self.cluster = cluster
        self.reset()
        self._open: set[socket.socket] = set()
        self._target = _address(cluster.bound("REFUSED")[0])
        self._listener = socket.create_server(_address(cluster.through("REFUSED").bootstrap))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def reset(self) -> None:
        """Refuse with INVALID_PRODUCER_ID_MAPPING."""
        self.error, self.refused = MAPPING, 0
        self.on_end: Callable[[str], None] = lambda _: None

    def stop(self) -> None:
        """Close everything."""
        _close(self._listener)
        self._accepting.join(10)
        for connection in list(self._open):
            _close(connection)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Hand requests on one by one, so that answers keep their order."""
        with contextlib.suppress(OSError), client, socket.create_connection(self._target) as broker:
            self._open |= {client, broker}
            try:
                for each in (client, broker):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while True:
                    client.sendall(self._answer(_frame(client), broker))
            finally:
                self._open -= {client, broker}

    def _answer(self, request: bytes, broker: socket.socket) -> bytes:
        api, version, correlation, length = struct.unpack_from(">hhih", request, 4)
        if api == _PRODUCE and version in _KNOWN and self.error:
            asked = _foreign(request, 14 + max(length, 0))
            if asked:
                self.refused += 1
                return _refusal(asked, version, correlation, self.error)
        if api != _END:
            broker.sendall(request)
            answer = _frame(broker)
            return _by_name(answer, version) if api == _VERSIONS else answer
        self.on_end("before")
        broker.sendall(request)
        answer = _frame(broker)
        self.on_end("after")
        return answer


def _by_name(answer: bytes, version: int) -> bytes:
    """Offer only the versions of Produce that we read, which name topics by name."""
    tags = version >= 3
    at, size = (11, 7) if tags else (14, 6)
    while answer[at : at + 2] != b"\0\0":
        at += size
    return answer[: at + 4] + struct.pack(">h", _KNOWN[-1]) + answer[at + 6 :]


def _foreign(request: bytes, at: int) -> Asked:
    """Return what a produce request asks for, if it comes with a foreign producer id."""
    (length,) = struct.unpack_from(">h", request, at)
    if length >= 0:
        return []
    (topics,) = struct.unpack_from(">i", request, at + 8)
    at += 12
    asked: Asked = []
    largest = -1
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", request, at)
        name = request[at + 2 : at + 2 + length]
        (count,) = struct.unpack_from(">i", request, at + 2 + length)
        at += 6 + length
        asked.append((name, []))
        for _ in range(count):
            partition, size = struct.unpack_from(">ii", request, at)
            (producer,) = struct.unpack_from(">q", request, at + 8 + 43)
            largest = max(largest, producer)
            asked[-1][1].append(partition)
            at += 8 + size
    return asked if largest >= FOREIGN else []


def _refusal(asked: Asked, version: int, correlation: int, error: int) -> bytes:
    body = struct.pack(">ii", correlation, len(asked))
    for name, partitions in asked:
        body += struct.pack(">h", len(name)) + name + struct.pack(">i", len(partitions))
        for partition in partitions:
            body += struct.pack(">ihqqq", partition, error, -1, -1, -1)
            body += struct.pack(">ih", 0, -1) if version >= 8 else b""
    body += struct.pack(">i", 0)
    return struct.pack(">i", len(body)) + body


def _frame(connection: socket.socket) -> bytes:
    head = _exactly(connection, 4)
    return head + _exactly(connection, int.from_bytes(head, "big"))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise ConnectionError("closed")
        data += part
    return bytes(data)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
