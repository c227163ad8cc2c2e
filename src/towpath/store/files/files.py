"""Objects as files in a folder, which may be a network file system.

An object appears under its name as a whole, and stays after a power cut: it is written beside, made
durable, and then linked (where it must be new) or renamed to its place. A link fails if the name is
taken, for all machines that share the folder.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from uuid import uuid4

from towpath.model.errors import (
    ObjectChangedError,
    ObjectExistsError,
    ObjectMissingError,
    StoreAwayError,
    StoreError,
    StoreFullError,
    StoreRefusedError,
)
from towpath.model.foreign import foreign
from towpath.runtime.durable import sync_folder
from towpath.settings import StoreConfig
from towpath.store.files.direct import write_at
from towpath.store.files.folders import make_folders, walk
from towpath.store.files.locking import LOCK, locked
from towpath.store.objects import Data, Put, StoredObject, ThawSpeed, Unfinished, Upload, filled

_OWN = ".towpath"
"""The folder of what is being written, and of the lock."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_AWAY = frozenset(
    {errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EAGAIN,
     errno.EINTR, errno.EBUSY, errno.ENOLCK}
)  # fmt: skip
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_PAGE = 1000


class FilesBackend:
    """Store backend for a folder, which may be on a network file system.

    Once it was seen to hold something, a folder that is missing or empty is away: its disk is not
    mounted. Then no other one is begun in its place, and no object counts as missing.

    Args:
        config: The store.
        begun: Whether it is known to hold something.
    """

    parallel = 4

    def __init__(self, config: StoreConfig, *, begun: bool = False) -> None:
        self._begun = begun
        self._root, self._part_size = Path(config.prefix), int(config.part_size)
        self._own = self._root / _OWN
        self._patience = config.request_timeout

    def close(self) -> None:
        """Do nothing, as no file stays open."""

    def put(self, key: str, data: Data, how: Put) -> StoredObject:
        """Write an object as a whole."""
        upload = self.upload(key, how)
        try:
            upload.part(0, data)
            return upload.complete()
        except BaseException:
            upload.abort()
            raise

    def upload(self, key: str, how: Put) -> Upload:
        """Begin to write an object in parts."""
        self.path(key)
        with self._told("begin to write", key):
            self._make_root()
            # The name says what it was to become, for whoever finds it.
            name = self._own / f"{uuid4().hex}.{key.replace('%', '%25').replace('/', '%2F')}"
            beside = name if len(name.name) < 255 else self._own / uuid4().hex
            beside.touch(exist_ok=False)
        return _FileUpload(self, key, how, beside, self._part_size)

    def get(self, key: str, first: int, end: int | None, tag: str) -> tuple[StoredObject, bytes]:
        """Return the bytes [first, end) of an object."""
        with self._told("read", key), self.path(key).open("rb") as file:
            found = self._found(key, os.fstat(file.fileno()))
            if tag and tag != found.tag:
                raise ObjectChangedError(self._where(key), "read")
            at = max(0, found.size + first) if first < 0 else first
            if first > 0 and at >= found.size:
                why = f"it has {found.size} bytes, and those from {first} on were wanted"
                raise StoreRefusedError(self._where(key), "read", why)
            file.seek(at)
            return found, file.read() if end is None else file.read(end - at)

    def get_into(self, key: str, first: int, tag: str, out: memoryview) -> StoredObject:
        """Fill memory with an object's bytes from `first` on."""
        with self._told("read", key), self.path(key).open("rb", buffering=0) as file:
            found = self._found(key, os.fstat(file.fileno()))
            if tag and tag != found.tag:
                raise ObjectChangedError(self._where(key), "read")
            file.seek(first)
            filled(out, file, self._where(key))
        return found

    def head(self, key: str) -> tuple[StoredObject, str]:
        """Return an object's metadata; files do not keep the name of their write."""
        with self._told("look at", key):
            return self._found(key, self.path(key).stat()), ""

    def page(self, prefix: str, after: str) -> tuple[Sequence[StoredObject], bool]:
        """List the next objects with a prefix after a key; return also whether there are more."""
        with self._told("list objects below", prefix):
            self._require_there()
            found = list(islice(walk(self._root, prefix, after, hidden=_OWN), _PAGE + 1))
        return [_stored(*each) for each in found[:_PAGE]], len(found) > _PAGE

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        for key in keys:
            with self._told("delete", key):
                self._require_there()
                with suppress(FileNotFoundError, NotADirectoryError):
                    self.path(key).unlink()

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Do nothing, as all files can be read at once."""

    def require_lock(self) -> None:
        """Do nothing, as the config refuses locks for folders."""

    def unfinished(self, prefix: str) -> Sequence[Unfinished]:
        """Return the unfinished uploads with a prefix."""
        found = []
        with self._told("list unfinished uploads below", prefix):
            for path in sorted(self._own.iterdir()) if self._own.is_dir() else ():
                key = path.name.partition(".")[2].replace("%2F", "/").replace("%25", "%")
                if path.name != LOCK and key.startswith(prefix):
                    with suppress(FileNotFoundError):  # it has just been completed
                        started = path.stat().st_mtime_ns // 1_000_000
                        found.append(Unfinished(key=key, id=path.name, started=started))
        return found

    def abort(self, upload: Unfinished) -> None:
        """Remove the parts of an unfinished upload."""
        with self._told("abort writing", upload.key):
            (self._own / upload.id).unlink(missing_ok=True)

    def publish(self, beside: Path, key: str, how: Put) -> StoredObject:
        """Give a complete and durable temporary file its final name.

        Raises:
            StoreError: It could not be done; the file stays where it is.
        """
        path = self.path(key)
        with self._told("write", key):
            make_folders(path.parent, self._root)
            if how.only_new:
                self._link(beside, path)
            else:
                self._move(beside, path, how.instead_of)
            sync_folder(path.parent)
            return self._found(key, path.stat())

    def path(self, key: str) -> Path:
        """Return the path of an object's file.

        Raises:
            StoreRefusedError: The key cannot be the name of a file in the folder.
        """
        parts = key.split("/")
        if any(part in {"", ".", "..", _OWN} or "\0" in part for part in parts):
            why = f"{key!r} cannot be the name of a file below it"
            raise StoreRefusedError(self._where(""), "find an object", why)
        return self._root.joinpath(*parts)

    def _link(self, beside: Path, path: Path) -> None:
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            # NFS may say so of a link that it has just made, when it had to ask twice.
            if beside.stat().st_nlink == 1:
                raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            why = f"the file system makes no hard links ({foreign(error)})"
            advice = "an archive needs them to write what must be new; use another file system"
            raise StoreRefusedError(self._where(""), "write a new object", why, advice) from None
        beside.unlink()

    def _move(self, beside: Path, path: Path, instead_of: str) -> None:
        with locked(self._own / LOCK, self._patience, f"file://{path}"):
            if instead_of:
                present = _stored("", path.stat())
                if present.tag != instead_of:
                    raise ObjectChangedError(str(path), "replace")
            beside.replace(path)

    def _make_root(self) -> None:
        """Make the folder, but not those above it: what is not mounted must not be written to.

        Raises:
            OSError: The folder was there before.
            StoreRefusedError: The folder above is not there, or no folder can be made.
        """
        if self._own.is_dir():
            return
        self._require_there()
        if not self._root.parent.is_dir():
            why = f"there is no folder {self._root.parent}"
            advice = "make it, or look whether its disk is mounted"
            raise StoreRefusedError(self._where(""), "write", why, advice)
        try:
            self._root.mkdir(exist_ok=True)
            self._own.mkdir(exist_ok=True)
        except (FileExistsError, FileNotFoundError, NotADirectoryError) as error:
            why = f"the folder cannot be made ({foreign(error)})"
            raise StoreRefusedError(
                self._where(""), "write", why, "name a folder in `store.url`"
            ) from None

    def _found(self, key: str, stat: os.stat_result) -> StoredObject:
        self._begun = True
        return _stored(key, stat)

    def _require_there(self) -> None:
        """Raise an error of a disk that is away if the folder held something, and holds nothing."""
        if not self._begun:
            return
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._root) as found:
            if next(found, None) is not None:
                return
        raise OSError(errno.ENOTCONN, f"{self._root} is gone or empty; is its disk mounted?")

    def _where(self, key: str) -> str:
        return f"file://{self._root}/{key}"

    @contextmanager
    def _told(self, what: str, key: str) -> Iterator[None]:
        with self.told(self._where(key), what):
            yield

    @contextmanager
    def told(self, where: str, what: str) -> Iterator[None]:
        """Translate an `OSError` in this context into the store's error.

        Args:
            where: The file, as a URL.
            what: What is being done.

        Raises:
            StoreError: It could not be done.
        """
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            try:
                self._require_there()
            except OSError as gone:
                raise _told(gone, where, what) from None
            raise _told(error, where, what) from None
        except OSError as error:
            raise _told(error, where, what) from None


class _FileUpload:
    """A file that is being written."""

    def __init__(
        self, backend: FilesBackend, key: str, how: Put, beside: Path, part_size: int
    ) -> None:
        self._backend, self._key, self._how = backend, key, how
        self._beside, self._part_size = beside, part_size

    def part(self, number: int, data: Data) -> int:
        """Upload part `number`, counted from 0. Returns the CRC-32 of its bytes."""
        with self._told("write a part of"):
            write_at(self._beside, number * self._part_size, data)
        return zlib.crc32(data)

    def complete(self) -> StoredObject:
        """Create the object from all parts."""
        with self._told("write"), self._beside.open("rb") as file:
            os.fsync(file.fileno())
        return self._backend.publish(self._beside, self._key, self._how)

    def abort(self) -> None:
        """Remove all parts."""
        with self._told("abort writing"):
            self._beside.unlink(missing_ok=True)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        with self._backend.told(f"file://{self._backend.path(self._key)}", what):
            yield


def _told(error: OSError, where: str, what: str) -> StoreError:
    if isinstance(error, FileExistsError):
        return ObjectExistsError(where, what)
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return ObjectMissingError(where, what)
    if error.errno in _FULL:
        return StoreFullError(where, what, foreign(error))
    if error.errno in _AWAY:
        return StoreAwayError(where, what, foreign(error))
    return StoreRefusedError(where, what, foreign(error), "look at the rights of the folder")


def _stored(key: str, stat: os.stat_result) -> StoredObject:
    tag = f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"
    return StoredObject(key=key, size=stat.st_size, tag=tag, modified=stat.st_mtime_ns // 1_000_000)
