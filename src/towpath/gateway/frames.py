"""Frames of Kafka's protocol: a size, then a request or an answer. Pure.

Sizes and orders are those of Kafka's protocol page.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

LARGEST = 100 << 20
"""Bytes of the largest frame, as brokers have it (`socket.request.max.bytes`). What is no frame is
mostly larger: the beginning of a TLS alert, read as a size, is 352 MB."""
LARGEST_LOGIN = 512 << 10
"""The same before a login is accepted (`sasl.server.max.receive.size`)."""
SMALLEST = 10
"""Bytes of a request's header without a client id."""

_SIZE = struct.Struct(">i")
HEADER = struct.Struct(">ihhih")
"""Size, API key, version, correlation, and the size of the client id, -1 for none."""
_TRANSACTIONAL_PRODUCE, _FLEXIBLE_PRODUCE = 3, 9
ACKS = struct.Struct(">h")

ClientName = tuple[str, str]
"""The host that a client connects from, and its client id."""


class FrameError(ValueError):
    """The bytes of a connection are no frames of Kafka's protocol."""


class Frames:
    """A buffer that cuts the bytes of a connection into frames.

    Args:
        smallest: Bytes of the smallest frame.
        largest: Those of the largest.

    Attributes:
        largest: See above.
    """

    __slots__ = ("_begun", "_filled", "_frame", "_smallest", "largest")

    def __init__(self, smallest: int, largest: int = LARGEST) -> None:
        self._begun = b""  # less than the size of a frame
        self._frame, self._filled = bytearray(), 0
        self._smallest, self.largest = smallest, largest

    @property
    def held(self) -> int:
        """Bytes of a frame that is not complete."""
        return len(self._begun) + self._filled

    def cut(self, data: bytes | memoryview) -> list[bytearray]:
        """Add received bytes; return the frames that are now complete, with their sizes.

        Raises:
            FrameError: A size cannot be one.
        """
        found: list[bytearray] = []
        view, at = memoryview(data), 0
        while at < len(view):
            frame, took = self.take(view[at:])
            at += took
            if frame is not None:
                found.append(frame)
        return found

    def take(self, view: memoryview) -> tuple[bytearray | None, int]:
        """Add received bytes up to the end of a frame, each of which is copied once.

        Returns:
            The frame with its size if it is complete, and how many bytes belong to it.

        Raises:
            FrameError: A size cannot be one.
        """
        if self._frame:
            return self._fill(view, 0)
        if not self._begun and len(view) >= _SIZE.size:
            end = self._end(view)
            if end <= len(view):
                return bytearray(view[:end]), end
        took = min(_SIZE.size - len(self._begun), len(view))
        self._begun += bytes(view[:took])
        if len(self._begun) < _SIZE.size:
            return None, took
        self._frame = bytearray(self._end(self._begun))
        self._frame[: _SIZE.size], self._filled = self._begun, _SIZE.size
        self._begun = b""
        return self._fill(view, took)

    def _end(self, begun: bytes | memoryview) -> int:
        """Return where the frame ends whose size these bytes begin with."""
        (size,) = _SIZE.unpack_from(begun)
        if not self._smallest <= size <= self.largest:
            raise FrameError(f"a frame of {size} bytes")
        return _SIZE.size + int(size)

    def _fill(self, view: memoryview, at: int) -> tuple[bytearray | None, int]:
        """Add bytes to the frame that is not complete."""
        end = at + min(len(view) - at, len(self._frame) - self._filled)
        self._frame[self._filled : self._filled + end - at] = view[at:end]
        self._filled += end - at
        if self._filled < len(self._frame):
            return None, end
        frame, self._frame, self._filled = self._frame, bytearray(), 0
        return frame, end


class Head(NamedTuple):
    """The header of a request.

    Attributes:
        key: Its API key.
        version: Its version.
        correlation: What its answer begins with.
        end: Where the client id ends: there the tags of a flexible header begin.
    """

    key: int
    version: int
    correlation: int
    end: int


def head(frame: bytes | bytearray | memoryview) -> Head:
    """Read the header of a request.

    Raises:
        FrameError: It ends before its header does.
    """
    try:
        _, key, version, correlation, size = HEADER.unpack_from(frame)
    except struct.error as error:
        raise FrameError("a frame without a header") from error
    end = HEADER.size + max(size, 0)
    if end > len(frame):
        raise FrameError("a frame that ends within its header")
    return Head(key, version, correlation, end)


def client_id(frame: bytes | bytearray, of: Head) -> str:
    """Return the client id in the header of a request, "" for none."""
    return bytes(frame[HEADER.size : of.end]).decode(errors="replace")


def acks_of(frame: bytes | bytearray | memoryview, of: Head) -> int:
    """Return `acks` of a Produce request; with 0 there is no answer.

    Raises:
        FrameError: It ends before that.
    """
    try:
        return int(ACKS.unpack_from(frame, acks_at(frame, of.end, of.version))[0])
    except struct.error as error:
        raise FrameError("a request that ends early") from error


def with_acks(frame: bytearray, of: Head, wanted: int) -> bytearray:
    """Change `acks` of a Produce request in place, and return it."""
    ACKS.pack_into(frame, acks_at(frame, of.end, of.version), wanted)
    return frame


def acks_at(frame: bytes | bytearray | memoryview, at: int, version: int) -> int:
    """Return where `acks` of a Produce request stands.

    Args:
        frame: The request.
        at: Where the client id in its header ends.
        version: Its version.

    Raises:
        FrameError: It ends before that.
    """
    if version < _TRANSACTIONAL_PRODUCE:
        return at
    try:
        if version >= _FLEXIBLE_PRODUCE:
            if frame[at] == 0 and frame[at + 1] == 0:  # no tags, no transactional id: nearly all
                return at + 2
            at = after_tags(frame, at)
            size, at = uvarint(frame, at)
            return at + max(size - 1, 0)
        (size,) = ACKS.unpack_from(frame, at)
    except (struct.error, IndexError) as error:
        raise FrameError("a request that ends early") from error
    return at + ACKS.size + max(int(size), 0)


def uvarint(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int]:
    """Decode an UNSIGNED_VARINT; return its value and the position after it.

    Raises:
        IndexError: The data ends before it does.
        FrameError: It is longer than five bytes.
    """
    value = 0
    for shift in range(0, 35, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise FrameError("a number of more than five bytes")


def after_tags(data: bytes | bytearray | memoryview, at: int) -> int:
    """Return the position after tagged fields.

    Raises:
        IndexError: The data ends before them.
    """
    number, at = uvarint(data, at)
    for _ in range(number):
        _, at = uvarint(data, at)
        size, at = uvarint(data, at)
        at += size
    return at
