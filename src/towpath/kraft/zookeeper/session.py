"""A session with ZooKeeper in which every request has a deadline.

kazoo's plain calls block for ever while the connection is lost, and it tells a lost connection
apart from an ended session only by its state; here both are errors, or are tried again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    NoNodeError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from towpath.kraft.config.file import ZooKeeperConfig
from towpath.kraft.errors import ZooKeeperAwayError, ZooKeeperDeniedError, ZooKeeperError
from towpath.kraft.zookeeper.sockets import Sockets, client
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline

_WINDOW = 400
"""Requests in flight at once; a server refuses to read on behind 1,000 of all clients together."""

_CLOSE_SECONDS = 2.0

_LOST = (ConnectionLoss, SessionExpiredError)
"""What ends a request whose answer is not known: reads are repeated, writes are looked at."""


class LostError(Exception):
    """The connection was lost during a request, which may or may not have been executed."""


@dataclass(frozen=True, slots=True)
class Znode:
    """The content and metadata of a znode.

    Attributes:
        data: Its content, None for null.
        version: How often its content was replaced.
        owner: The session that it ends with; 0 for a znode that stays.
        created: The transaction that created it.
    """

    data: bytes | None
    version: int
    owner: int
    created: int


@dataclass(frozen=True, slots=True)
class Forbidden:
    """The result for a znode that the login may not read."""


Answer = Znode | list[str] | Forbidden | None
"""A znode, its children, or None where there is no such znode."""


class ZooKeeperSession:
    """One ZooKeeper session. Paths are Kafka's; the file's chroot is put before them."""

    def __init__(self, config: ZooKeeperConfig) -> None:
        hosts, slash, path = config.connect.partition("/")
        self.servers = ",".join(each.strip() for each in hosts.split(","))
        self._root = (slash + path).rstrip("/")
        self._config = config
        self._client: KazooClient | None = None
        self._sockets: Sockets | None = None

    def open(self, deadline: Deadline) -> Self:
        """Open the session.

        Raises:
            ZooKeeperAwayError: No server opened one in time.
            ZooKeeperDeniedError: The login is refused.
        """
        self._client, self._sockets = client(self._config, self.servers)
        connected = self._client.start_async()
        connected.wait(deadline.left())
        try:
            # The login comes behind the session, so one request must pass.
            self.call("opening a session", lambda made: made.exists_async("/"), deadline)
        except ZooKeeperError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End the session and its ephemeral znodes. Takes at most two seconds."""
        made, self._client = self._client, None
        if made is None or self._sockets is None:
            return
        ending = threading.Thread(target=_end, args=(made,), daemon=True)
        ending.start()
        ending.join(_CLOSE_SECONDS / 2)
        if ending.is_alive():  # it waits for a server that does not answer
            self._sockets.cut()
            ending.join(_CLOSE_SECONDS / 2)

    def path(self, path: str) -> str:
        """Return the full path of a znode."""
        return f"{self._root}{path}" or "/"

    @property
    def id(self) -> int | None:
        """The number of the session, `None` if it is not open."""
        told = self._made.client_id
        return told[0] if told else None

    @property
    def logged_in(self) -> bool:
        """Whether the session has a login, which can own znodes."""
        return self._config.username is not None

    @property
    def position(self) -> int:
        """The newest transaction id of ZooKeeper that an answer has named."""
        return int(self._made.last_zxid)

    def call(self, what: str, request: Callable[[KazooClient], Any], deadline: Deadline) -> Any:
        """Execute a repeatable request, repeating it until it is answered.

        Args:
            what: What is being done, for errors.
            request: Starts it; returns kazoo's `IAsyncResult`.
            deadline: When to give up.

        Raises:
            ZooKeeperAwayError: It was not answered in time.
            ZooKeeperDeniedError: The login is refused.
            KazooException: What ZooKeeper answered.
        """
        while True:
            try:
                return self.once(what, request, deadline)
            except LostError:
                self._pause(what, deadline)

    def once(self, what: str, request: Callable[[KazooClient], Any], deadline: Deadline) -> Any:
        """Execute a request once.

        Raises:
            LostError: The connection was lost before it was answered.
            ZooKeeperAwayError: It was not answered in time.
            ZooKeeperDeniedError: The login is refused.
            KazooException: What ZooKeeper answered.
        """
        return self._answered(what, request(self._made), deadline)

    def read(
        self,
        what: str,
        paths: Sequence[str],
        deadline: Deadline,
        *,
        children: bool = False,
        whole: bool = False,
    ) -> Iterator[tuple[str, Answer]]:
        """Read many znodes, with many requests in flight.

        Args:
            what: What is being read, for errors.
            paths: Their paths.
            deadline: When to give up.
            children: Read the names of their children instead.
            whole: Whether they are whole paths, which may lie outside of the cluster.

        Yields:
            Each path and what was answered, in the order of `paths`.

        Raises:
            ZooKeeperAwayError: Not all were answered in time.
            ZooKeeperDeniedError: The login is refused.
            ZooKeeperError: ZooKeeper answered with another error.
        """
        for start in range(0, len(paths), _WINDOW):
            part = paths[start : start + _WINDOW]
            at = dict(zip(part, part if whole else map(self.path, part), strict=True))
            asked = [self._asked(at[path], children=children) for path in part]
            # Answers come in order: being woken for the last alone leaves kazoo's thread its time.
            asked[-1].wait(deadline.left())
            for path, pending in zip(part, asked, strict=True):
                yield path, self._read(what, at[path], pending, deadline, children=children)

    def one(self, what: str, path: str, deadline: Deadline) -> Znode | None:
        """Read one znode that decides the next step, `None` if it is missing.

        Raises:
            ZooKeeperAwayError: It was not answered in time.
            ZooKeeperDeniedError: The login is refused, or may not read it.
            ZooKeeperError: ZooKeeper answered with another error.
        """
        told = next(self.read(what, [path], deadline))[1]
        if isinstance(told, Forbidden):
            raise self.error(f"reading {path}", NoAuthError())
        return told if isinstance(told, Znode) else None

    def _asked(self, path: str, *, children: bool) -> Any:
        made = self._made
        return made.get_children_async(path) if children else made.get_async(path)

    def _read(
        self, what: str, path: str, pending: Any, deadline: Deadline, *, children: bool
    ) -> Answer:
        while True:
            try:
                return _answer(self._answered(what, pending, deadline))
            except LostError:
                self._pause(what, deadline)
                pending = self._asked(path, children=children)
            except NoNodeError:
                return None
            except NoAuthError:
                return Forbidden()
            except KazooException as error:
                raise self.error(f"reading {path}", error) from None

    def _answered(self, what: str, pending: Any, deadline: Deadline) -> Any:
        try:
            return pending.get(timeout=deadline.left())
        except AuthFailedError:
            raise self._denied(what) from None
        except KazooTimeoutError:
            raise self.away(what) from None
        except _LOST:
            raise LostError from None

    def _pause(self, what: str, deadline: Deadline) -> None:
        """Wait before a repetition; a session that has ended is opened again by kazoo itself."""
        if self._sockets and self._sockets.denied:
            raise self._denied(what)
        if deadline.over:
            raise self.away(what)
        threading.Event().wait(min(0.05, deadline.left()))

    def error(self, what: str, error: Exception) -> ZooKeeperError:
        """Convert an error of kazoo into an error of Towpath."""
        if isinstance(error, NoAuthError):
            advice = "give the login that the brokers have (`zookeeper.username`)"
            return ZooKeeperDeniedError(self.servers, what, "the login may not do that", advice)
        return ZooKeeperError(self.servers, what, foreign(error) or type(error).__name__)

    def _denied(self, what: str) -> ZooKeeperDeniedError:
        return ZooKeeperDeniedError(
            self.servers,
            what,
            "the login was refused",
            "look at `zookeeper.username` and `zookeeper.password`, and at the JAAS file of the"
            " servers",
        )

    def away(self, what: str) -> ZooKeeperAwayError:
        """Return the error for a request without an answer in time."""
        why = self._sockets.trouble if self._sockets and not self._made.connected else ""
        return ZooKeeperAwayError(
            self.servers,
            what,
            f"no answer in time{f' ({why})' if why else ''}",
            "look whether most of its servers run, and whether `zookeeper.connect` and"
            " `zookeeper.tls` belong to the same port",
        )

    @property
    def _made(self) -> KazooClient:
        if self._client is None:
            raise ZooKeeperAwayError(self.servers, "a request", "the session is closed")
        return self._client


def _answer(told: Any) -> Answer:
    if isinstance(told, list):
        return told
    data, stat = told
    return Znode(data, stat.version, stat.ephemeralOwner or 0, stat.czxid)


def _end(made: KazooClient) -> None:
    with suppress(KazooException, OSError, KazooTimeoutError):
        made.stop()
        made.close()
