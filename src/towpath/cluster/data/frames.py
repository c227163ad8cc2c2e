"""The few primitives of the Kafka protocol that the data path needs.

Sizes and orders are those of the protocol page; "compact" and tags came with KIP-482.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable

CLIENT_ID = b"towpath"

Part = bytes | bytearray | memoryview

_SIZED_HEADER = struct.Struct(">ihhih")


def request(
    api: int, version: int, correlation: int, parts: list[Part], *, tags: bool
) -> list[Part]:
    """Prefix a body with its size and request header (version 1, or 2 with `tags`)."""
    tail = b"\0" if tags else b""
    size = 10 + len(CLIENT_ID) + len(tail) + sum(len(part) for part in parts)
    head = _SIZED_HEADER.pack(size, api, version, correlation, len(CLIENT_ID))
    return [head + CLIENT_ID + tail, *parts]


def receive(connection: socket.socket, view: memoryview, wait: Callable[[], float | None]) -> None:
    """Fill `view` from a blocking socket; `wait` returns the remaining seconds.

    Raises:
        OSError: The connection was lost, or time is over.
    """
    while view:
        connection.settimeout(wait())
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError("the broker closed the connection")
        view = view[got:]


def string(text: str) -> bytes:
    """Encode a STRING."""
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def uvarint(value: int) -> bytes:
    """Encode an UNSIGNED_VARINT."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def compact_string(text: str) -> bytes:
    """Encode a COMPACT_STRING."""
    raw = text.encode()
    return uvarint(len(raw) + 1) + raw


def compact_array(items: Iterable[bytes]) -> bytes:
    """Encode a COMPACT_ARRAY of already encoded items."""
    encoded = list(items)
    return uvarint(len(encoded) + 1) + b"".join(encoded)


class ResponseReader:
    """Reads a response field by field."""

    __slots__ = ("at", "data")

    def __init__(self, data: memoryview, at: int = 0) -> None:
        self.data = data
        self.at = at

    def unpack(self, form: struct.Struct) -> tuple[int, ...]:
        """Read one structure of fixed size."""
        values = form.unpack_from(self.data, self.at)
        self.at += form.size
        return values

    def int16(self) -> int:
        """Read an INT16."""
        self.at += 2
        return int.from_bytes(self.data[self.at - 2 : self.at], "big", signed=True)

    def int32(self) -> int:
        """Read an INT32."""
        self.at += 4
        return int.from_bytes(self.data[self.at - 4 : self.at], "big", signed=True)

    def int64(self) -> int:
        """Read an INT64."""
        self.at += 8
        return int.from_bytes(self.data[self.at - 8 : self.at], "big", signed=True)

    def take(self, size: int) -> memoryview:
        """Read a number of bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self) -> str:
        """Read a STRING; null is returned as ""."""
        size = self.int16()
        return bytes(self.take(size)).decode() if size > 0 else ""

    def uvarint(self) -> int:
        """Read an UNSIGNED_VARINT."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def compact_string(self) -> str:
        """Read a COMPACT_STRING; null is returned as ""."""
        size = self.uvarint()
        return bytes(self.take(size - 1)).decode() if size > 1 else ""

    def tags(self) -> dict[int, memoryview]:
        """Read a tag section."""
        return {self.uvarint(): self.take(self.uvarint()) for _ in range(self.uvarint())}
