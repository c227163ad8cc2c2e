"""Reading of many znodes; unexpected contents are recorded, never silently skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from towpath.kraft.errors import ZnodeUnknownError
from towpath.kraft.facts.seen import Oddity, OddZnode
from towpath.kraft.zookeeper.forms import FormError
from towpath.kraft.zookeeper.session import Forbidden, Znode, ZooKeeperSession
from towpath.runtime.deadline import Deadline

_WHAT = "reading the cluster's metadata"
_T = TypeVar("_T")
_Key = TypeVar("_Key")


BROKERS, TOPICS = "/brokers/ids", "/brokers/topics"


def state_path(topic: str, partition: int) -> str:
    """Return the path of the state of a partition."""
    return f"{TOPICS}/{topic}/partitions/{partition}/state"


class ZnodeReading:
    """Reads znodes in one pass over ZooKeeper, and collects oddities."""

    def __init__(self, session: ZooKeeperSession, deadline: Deadline) -> None:
        self._session, self._deadline = session, deadline
        self.odd: list[OddZnode] = []

    def note(self, path: str, oddity: Oddity, why: str) -> None:
        """Record an oddity of a znode."""
        self.odd.append(OddZnode(path, oddity, why))

    def children(self, path: str) -> list[str]:
        """Return the sorted names of a znode's children; none without the znode."""
        return self.all_children([path]).get(path, [])

    def all_children(self, paths: Iterable[str]) -> Mapping[str, list[str]]:
        """Return the sorted children of many znodes; missing znodes are left out."""
        found: dict[str, list[str]] = {}
        for path, told in self._read(paths, children=True):
            if isinstance(told, Forbidden):
                self._forbidden(path)
            elif isinstance(told, list):
                found[path] = sorted(told)
        return found

    def znodes(self, paths: Iterable[str]) -> Mapping[str, Znode]:
        """Read many znodes; missing ones are left out."""
        found: dict[str, Znode] = {}
        for path, told in self._read(paths):
            if isinstance(told, Forbidden):
                self._forbidden(path)
            elif isinstance(told, Znode):
                found[path] = told
        return found

    def values(
        self, paths: Mapping[_Key, str], form: Callable[[bytes | None], _T]
    ) -> dict[_Key, _T]:
        """Read znodes as parsed values; missing and malformed ones are left out.

        Args:
            paths: The paths, by whatever names the values.
            form: Reads a content; raises `FormError`.
        """
        znodes = self.znodes(paths.values())
        found: dict[_Key, _T] = {}
        for key, path in paths.items():
            if path in znodes:
                self.keep(found, key, path, partial(form, znodes[path].data))
        return found

    def keep(self, found: dict[_Key, _T], key: _Key, path: str, make: Callable[[], _T]) -> None:
        """Put a parsed value into `found`, or record that its znode is malformed."""
        try:
            found[key] = make()
        except FormError as error:
            self.note(path, Oddity.UNKNOWN_FORM, str(error))

    def needed(self, path: str, form: Callable[[Znode], _T]) -> _T | None:
        """Read and parse a znode that decides the next step, `None` if it is missing.

        Raises:
            ZnodeUnknownError: It is of no known form.
            ZooKeeperDeniedError: The login may not read it.
        """
        told = self._session.one(_WHAT, path, self._deadline)
        if told is None:
            return None
        try:
            return form(told)
        except FormError as error:
            raise ZnodeUnknownError(
                self._session.servers, f"reading {path}", str(error), "look at it before anything"
            ) from None

    def _read(
        self, paths: Iterable[str], *, children: bool = False
    ) -> Iterable[tuple[str, object]]:
        return self._session.read(_WHAT, list(paths), self._deadline, children=children)

    def _forbidden(self, path: str) -> None:
        self.note(path, Oddity.FORBIDDEN, "the login may not read it")
