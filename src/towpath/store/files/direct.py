"""Large file writes that bypass the page cache, if the file system allows it.

Segments are not read again soon. In the page cache they would take the place of what is, such as
the log of a broker on the same machine, and pages that the system has to find first cost more than
the bytes that go into them: a seventh of an archive's CPU time.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from towpath.store.objects import Data
from towpath.wire.spare import Spares

_LEAST = 1 << 20
"""Bytes below which it is not worth it."""
_BLOCK = 4096
"""What positions, sizes and addresses are multiples of; no disk asks for more (open(2))."""
_PIECE = 2 << 20
_DIRECT = getattr(os, "O_DIRECT", 0)
_UNABLE = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})

_SPARE: Spares[mmap.mmap] = Spares(4)
"""Aligned memory; as much as there are parts of an object under way."""


def aligned(size: int) -> bytearray:
    """Return aligned memory, which `write_at` passes to the disk without a copy.

    CPython leaves the bytes of an array where they are when some before and behind them are
    deleted (Objects/bytearrayobject.c). If that ever changes, they are copied again.

    Args:
        size: Its size in bytes.
    """
    memory = bytearray(size + _BLOCK)
    del memory[: -_address(memory) % _BLOCK]
    del memory[size:]
    return memory


def write_at(path: Path, at: int, data: Data) -> None:
    """Write bytes into an existing file; they are durable once the file is synced.

    Args:
        path: The file.
        at: Position of the first byte.
        data: The bytes.

    Raises:
        OSError: They could not be written.
    """
    view = memoryview(data)
    done = _past_the_cache(path, at, view) if _is_much(at, view) else 0
    if done < len(view):
        with path.open("r+b", buffering=0) as file:
            _write_all(file.fileno(), at + done, view[done:])


def _is_much(at: int, view: memoryview) -> bool:
    return bool(_DIRECT) and len(view) >= _LEAST and at % _BLOCK == 0


def _past_the_cache(path: Path, at: int, view: memoryview) -> int:
    """Write whole blocks. Returns how many bytes, which are fewer where that cannot be done."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | _DIRECT)
    except OSError as error:
        return _none_if_unable(error)
    done = 0
    try:
        with closing(_blocks(view)) as pieces:
            for piece in pieces:
                _write_all(handle, at + done, piece)
                done += len(piece)
    except OSError as error:
        return done + _none_if_unable(error)
    finally:
        os.close(handle)
    return done


def _blocks(view: memoryview) -> Generator[memoryview, None, None]:
    """Yield all whole blocks, in aligned memory."""
    whole = len(view) // _BLOCK * _BLOCK
    if not view.readonly and _address(view) % _BLOCK == 0:
        yield view[:whole]
        return
    memory = _SPARE.take() or mmap.mmap(-1, _PIECE)
    try:
        for at in range(0, whole, _PIECE):
            size = min(_PIECE, whole - at)
            memory[:size] = view[at : at + size]
            with memoryview(memory) as copy, copy[:size] as piece:
                yield piece
    finally:
        _SPARE.give(memory)


def _address(memory: bytearray | memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _write_all(handle: int, at: int, view: memoryview) -> None:
    done = 0
    while done < len(view):
        done += os.pwrite(handle, view[done:], at + done)


def _none_if_unable(error: OSError) -> int:
    """Return 0 for an error that says that this file is only written through the cache."""
    if error.errno not in _UNABLE:
        raise error
    return 0
