"""The memory of a slice: response buffers, counted while any of their bytes are in use.

One `BufferPool` serves all connections of a slice. It counts three things, in bytes: what is held
(buffers and copies that are in use), what is promised (responses that were asked for), and what is
kept (free buffers, to be used again). Held and kept never exceed the limit together as long as
nobody asks for more than is left.

The buffers that a slice leaves serve the next one of the process: fresh pages cost as much as what
is done with the bytes that go into them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from towpath.model.lazy import Lazy
from towpath.wire.spare import Spares

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = Lazy("numpy")

Buffer: TypeAlias = "npt.NDArray[np.uint8]"

_PAGE = 4096
_SMALL = 65536
_SPARE = 8
"""Share of the memory kept back for copies of batches."""
_CLASSES = 3
"""Sizes of buffers have so many bits behind the first, so an eighth at most is not used."""

_LEFT: Spares[Buffer] = Spares(256)
"""Buffers that closed pools left."""


class Frame:
    """A response in a pooled buffer, with a count of its users."""

    __slots__ = ("_pool", "_then", "_users", "buffer", "size")

    def __init__(
        self, pool: BufferPool, buffer: Buffer, size: int, then: Callable[[Buffer], object] | None
    ) -> None:
        self._pool = pool
        self._users = 1
        self._then = then
        self.buffer = buffer
        self.size = size

    @property
    def view(self) -> memoryview:
        """The bytes of the response, from the correlation id on."""
        return self.buffer.data[: self.size]

    @property
    def held(self) -> int:
        """Bytes of memory that the frame occupies."""
        return len(self.buffer)

    @property
    def room(self) -> int:
        """Bytes that copies of the frame's batches may take."""
        return self._pool.room

    def instead(self, data: bytes | bytearray | memoryview) -> Frame:
        """Return a new frame for bytes derived from this one; it has one user."""
        return self._pool.adopt(np.frombuffer(data, np.uint8))

    def hold(self) -> Frame:
        """Add one user of the buffer."""
        self._users += 1
        return self

    def release(self) -> None:
        """Remove one user; the last one returns the buffer to where it comes from."""
        self._users -= 1
        if self._users == 0:
            self._pool.held -= len(self.buffer)
            if self._then is not None:
                self._then(self.buffer)


class BufferPool:
    """Pool of response buffers, reused because fresh memory pages are expensive.

    Attributes:
        limit: Bytes that may be held and promised.
        held: Bytes in use.
        promised: Bytes of responses that were asked for and did not come yet.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = self.promised = 0
        self._kept = 0
        self._free: list[Buffer] = []
        self._inherit()

    def close(self) -> None:
        """Leave the free buffers to later pools of the process."""
        for buffer in self._free:
            _LEFT.give(buffer)
        self._free, self._kept = [], 0

    def _inherit(self) -> None:
        """Take what others left, up to half of the limit; the rest is freed."""
        while (buffer := _LEFT.take()) is not None:
            if self._kept + len(buffer) <= self.limit // 2:
                self._free.append(buffer)
                self._kept += len(buffer)

    @property
    def room(self) -> int:
        """Bytes that copies of batches may still take."""
        return self.limit - self.held - self.promised

    @property
    def left(self) -> int:
        """Bytes that may still be requested."""
        return self.room - self.limit // _SPARE

    @property
    def scarce(self) -> bool:
        """Whether more than half of the memory is in use, so that each connection gets less."""
        return self.left < self.limit // 2

    def frame(self, size: int) -> Frame:
        """Return a frame of `size` bytes, in the smallest free buffer that holds it."""
        most = max(_SMALL, size * (2 if self.scarce else 8))
        fitting = [b for b in self._free if size <= len(b) <= most]
        if fitting:
            best = min(range(len(fitting)), key=lambda i: len(fitting[i]))
            buffer = fitting[best]
            self._free = [b for b in self._free if b is not buffer]
            self._kept -= len(buffer)
        else:
            buffer = np.empty(_rounded(size), np.uint8)
        return self._use(Frame(self, buffer, size, self._keep))

    def adopt(self, buffer: Buffer, then: Callable[[Buffer], object] | None = None) -> Frame:
        """Return a frame for foreign bytes, which are counted but not reused here.

        Args:
            buffer: The bytes.
            then: Gets them once nobody uses them.
        """
        return self._use(Frame(self, buffer, len(buffer), then))

    def _use(self, frame: Frame) -> Frame:
        self.held += frame.held
        while self._free and self.held + self._kept > self.limit:
            self._kept -= len(self._free.pop())
        return frame

    def _keep(self, buffer: Buffer) -> None:
        """Keep `buffer` for reuse, or release it if enough are kept."""
        if self.held + self._kept + len(buffer) <= self.limit:
            self._free.append(buffer)
            self._kept += len(buffer)


def _rounded(size: int) -> int:
    """Return the size of a new buffer: few sizes, so that one fits often, and little that is idle.

    An eighth of it at most is idle, where it is not smaller than a page.
    """
    unit = max(_PAGE, 1 << max(0, size.bit_length() - 1 - _CLASSES))
    return -(-size // unit) * unit
