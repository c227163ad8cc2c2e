"""Writing much to a file past the page cache, where the file system can.

Segments are not read again soon. In the page cache they would take the place of what is, such as
the log of a broker on the same machine, and pages that the system has to find first cost more than
the bytes that go into them: a seventh of an archive's CPU time.
"""

from __future__ import annotations

import errno
import mmap
import os
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


def write_at(path: Path, at: int, data: Data) -> None:
    """Write bytes into a file that is there. They are durable once it is synced.

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
    memory, done = _SPARE.take() or mmap.mmap(-1, _PIECE), 0
    try:
        while size := min(_PIECE, len(view) - done) // _BLOCK * _BLOCK:
            memory[:size] = view[done : done + size]
            with memoryview(memory) as aligned, aligned[:size] as piece:
                _write_all(handle, at + done, piece)
            done += size
    except OSError as error:
        return done + _none_if_unable(error)
    finally:
        os.close(handle)
        _SPARE.give(memory)
    return done


def _write_all(handle: int, at: int, view: memoryview) -> None:
    done = 0
    while done < len(view):
        done += os.pwrite(handle, view[done:], at + done)


def _none_if_unable(error: OSError) -> int:
    """Return 0 for an error that says that this file is only written through the cache."""
    if error.errno not in _UNABLE:
        raise error
    return 0
