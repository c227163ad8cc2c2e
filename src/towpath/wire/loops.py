"""The cache of compiled loops over record bytes, in a user folder named by their source.

Compiling all loops takes a quarter of a minute of CPU, loading them less than a second. The name of
the folder is a hash of all files of this package: numba looks only at the file of the outermost
function, but a loop calls functions in other files. Only modules of this package import this one,
before they define a loop.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import caching, config

from towpath.runtime.deadline import Deadline
from towpath.runtime.home import home_folder

__all__ = [
    "FIRST_TIME",
    "MODULES",
    "READ_ONLY",
    "SELDOM",
    "compile_all",
    "compiled",
    "inlined",
    "loop",
]

Loop = Callable[..., Any]

MODULES = (
    "batch",
    "unpacking",
    "reencode",
    "digest",
    "filler",
    "records",
    "opened",
    "rows",
    "naming",
    "splicing",
)
"""The modules of this package with loops, which are compiled when the module is imported."""
SELDOM = ("changing", "kinds", "collecting", "row_loop", "digesting", "placing", "pages")
"""Further ones, which few links need; to compile them takes longer than all others together."""
FIRST_TIME = (
    "note: this version runs for the first time here, so its loops over record bytes are compiled:"
    " once, for a quarter of a minute of CPU or more\n"
)
"""What a command says before it compiles, as nothing else happens meanwhile."""
_LOCKS = 1 << 20
_PATIENCE = 20.0
"""Seconds to wait for another process that compiles the same loop: one that was stopped meanwhile
(a container that is paused, SIGSTOP) holds its lock for as long as that lasts."""
_NAP = 0.02
_SETTINGS = vars(config)
"""The settings of numba, which it reads when a loop is defined."""


class LoopLocator(caching.UserProvidedCacheLocator):
    """Numba cache locator that finds this package's compiled loops in any location.

    The name of the cache folder tells the source. numba's own locator also asks for the same path,
    which an archive of packages has never twice (`engine/packages.py`).
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the cache folder's name, which does not depend on the package's path."""
        return Path(py_file).parent.name

    @classmethod
    def from_function(cls, py_func: Loop, py_file: str) -> LoopLocator | None:
        """Return a locator for a loop of this package, `None` for others."""
        if Path(py_file).parent != Path(__file__).parent:
            return None
        found: LoopLocator | None = super().from_function(py_func, py_file)  # type: ignore[no-untyped-call]
        return found


_njit: Any = numba.njit  # whose types leave `_nrt` out
READ_ONLY = "Array(uint8, 1, 'C', readonly=True)"
"""The type of bytes that a loop does not write to."""
inlined: Callable[[Loop], Loop] = _njit(_nrt=False, forceinline=True)
"""Marks a function that is compiled into the loops that call it.

These functions, and loops, do without counting references to arrays, which would cost more than
all their work. So they cannot make arrays, nor assign slices (`wire/copying.py` copies bytes).
"""


def loop(signature: str, *, allocates: bool = False) -> Callable[[Loop], Loop]:
    """Compile the decorated function, or load it if any process has compiled it before.

    If several processes want the same loop, one compiles it and the others wait, with a bound. So
    processes that start together share the work. Once all loops are compiled, nobody waits.

    Args:
        signature: The types of result and arguments, in numba's notation.
        allocates: Whether it makes arrays, so that references to arrays must be counted.
    """

    def decorate(function: Loop) -> Loop:
        with _alone(f"{function.__module__}.{function.__qualname__}"):
            made: Loop = _njit(signature, cache=True, _nrt=allocates)(function)
            return made

    return decorate


def compile_all(modules: Sequence[str] = (*MODULES, *SELDOM)) -> None:
    """Compile or load every loop of some modules.

    Args:
        modules: Modules of `MODULES` or `SELDOM`. Several processes share the work if each takes
            another order.
    """
    for name in modules:
        import_module(f"towpath.wire.{name}")
    _all_compiled().touch()


def compiled() -> bool:
    """Return whether every loop is in the cache."""
    return _all_compiled().exists()


def _all_compiled() -> Path:
    return Path(_SETTINGS["CACHE_DIR"], "all")


def _folder() -> Path | None:
    """Return a folder that only this user can write to, `None` if there is none."""
    source = hashlib.sha256(f"{sys.implementation.cache_tag} {numba.__version__}".encode())
    with suppress(OSError):  # the package may be in an archive
        for file in sorted(Path(__file__).parent.glob("*.py")):
            source.update(file.read_bytes())
    name = source.hexdigest()[:16]
    return _made(home_folder, name) or _made(_shared, name)


def _made(parent: Callable[[], Path], name: str) -> Path | None:
    # Path.home() raises RuntimeError for a user without a home folder.
    with suppress(OSError, RuntimeError):
        folder = parent() / "loops" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) and _ours(folder):
            return folder
    return None


def _shared() -> Path:
    folder = Path(tempfile.gettempdir(), f"towpath-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if not _ours(folder):
        raise PermissionError(folder)
    return folder


def _ours(folder: Path) -> bool:
    """Whether nobody else could have put code there. The code is run unchecked."""
    told = folder.stat()
    return told.st_uid == os.getuid() and not told.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Hold the lock of a loop, if there is something to compile and the file system has locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            if not compiled():
                file = stack.enter_context(Path(_SETTINGS["CACHE_DIR"], "lock").open("wb"))
                _wait_for(file, zlib.crc32(name.encode()) % _LOCKS)
        yield


def _wait_for(file: IO[bytes], place: int) -> None:
    """Lock one byte of a file, or give up when the time is over: two then compile the same.

    Raises:
        OSError: The file system has no locks.
    """
    deadline = Deadline.after(_PATIENCE)
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # the two answers of POSIX for "it is held"
            if deadline.over:
                return
            time.sleep(_NAP)
        else:
            return


_SETTINGS["CACHE_LOCATOR_CLASSES"] = _SETTINGS["CACHE_LOCATOR_CLASSES"] or ",".join(
    [f"{__name__}.LoopLocator", *(each.__name__ for each in caching.CacheImpl._locator_classes)]  # noqa: SLF001
)
# The user may have set NUMBA_CACHE_DIR.
_SETTINGS["CACHE_DIR"] = _SETTINGS["CACHE_DIR"] or str(_folder() or "")
