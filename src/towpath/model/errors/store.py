"""Errors about an object store."""

from __future__ import annotations

from towpath.model.errors.base import TowpathError


class StoreError(TowpathError):
    """A store could not complete a request.

    Args:
        where: The store or the object, as a URL without secrets.
        what: What was being done.
        why: What the store said, without secrets.
        advice: What to do about it.
    """

    code = "STORE"
    exit_code = 4

    def __init__(self, where: str, what: str, why: str = "", advice: str = "") -> None:
        super().__init__(where, what, why, advice)
        self.where, self.what, self.why, self.advice = where, what, why, advice

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}: {self.why}"
        return f"{text}; {self.advice}" if self.advice else text


class ObjectMissingError(StoreError):
    """There is no object with this key in the store."""

    code = "STORE_MISSING"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: there is no such object; look whether somebody, or a rule"
            " of the bucket, deleted it"
        )


class ObjectExistsError(StoreError):
    """An object with this key already exists, and only a new one may be written."""

    code = "STORE_EXISTS"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: there is such an object already, and it stays as it is;"
            " look who else writes to this prefix"
        )


class ObjectChangedError(StoreError):
    """The object was changed by another process since it was read."""

    code = "STORE_CHANGED"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: another writer changed the object meanwhile; look who else"
            " writes to this prefix"
        )


class ObjectColdError(StoreError):
    """The object is in cold storage, and must be thawed before it can be read."""

    code = "STORE_COLD"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: the object lies in a storage class that cannot be read at"
            " once; let it be thawed first (`towpath restore thaw`)"
        )


class StoreRefusedError(StoreError):
    """The store refused the request, and repeating it does not help."""

    code = "STORE_REFUSED"


class StoreFullError(StoreError):
    """The store has no room left, or a quota is used up."""

    code = "STORE_FULL"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: the store has no room left ({self.why}); make room, or"
            " raise its quota"
        )


class StoreAwayError(StoreError):
    """The store gave no usable answer in time."""

    code = "STORE_AWAY"

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.what}: no usable answer in time ({self.why}); look whether the"
            " store runs and can be reached, and at `store.url` and `store.endpoint`"
        )


class StoreLockedError(StoreAwayError):
    """Another process holds the lock of a store folder and makes no progress.

    Args:
        where: The object, as a URL.
        what: What was being done.
        lock: The file of the lock.
        holder: The process that holds it, as it told, "" if nothing is known.
    """

    code = "STORE_LOCKED"

    def __init__(self, where: str, what: str, lock: str, holder: str = "") -> None:
        super().__init__(where, what, lock, holder)
        self.lock, self.holder = lock, holder

    def __str__(self) -> str:
        holder = self.holder or "another process"
        return (
            f"{self.where}: {self.what}: {holder} keeps the lock {self.lock} and does not go on, as"
            f" if it were frozen; let it continue, or end it (`fuser -v {self.lock}` shows it)"
        )
