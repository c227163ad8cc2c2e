"""The entries of a commit log as objects: one per version, each written only once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.archive.errors import BrokenLogError
from towpath.archive.keys import checkpoint_key, entry_key
from towpath.archive.log.coding import decode, encode, hashed
from towpath.archive.log.entries import LogEntry
from towpath.model.errors import ObjectExistsError, ObjectMissingError
from towpath.store import Store

_ADVICE = (
    "somebody, or a rule of the bucket, changed or deleted entries; bring them back from another"
    " region or a version of the bucket. Nothing is written until then"
)
_SET_BACK = (
    "If all of the store was set back to an earlier time, start again: what the source still has is"
    " archived anew from there"
)
_COPIED = (
    "Where this is a copy that was made while the archive grew, or a store that was set back, copy"
    " it again; or go on from the last entry that is there, so that what the source still has is"
    " archived anew from there:"
)


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A log entry with the hash and the tag of its object.

    Attributes:
        entry: The entry.
        hash: The SHA-256 of its bytes.
        tag: The tag of its object.
    """

    entry: LogEntry
    hash: str
    tag: str


class StoredEntries:
    """The entries of one region in a store.

    Args:
        store: The store.
        region: The region of the archive.
    """

    def __init__(self, store: Store, region: str) -> None:
        self._store, self._region = store, region

    def get(self, version: int) -> StoredEntry | None:
        """Read the entry of a version; return `None` if there is none.

        Raises:
            BrokenLogError: It is no entry.
            NewerArchiveError: It was written in a newer format.
            StoreError: The store could not be read.
        """
        try:
            found, data = self._store.read(self._key(version), 0, None)
        except ObjectMissingError:
            return None
        return StoredEntry(decode(data, self._where(version)), hashed(data), found.tag)

    def behind(self, version: int, most: int) -> Iterator[StoredEntry]:
        """Read up to `most` entries after a version in parallel, and yield them; see `get`."""
        versions = range(version + 1, version + 1 + most)
        several = self._store.threads.map if most > 1 else map
        for each in several(self.get, versions):
            if each is None:
                return  # later ones that were found were written meanwhile
            yield each

    def put_new(self, entry: LogEntry) -> StoredEntry | None:
        """Write an entry unless its version has one; return `None` then.

        Raises:
            StoreError: The store could not be written. The entry may be there, or not.
        """
        data = encode(entry)
        try:
            made = self._store.put_new(self._key(entry.version), data, lock=True)
        except ObjectExistsError:
            return None
        return StoredEntry(entry, hashed(data), made.tag)

    def require_same(self, version: int, hash_: str, tag: str) -> str:
        """Check that the stored entry of a version is still the one that was read or written.

        Where the store was set back meanwhile, as from a backup, a further entry would stand behind
        a hole, and nobody could read it.

        Args:
            version: Its number.
            hash_: The SHA-256 of its bytes.
            tag: The tag that its object had, "" if nothing but a checkpoint told of it.

        Returns:
            The tag of its object.

        Raises:
            BrokenLogError: It is another one, or gone.
            StoreError: The store could not be read.
        """
        key = self._key(version)
        try:
            if tag and tag == self._store.head(key).tag:
                return tag
            found, data = self._store.read(key, 0, None)
        except ObjectMissingError:
            why = "this entry is not there any more"
            raise self.broken(version, why, self._advice(version, tag)) from None
        if hashed(data) != hash_:
            why = "this entry is another one than before"
            raise self.broken(version, why, self._advice(version, tag))
        return found.tag

    def _advice(self, version: int, tag: str) -> str:
        return _SET_BACK if tag else f"{_COPIED} delete {checkpoint_key(self._region, version)}"

    def missing(self, version: int) -> BrokenLogError:
        """Return the error for an entry that is missing before later ones."""
        return self.broken(version, "this entry is missing, and later ones are there")

    def broken(self, version: int, why: str, more: str = "") -> BrokenLogError:
        """Return the error for an entry that the log cannot continue from.

        Args:
            version: Its number.
            why: What is wrong with it.
            more: A sentence that is added.
        """
        text = f"{why}; {_ADVICE}"
        return BrokenLogError(self._where(version), f"{text}. {more}" if more else text)

    def _key(self, version: int) -> str:
        return entry_key(self._region, version)

    def _where(self, version: int) -> str:
        return f"{self._store.config.url}/{self._key(version)}"
