"""A blocking client for fetch and produce: for the ledger, openings, fills and verification."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.codes import (
    LEADER_NOT_AVAILABLE,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.connection import Connected, connect_to
from towpath.cluster.connect.control import may_pass
from towpath.cluster.connect.retrying import retried
from towpath.cluster.connect.throttling import ThrottledError, throttled
from towpath.cluster.data import fetch as fetching
from towpath.cluster.data import produce as producing
from towpath.cluster.data.fetch import FetchSession
from towpath.cluster.data.fetch_bodies import Fetched, FetchFrom
from towpath.cluster.data.frames import Part, receive, request
from towpath.cluster.data.leaders import Leader, find_leaders
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.foreign import foreign
from towpath.model.nouns import LEDGER, NO_TOPIC_ID, Side, TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")
_AGAIN = BackOff(first=0.1, longest=0.1)
_NAP = 0.1
_MOST, _LEAST, _WINDOW = 1 << 30, 1 << 10, 1 << 16
"""Bytes of an answer: less and less is asked for while a broker has no quota left for it, which
others of the same login use up, too. It sends whole batches, one at least."""
_LONGEST = 600.0
"""Seconds for which a call without `patience` waits: a batch may be larger than a quota ever lets
through."""
_ADVICE = "look whether the broker is up and its network is open"


Once = Callable[[Leader, Connected, Deadline], T | None]
"""Asks a leader once; `None` where it had no quota left for the answer."""


@dataclass(frozen=True, slots=True)
class Records:
    """Record batches of one partition as received, at [start, end) of `data`."""

    data: bytearray
    said: Fetched

    @property
    def buffer(self) -> npt.NDArray[np.uint8]:
        """All of `data` as an array, made on first use so that numpy loads late."""
        import numpy as np  # noqa: PLC0415

        return np.frombuffer(self.data, np.uint8)

    @property
    def batches(self) -> memoryview:
        """The bytes of the batches."""
        return memoryview(self.data)[self.start : self.end]

    @property
    def start(self) -> int:
        """Position of the first byte."""
        return self.said.start

    @property
    def end(self) -> int:
        """Position after the last byte."""
        return self.said.end


class Client:
    """Connections to the leaders of one cluster, made when first needed and again when lost.

    Not for several threads at once; `admin` may be shared.

    Attributes:
        failures: Number of attempts that failed so far. A failed request may still arrive, even
            after the next call.
        throttled: Seconds for which brokers asked us to wait so far, because of quotas.
        patience: Until when calls wait for brokers that throttle us; by default each for ten
            minutes.
    """

    def __init__(self, config: ClusterConfig, side: Side, admin: Admin) -> None:
        self._config = config
        self._side = side
        self._admin = admin
        self._connections: dict[int, Connected] = {}
        self._leaders: dict[TopicPartition, Leader] = {}
        self._muted: dict[int, Deadline] = {}
        self._correlation = 0
        self.failures, self.throttled = 0, 0.0
        self.patience: Deadline | None = None
        self._most = _MOST
        self._closed = False
        self._calling = threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a blocking call in another thread ends with an error."""
        self._closed = True
        for connected in list(self._connections.values()):
            with suppress(OSError):
                # The shutdown of a TLS socket would make a call in another thread read ciphertext.
                socket.socket.shutdown(connected.socket, socket.SHUT_RDWR)
        self._drop()

    def _drop(self) -> None:
        """Close the sockets, unless a call is using one; that call closes them then.

        Its descriptor could belong to another socket by the time that the call waits for it.
        """
        if self._calling.acquire(blocking=False):
            for connected in self._connections.values():
                connected.socket.close()
            self._connections.clear()
            self._calling.release()

    def fetch(
        self,
        tp: TopicPartition,
        offset: int,
        *,
        max_bytes: int,
        wait: float = 0.0,
        committed: bool = False,
    ) -> Records:
        """Fetch whole batches from `offset` on; empty if none arrived within `wait` seconds.

        Raises:
            RefusedError: The leader answered with an error that will not pass, such as
                OFFSET_OUT_OF_RANGE.
            ThrottledError: The leader asks to wait for longer than `patience` has it.
            UnreachableError: No leader answered within the request timeout, or `tls` or `sasl` do
                not fit it.
        """

        def once(leader: Leader, connected: Connected, deadline: Deadline) -> Records | None:
            newest = connected.api_versions[fetching.API][1]
            version = fetching.version_for(newest, ids=leader.topic_id != NO_TOPIC_ID)
            most = min(max_bytes, self._most)
            session = FetchSession(version, max_bytes=most, committed=committed)
            session.want(tp, FetchFrom(offset, most, leader.topic_id))
            body = session.request(int(wait * 1000))
            connected.socket.settimeout(deadline.left() + wait)
            buffer = self._ask(connected, fetching.API, version, body, tags=session.flexible)
            said = (session.response(memoryview(buffer)) or [None])[0]  # type: ignore[list-item]
            self._mute(leader.node, session.throttle)
            if said is None and session.throttle:
                self._most = max(_LEAST, min(most, _WINDOW) // 4)
                return None
            self._most = min(_MOST, 2 * self._most)
            if said is None:
                raise refused(self._side, f"fetching {tp}", UNKNOWN_TOPIC_OR_PARTITION)
            acl = f"Read on topic {tp.topic}"
            self._check(said.error, f"fetching {tp} at {offset}", acl)
            return Records(buffer, said)

        return self._retried(tp, f"fetching {tp}", once, wait)

    def produce(self, tp: TopicPartition, batch: Part, transactional_id: str | None = None) -> int:
        """Append one batch, acknowledged by all in-sync replicas; return its base offset.

        Raises:
            RefusedError: The leader refused it.
            ThrottledError: The leader asks to wait for longer than `patience` has it; the batch was
                not sent, unless `failures` has grown.
            UnreachableError: No leader answered within the request timeout; the batch may have
                been appended all the same.
        """

        def once(leader: Leader, connected: Connected, deadline: Deadline) -> int:
            newest = connected.api_versions[producing.API][1]
            version = producing.NEWEST if newest >= producing.NEWEST else producing.OLDEST
            body = producing.request([(tp, batch)], int(deadline.left() * 1000), transactional_id)
            connected.socket.settimeout(deadline.left() + 1)
            buffer = self._ask(connected, producing.API, version, body)
            answer = producing.response(memoryview(buffer), version)
            self._mute(leader.node, answer.throttle)
            said = answer.batches[0]
            acl = f"Write on topic {tp.topic}"
            self._check(said.error, f"producing to {tp}", acl, said.text, said.records)
            return said.base_offset

        return self._retried(tp, f"producing to {tp}", once)

    def _retried(self, tp: TopicPartition, what: str, once: Once[T], wait: float = 0.0) -> T:
        try:
            with self._calling:
                return self._tried(tp, what, once, wait)
        finally:
            if self._closed:
                self._drop()

    def _tried(self, tp: TopicPartition, what: str, once: Once[T], wait: float) -> T:
        deadline = Deadline.after(self._config.request_timeout)
        patience = self.patience or Deadline.after(_LONGEST)

        def attempt() -> T:
            leader: Leader | None = None
            try:
                leader = self._leader(tp)
                while True:
                    self._wait_unmuted(what, leader.node, deadline, patience)
                    with self._admin.answering.asking(str(leader.broker), wait):
                        found = once(leader, self._connected(leader, deadline), deadline)
                    if found is not None:
                        return found
            except ThrottledError:
                raise
            except (OSError, UnreachableError, RefusedError) as error:
                self._recover(tp, leader, error)
                if isinstance(error, ClusterError):
                    raise
                raise UnreachableError(self._side, what, foreign(error), _ADVICE) from error

        return retried(
            attempt, deadline, _AGAIN, lambda error: not self._closed and may_pass(error)
        )

    def _mute(self, node: int, seconds: float) -> None:
        self._muted[node] = Deadline.after(seconds)
        self.throttled += seconds
        self._admin.throttling.waits(seconds)

    def _wait_unmuted(self, what: str, node: int, deadline: Deadline, patience: Deadline) -> None:
        """Wait until a broker that throttles us reads requests again (KIP-219).

        That time does not count for the deadline.

        Raises:
            ThrottledError: That is beyond `patience`.
        """
        muted, began = self._muted.get(node), time.monotonic()
        if muted is not None and muted.left() > patience.left():
            raise throttled(self._side, what, self.throttled)
        self._muted.pop(node, None)
        while muted is not None and not muted.over and not self._closed:
            time.sleep(min(_NAP, muted.left()))
        deadline.put_off(time.monotonic() - began)

    def _recover(self, tp: TopicPartition, leader: Leader | None, error: Exception) -> None:
        self.failures += 1
        self._leaders.pop(tp, None)
        if leader is not None and not isinstance(error, RefusedError):
            self._muted.pop(leader.node, None)  # the broker mutes connections, not clients
            with suppress(KeyError):
                self._connections.pop(leader.node).socket.close()

    def _leader(self, tp: TopicPartition) -> Leader:
        leader = self._leaders.get(tp) or find_leaders(self._admin, [tp]).get(tp)
        if leader is None:
            if tp.topic == LEDGER:
                self._admin.topics.require_ledger()
            self._admin.topics.find(tp.topic)  # it raises what the broker says of the topic
            what = f"looking for the leader of {tp}"
            raise refused(self._side, what, LEADER_NOT_AVAILABLE)
        self._leaders[tp] = leader
        return leader

    def _connected(self, leader: Leader, deadline: Deadline) -> Connected:
        connected = self._connections.get(leader.node)
        if connected is not None and connected.expired:
            connected.socket.close()
            connected = None
        if connected is None:
            connected = connect_to(self._config, self._admin.identity, leader.broker, deadline)
            self._connections[leader.node] = connected
            if self._closed:  # by another thread, while we connected
                raise ConnectionError("the client was closed")
        return connected

    def _ask(
        self, connected: Connected, api: int, version: int, body: list[Part], *, tags: bool = False
    ) -> bytearray:
        self._correlation = self._correlation + 1 & 0x7FFFFFFF
        for part in request(api, version, self._correlation, body, tags=tags):
            connected.socket.sendall(part)
        size = int.from_bytes(_receive(connected, 4), "big")
        return _receive(connected, size)

    def _check(
        self, error: int, what: str, acl: str, text: str = "", records: tuple[int, ...] = ()
    ) -> None:
        if error:
            acl = acl if error == TOPIC_AUTHORIZATION_FAILED else ""
            raise refused(self._side, what, error, text, acl, records=records)


def _receive(connected: Connected, size: int) -> bytearray:
    buffer = bytearray(size)
    receive(connected.socket, memoryview(buffer), connected.socket.gettimeout)
    return buffer
