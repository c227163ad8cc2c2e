"""A walk through a frame whose fields are changed in place. Pure.

Most bytes of a gateway are Fetch and Produce, so these are not decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType

from towpath.gateway.frames import uvarint

PREFIX = struct.Struct(">ii")
"""A frame's size, and the correlation of an answer."""
INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_NO_EPOCH = -1
_ID = 16
SAME: Mapping[bytes, bytes] = MappingProxyType({})
"""No topic ids to be replaced."""


class FrameWalk:
    """A position in a frame that moves from field to field.

    Args:
        data: The frame, or as much of it as there is.
        at: Where the walk begins.
        version: The version of its message.
        flexible: Whether it has the compact form of KIP-482.

    Raises:
        struct.error: The frame ends before a number does; likewise `IndexError`.
    """

    __slots__ = ("at", "data", "flexible", "version")

    def __init__(
        self, data: bytearray | memoryview, at: int, version: int, *, flexible: bool
    ) -> None:
        self.data, self.at, self.version, self.flexible = data, at, version, flexible

    def tags(self, seen: Callable[[int], None] | None = None) -> None:
        """Pass the tagged fields, if there are any.

        Args:
            seen: Called with each tag, where its field begins.
        """
        if not self.flexible:
            return
        number, self.at = uvarint(self.data, self.at)
        for _ in range(number):
            tag, self.at = uvarint(self.data, self.at)
            size, self.at = uvarint(self.data, self.at)
            end = self.at + size
            if seen is not None:
                seen(tag)
            self.at = end

    def topics(
        self,
        partition: Callable[[], None],
        *,
        by_id: bool,
        named: Callable[[bytes], None] | None = None,
        ids: Mapping[bytes, bytes] = SAME,
    ) -> None:
        """Pass an array of topics, each with partitions, as Fetch has it.

        Args:
            partition: Passes a partition.
            by_id: Whether topics have ids in place of names.
            named: Called with each id, or name as it is encoded.
            ids: Ids that are replaced by others.
        """
        for _ in range(self.count()):
            begin = self.at
            if by_id:
                self._id(ids)
            else:
                self.text()
            if named is not None:
                named(bytes(self.data[begin : self.at]))
            for _ in range(self.count()):
                partition()
            self.tags()

    def _id(self, ids: Mapping[bytes, bytes]) -> None:
        end = self.at + _ID
        other = ids.get(bytes(self.data[self.at : end])) if ids else None
        if other is not None:
            self.data[self.at : end] = other
        self.at = end

    def place(self) -> None:
        """Pass a partition that is a number alone."""
        self.at += INT.size

    def text(self) -> None:
        """Pass a string."""
        size = self.size() if self.flexible else self.short()
        self.at += max(size, 0)

    def count(self) -> int:
        """Read how many elements an array has; 0 for none."""
        found = self.size() if self.flexible else self.number()
        if found > len(self.data) - self.at:  # each takes a byte at least
            raise IndexError
        return max(found, 0)

    def no_epoch(self) -> None:
        """Replace a leader epoch by none."""
        INT.pack_into(self.data, self.at, _NO_EPOCH)
        self.at += 4

    def size(self) -> int:
        """Read the size of a compact field, -1 for null."""
        size, self.at = uvarint(self.data, self.at)
        return size - 1

    def number(self) -> int:
        """Read an INT32."""
        (value,) = INT.unpack_from(self.data, self.at)
        self.at += 4
        return int(value)

    def short(self) -> int:
        """Read an INT16."""
        (value,) = _SHORT.unpack_from(self.data, self.at)
        self.at += 2
        return int(value)
