"""Objects of a store, and the protocol that each kind of store implements.

A backend does each thing once. `Store` repeats it, so a backend raises `StoreAwayError` for what
may pass, and the other errors of a store for what may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from towpath.model.errors import StoreAwayError
from towpath.settings import LockMode

Data = bytes | bytearray | memoryview
_PIECE = 1 << 20
"""Bytes that are read at once, where each read takes memory of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in a store.

    Attributes:
        key: Its key, relative to the store's prefix.
        size: Size in bytes.
        tag: Changes whenever the object is written; `Store.replace` wants it.
        modified: When it was written, in ms.
        storage_class: Its storage class; empty where the store does not say.
        cold: Whether it must be thawed before it can be read, as far as the store says.
        thawing: Whether that has been asked for, and goes on.
        crc: CRC-32 of its bytes, as whoever wrote it computed it, or as the store keeps it; None
            where neither tells.
    """

    key: str
    size: int
    tag: str
    modified: int
    storage_class: str = ""
    cold: bool = False
    thawing: bool = False
    crc: int | None = None


class ThawSpeed(StrEnum):
    """Speed of thawing cold objects; faster costs more."""

    STANDARD = "standard"
    BULK = "bulk"


class ObjectLock(NamedTuple):
    """A lock that keeps an object from being deleted for some days.

    Attributes:
        mode: Who may delete it all the same.
        until: When it ends, in ms.
    """

    mode: LockMode
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Options for writing an object: conditions, metadata and lock.

    Attributes:
        only_new: Refuse if there is an object with this key.
        instead_of: Refuse if the tag of the present object is not this one.
        storage_class: The storage class; empty for the bucket's default.
        lock: How the store is to lock it, `None` for not at all.
        name: A name of this write alone, kept with the object: it tells after a lost answer whether
            the object that is there comes from this write.
    """

    only_new: bool = False
    instead_of: str = ""
    storage_class: str = ""
    lock: ObjectLock | None = None
    name: str = ""


class Upload(Protocol):
    """Protocol of an object that is being written in parts.

    All parts but the last have the same size. Parts may come in any order and from several threads
    if the backend has `parallel` parts.
    """

    def part(self, number: int, data: Data) -> int:
        """Upload part `number`, counted from 0; uploading it again replaces it.

        Returns:
            The CRC-32 of the bytes, whose memory is not looked at any more.
        """

    def complete(self) -> StoredObject:
        """Create the object from all parts."""

    def abort(self) -> None:
        """Remove all parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """An upload that was neither completed nor aborted.

    Attributes:
        key: The key of the object that it was to become.
        id: The store's name for it.
        started: When it began, in ms.
    """

    key: str
    id: str
    started: int


class Backend(Protocol):
    """Protocol of one kind of store; all methods are thread-safe.

    Attributes:
        parallel: How many parts of an upload may be under way.
    """

    parallel: int

    def put(self, key: str, data: Data, how: Put) -> StoredObject:
        """Write an object as a whole.

        Raises:
            ObjectExistsError: It is there, and `how` wants a new one.
            ObjectChangedError: It is another one than `how` wants to replace.
            StoreError: The store could not do it.
        """

    def upload(self, key: str, how: Put) -> Upload:
        """Begin to write an object in parts; `how` counts when it is completed.

        Raises:
            StoreError: The store could not do it.
        """

    def get(self, key: str, first: int, end: int | None, tag: str) -> tuple[StoredObject, bytes]:
        """Return the bytes [first, end) of an object; `None` as `end` means its end.

        Args:
            key: The object.
            first: The first byte; where it is negative, so many bytes at the end are read.
            end: Where to end.
            tag: Raise if the object has another tag; "" for any.

        Raises:
            ObjectMissingError: There is no such object.
            ObjectChangedError: The object has another tag.
            StoreError: The store could not do it.
        """

    def get_into(self, key: str, first: int, tag: str, out: memoryview) -> StoredObject:
        """Fill memory with an object's bytes from `first` on.

        Raises:
            StoreAwayError: Fewer bytes came.
        """

    def head(self, key: str) -> tuple[StoredObject, str]:
        """Return an object's metadata, and the name of the write that created the object.

        Raises:
            ObjectMissingError: There is no such object.
            StoreError: The store could not do it.
        """

    def page(self, prefix: str, after: str) -> tuple[Sequence[StoredObject], bool]:
        """List the next objects with a prefix after a key; return also whether there are more.

        Raises:
            StoreError: The store could not do it.
        """

    def delete(self, keys: Sequence[str]) -> None:
        """Delete up to 1000 objects; missing ones are ignored.

        Raises:
            StoreError: The store could not delete some.
        """

    def thaw(self, found: StoredObject, days: int, speed: ThawSpeed) -> None:
        """Request that a cold object becomes readable.

        Raises:
            StoreError: The store could not do it.
        """

    def unfinished(self, prefix: str) -> Sequence[Unfinished]:
        """Return the unfinished uploads with a prefix.

        Raises:
            StoreError: The store could not do it.
        """

    def abort(self, upload: Unfinished) -> None:
        """Remove the parts of an unfinished upload.

        Raises:
            StoreError: The store could not do it.
        """

    def require_lock(self) -> None:
        """Raise if the store is known not to lock objects.

        Raises:
            StoreRefusedError: It does not.
            StoreError: The store could not do it.
        """

    def close(self) -> None:
        """Close all connections."""


def filled(out: memoryview, source: Any, where: str) -> None:
    """Fill memory with the next bytes of a file; raise if the file ends too early.

    Args:
        out: The memory.
        source: A file, or the body of an answer.
        where: The object as a URL.

    Raises:
        StoreAwayError: The file has fewer bytes.
    """
    at = 0
    while at < len(out):
        count = source.readinto(out[at : at + _PIECE])
        if not count:
            why = f"{at} bytes came, and {len(out)} were wanted"
            raise StoreAwayError(where, "read", why)
        at += count
