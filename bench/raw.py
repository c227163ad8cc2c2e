"""Kafka by plain sockets, as little of it as a loader needs: the limit that copiers are held to.

Produce version 7 and ListOffsets version 2, both before the flexible versions; one broker that
leads every partition.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self

_CLIENT = b"towpath-bench"
_PRODUCE, _LIST_OFFSETS = 0, 2
_BUFFER = 4 << 20
_MOST_PARTS = 1000
FLYING = 5
"""Requests of a connection that wait for their answer, as many as Kafka's own producer has."""


class RefusedError(Exception):
    """A broker answered with an error."""


class Wire:
    """One blocking connection to one broker."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def send(self, api: int, version: int, body: Sequence[bytes]) -> None:
        """Send one request."""
        head = struct.pack(">hhih", api, version, 0, len(_CLIENT)) + _CLIENT
        size = len(head) + sum(map(len, body))
        parts = deque(memoryview(part) for part in (struct.pack(">i", size) + head, *body))
        while parts:
            sent = self._socket.sendmsg([parts[i] for i in range(min(len(parts), _MOST_PARTS))])
            while parts and sent >= len(parts[0]):
                sent -= len(parts.popleft())
            if sent:
                parts[0] = parts[0][sent:]

    def receive(self) -> bytes:
        """Return the body of the next response."""
        (size,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(size)[4:]

    def _exactly(self, size: int) -> bytes:
        into = bytearray(size)
        view = memoryview(into)
        while view:
            got = self._socket.recv_into(view)
            if not got:
                raise RefusedError("the broker closed the connection")
            view = view[got:]
        return bytes(into)


def send(
    address: str, topic: str, batches: Sequence[Sequence[bytes]], connections: int = 2
) -> None:
    """Send the batches of all partitions, one of each partition in a request, acks=all.

    Args:
        address: The broker, as host:port.
        topic: It exists.
        batches: Of each partition, in order.
        connections: The partitions are dealt to as many, each with a thread of its own.
    """
    numbered = list(enumerate(batches))
    with ThreadPoolExecutor(connections) as pool:
        shares = [numbered[index::connections] for index in range(connections)]
        for done in [pool.submit(_send, address, topic, share) for share in shares if share]:
            done.result()


def _send(address: str, topic: str, share: Sequence[tuple[int, Sequence[bytes]]]) -> None:
    flying = 0
    with Wire(address) as wire:
        for turn in range(max((len(batches) for _, batches in share), default=0)):
            parts = [(number, batches[turn]) for number, batches in share if turn < len(batches)]
            if flying == FLYING:
                _check(wire.receive())
                flying -= 1
            wire.send(_PRODUCE, 7, _produce(topic, parts))
            flying += 1
        for _ in range(flying):
            _check(wire.receive())


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _produce(topic: str, parts: Sequence[tuple[int, bytes]]) -> list[bytes]:
    head = struct.pack(">hhii", -1, -1, 30_000, 1) + _text(topic)
    body = [head + struct.pack(">i", len(parts))]
    for partition, batch in parts:
        body.append(struct.pack(">ii", partition, len(batch)))
        body.append(batch)
    return body


def _check(answer: bytes) -> None:
    at = 4 + 2 + struct.unpack_from(">h", answer, 4)[0]
    (count,) = struct.unpack_from(">i", answer, at)
    for number in range(count):
        partition, error = struct.unpack_from(">ih", answer, at + 4 + 30 * number)
        if error:
            raise RefusedError(f"partition {partition} refused a batch with error {error}")


class Totals:
    """Counts the records in many topics of many brokers, again and again, at little cost.

    Args:
        led: The partitions of each topic that a broker leads, by its address.
    """

    def __init__(self, led: Mapping[str, Mapping[str, Sequence[int]]]) -> None:
        self._asked = [(Wire(address), _for_ends(topics)) for address, topics in led.items()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for wire, _request in self._asked:
            wire.close()

    def now(self) -> int:
        """Return the sum of the end offsets."""
        for wire, request in self._asked:
            wire.send(_LIST_OFFSETS, 2, [request])
        return sum(sum(_ends(wire.receive())) for wire, _ in self._asked)


def _for_ends(topics: Mapping[str, Sequence[int]]) -> bytes:
    asked = [
        _text(topic)
        + struct.pack(">i", len(numbers))
        + b"".join(struct.pack(">iq", number, -1) for number in numbers)
        for topic, numbers in topics.items()
    ]
    return struct.pack(">ibi", -1, 0, len(asked)) + b"".join(asked)


def _ends(answer: bytes) -> Iterator[int]:
    (topics,) = struct.unpack_from(">i", answer, 4)
    at = 8
    for _ in range(topics):
        at += 2 + struct.unpack_from(">h", answer, at)[0]
        (partitions,) = struct.unpack_from(">i", answer, at)
        at += 4
        for _ in range(partitions):
            number, error, _, offset = struct.unpack_from(">ihqq", answer, at)
            at += 22
            if error:
                raise RefusedError(f"partition {number} told no end, with error {error}")
            yield offset


class Ends:
    """Asks for the end offsets of one topic, again and again, at little cost."""

    def __init__(self, address: str, topic: str, partitions: int) -> None:
        self._wire = Wire(address)
        wanted = b"".join(struct.pack(">iq", number, -1) for number in range(partitions))
        head = struct.pack(">ibi", -1, 0, 1) + _text(topic) + struct.pack(">i", partitions)
        self._request = [head + wanted]
        self._at = 4 + 4 + 2 + len(topic)
        self._partitions = partitions

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def each(self) -> list[int]:
        """Return the end of each partition; -1 where nobody leads it yet."""
        self._wire.send(_LIST_OFFSETS, 2, self._request)
        answer = self._wire.receive()
        found = []
        for number in range(self._partitions):
            _, error, _, offset = struct.unpack_from(">ihqq", answer, self._at + 4 + 22 * number)
            found.append(-1 if error else offset)
        return found

    def total(self) -> int:
        """Return the sum of the end offsets; partitions that nobody leads count as empty."""
        return sum(max(0, end) for end in self.each())
