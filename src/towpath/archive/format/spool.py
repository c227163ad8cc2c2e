"""Temporary storage of an incomplete object, in memory and in a local file.

Memory and files are used again: fresh pages cost more than the bytes that go into them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from socket import gethostname
from tempfile import TemporaryFile, gettempdir

from towpath.archive.errors import TemporaryFileError
from towpath.model.foreign import foreign
from towpath.store import ObjectWriter
from towpath.store.files.direct import aligned
from towpath.wire.spare import Spares

_PIECE = 8 << 20
"""Bytes of a piece: as much as a part of an object has by default, so that it becomes one."""
_IN_MEMORY = 8
"""Pieces of an object that are kept in memory. An object of 100 MiB of records takes fewer if
compression makes it half as large; a larger one goes into a file as a whole."""
_SPARE: Spares[bytearray] = Spares(_IN_MEMORY + 2)
"""Enough for an object that is made, beside one in a file that is being written."""
_SPARE_FILES: Spares[BufferedRandom] = Spares(2)
"""One for the object that is made, and one for that which is being written."""


class Spool:
    """The bytes of an object that is not complete yet."""

    def __init__(self) -> None:
        self._pieces: list[bytearray] = []
        self._room = 0
        """Bytes that the last piece has room for."""
        self._file: BufferedRandom | None = None
        self._in_file = 0
        """Bytes in the file. Those in memory follow them."""

    def write(self, data: bytes | memoryview, /) -> int:
        """Append bytes.

        Raises:
            TemporaryFileError: The file could not be written.
        """
        view = memoryview(data).cast("B")
        at = 0
        while at < len(view):
            if not self._room:
                self._begin()
            size = min(self._room, len(view) - at)
            first = _PIECE - self._room
            self._pieces[-1][first : first + size] = view[at : at + size]
            self._room -= size
            at += size
        return at

    def copy(self, out: ObjectWriter) -> None:
        """Write all bytes to an object of the store; they stay until `close`.

        Raises:
            TemporaryFileError: The file could not be read.
            StoreError: The object could not be written.
        """
        if self._file is not None:
            self._copy_file(self._file, out)
        for piece in self._pieces[:-1] if self._room else self._pieces:
            out.give(piece)
        if self._room:
            out.give(memoryview(self._pieces[-1])[: _PIECE - self._room])

    def close(self) -> None:
        """Release memory and file for reuse."""
        self._give_back()
        self._room = self._in_file = 0
        file, self._file = self._file, None
        if file is not None and not _SPARE_FILES.give(file):
            file.close()

    def _copy_file(self, file: BufferedRandom, out: ObjectWriter) -> None:
        piece = _memory()
        for at in range(0, self._in_file, _PIECE):
            with _told():
                file.seek(at)
                if file.readinto(piece) < _PIECE:
                    raise OSError(errno.EIO, f"it ends before {at + _PIECE}")
            out.write(piece)
        _SPARE.give(piece)

    def _begin(self) -> None:
        if self._file is not None or len(self._pieces) == _IN_MEMORY:
            self._put_aside()
        self._pieces.append(_memory())
        self._room = _PIECE

    def _put_aside(self) -> None:
        """Write all pieces into the file, and free their memory."""
        with _told():
            if self._file is None:
                self._file = _SPARE_FILES.take() or _new_file()
            self._file.seek(self._in_file)
            for piece in self._pieces:
                self._file.write(piece)
            self._file.flush()
        self._in_file += _PIECE * len(self._pieces)
        self._give_back()

    def _give_back(self) -> None:
        for piece in self._pieces:
            _SPARE.give(piece)
        self._pieces.clear()


def _new_file() -> BufferedRandom:
    return TemporaryFile(prefix="towpath-segment-")


@contextmanager
def _told() -> Iterator[None]:
    """Raise the error of a temporary file for what the system says.

    Raises:
        TemporaryFileError: It could not be done.
    """
    try:
        yield
    except OSError as error:
        raise TemporaryFileError(gethostname(), gettempdir(), foreign(error)) from None


def _memory() -> bytearray:
    return _SPARE.take() or aligned(_PIECE)
