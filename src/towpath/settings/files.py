"""Secrets and certificates in files, which are read again when a file changes.

Each process keeps what a file held when it was last usable. Slices get that from the driver,
pickled; where a slice sees the file as well, and the file changed later than what the driver had
read, the file counts. So an executor without these files gets what is new with the next round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from towpath.model.foreign import foreign
from towpath.model.secret import Secret, remember

_BEGINS, _ENDS = (re.compile(rf"-----{word} [^-\n]+-----") for word in ("BEGIN", "END"))


@dataclass(frozen=True, slots=True)
class Stamp:
    """The version of a file; `changed` is the time in ns at which its inode changed.

    That is when it was written, or moved to its place with the times that it had elsewhere.
    """

    changed: int
    written: int
    size: int
    inode: int

    @classmethod
    def of(cls, path: str | Path) -> Stamp:
        """Return the stamp of a file.

        Raises:
            OSError: The file does not exist or cannot be accessed.
        """
        found = Path(path).stat()
        return cls(found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino)


class FileSecret(Secret):
    """A secret in a file; `reveal` returns the current content of the file.

    It equals another one by what the file held when the configuration was read.

    Args:
        path: The file.
        value: What the file held.
        stamp: The stamp of the file at that time.
        pem: Whether the file is a PEM file.
        here: Whether this process has read the file.
    """

    __slots__ = ("_here", "_path", "_pem", "_stamp")

    def __init__(
        self, path: str, value: str, stamp: Stamp, *, pem: bool = False, here: bool = True
    ) -> None:
        super().__init__(value)
        self._path, self._stamp, self._pem, self._here = path, stamp, pem, here
        _FILES.tell(path, self._read)

    def reveal(self) -> str:
        """Return the content of the file, or its last usable content."""
        text, _ = self._now()
        remember(text)
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (self._path, *self._now(), self._pem))

    def _now(self) -> tuple[str, Stamp]:
        return _FILES.current(self._path, self._read)

    @property
    def _read(self) -> _Held:
        return _Held(self._value, self._stamp, self._pem, self._here)


def _again(path: str, value: str, stamp: Stamp, pem: bool) -> FileSecret:  # pickled
    return FileSecret(path, value, stamp, pem=pem, here=False)


@dataclass(slots=True)
class _Held:
    """The last usable content of a file.

    Attributes:
        seen: Whether this process has read the file itself.
        trouble: Why the current content is not used, "" if it is.
    """

    text: str
    stamp: Stamp
    pem: bool
    seen: bool = False
    trouble: str = ""


class _Files:
    """The secret files that this process uses; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, _Held] = {}
        self._notes: dict[str, str] = {}

    def tell(self, path: str, known: _Held) -> None:
        """Store another process's content of a file, if it is newer."""
        with self._lock:
            held = self._held.get(path)
            if held is None or known.stamp.changed > held.stamp.changed:
                self._held[path] = known

    def current(self, path: str, known: _Held) -> tuple[str, Stamp]:
        """Return the content of a file, or its last usable content."""
        with self._lock:
            held = self._held.setdefault(path, known)
            _look(path, held)
            return held.text, held.stamp

    def note(self, about: str, text: str) -> None:
        """Store a problem that several files have together; "" if they have none."""
        with self._lock:
            self._notes[about] = text

    def forget(self) -> None:
        """Forget all files; secrets still in use add their content again."""
        with self._lock:
            self._held.clear()
            self._notes.clear()

    def stamps(self) -> dict[str, Stamp]:
        """Return the stamp of the content in use, for each file."""
        with self._lock:
            return {path: held.stamp for path, held in self._held.items()}

    def troubles(self) -> tuple[str, ...]:
        """Look at all files; return why the current content of some is not used."""
        with self._lock:
            for path, held in self._held.items():
                _look(path, held)
            told = [held.trouble for held in self._held.values()]
            return tuple(filter(None, [*told, *self._notes.values()]))


def _look(path: str, held: _Held) -> None:
    try:
        now = Stamp.of(path)
        if now == held.stamp:
            held.seen, held.trouble = True, ""
        elif held.seen or now.changed > held.stamp.changed:
            held.seen = True
            _read(path, held, now)
    except (OSError, ValueError) as error:
        # An executor need not have the file at all.
        held.trouble = _unused(path, foreign(error)) if held.seen else ""


def _read(path: str, held: _Held, now: Stamp) -> None:
    raw = Path(path).read_text("utf-8", "replace" if held.pem else "strict")
    text = raw if held.pem else raw.rstrip("\r\n")
    if Stamp.of(path) != now:
        return  # the file is being written; the next look decides
    if not _whole(text, pem=held.pem):
        held.trouble = _unused(path, "it is empty or not whole")
        return
    remember(text)
    held.text, held.stamp, held.trouble = text, now, ""


def _whole(text: str, *, pem: bool) -> bool:
    """Whether a file is not obviously half-written."""
    if not pem:
        return bool(text)
    return len(_BEGINS.findall(text)) == len(_ENDS.findall(text)) > 0


def _unused(path: str, why: str) -> str:
    return f"{path} changed but cannot be used ({why}); what it held before is used until it can"


_FILES = _Files()
note, stamps, troubles = _FILES.note, _FILES.stamps, _FILES.troubles
