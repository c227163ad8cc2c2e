"""A transactional producer that knows just what fills need: begin on one partition, end.

Request versions are the oldest ones, which every broker from 0.11 to 4.x takes (KIP-98, KIP-896).
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from towpath.cluster.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NETWORK_EXCEPTION,
    NOT_COORDINATOR,
    code,
    refused,
)
from towpath.cluster.connection import Connected, connect, connect_to
from towpath.cluster.frames import Reader, receive, request, string
from towpath.cluster.metadata import Broker
from towpath.config import ClusterConfig
from towpath.model.deadline import Deadline
from towpath.model.nouns import Side, TopicPartition

_FIND_COORDINATOR, _INIT_PRODUCER, _ADD_PARTITIONS, _END = 10, 22, 24, 26
_TIMEOUT_MS = 60_000
_PAUSE = 0.02
_MOVED = frozenset(
    {NETWORK_EXCEPTION, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}
)
"""The coordinator is away, loading, unknown, or elsewhere: look for it again."""


@dataclass(frozen=True, slots=True)
class ProducerEpoch:
    """The identity that InitProducerId gave."""

    producer_id: int
    epoch: int


class Transactions:
    """The transactions of one transactional id on the target; blocking, for one thread.

    `fence` keeps every earlier user of the id out, and ends what it left open.
    """

    def __init__(
        self, config: ClusterConfig, transactional_id: str, bootstrap: tuple[str, int]
    ) -> None:
        self._config = config
        self.transactional_id = transactional_id
        self._bootstrap = bootstrap
        self._connected: Connected | None = None
        self._correlation = 0

    def close(self) -> None:
        """Close the connection."""
        if self._connected is not None:
            self._connected.socket.close()
            self._connected = None

    def fence(self, deadline: Deadline) -> ProducerEpoch:
        """Become the only user of the id; an open transaction of an earlier one is aborted."""
        body = string(self.transactional_id) + struct.pack(">i", _TIMEOUT_MS)
        reader = self._ask(_INIT_PRODUCER, body, "starting transactions", deadline, error_at=4)
        return ProducerEpoch(reader.int64(), reader.int16())

    def add(self, who: ProducerEpoch, tp: TopicPartition, deadline: Deadline) -> None:
        """Make `tp` part of the transaction."""
        body = string(self.transactional_id) + struct.pack(">qhi", who.producer_id, who.epoch, 1)
        body += string(tp.topic) + struct.pack(">ii", 1, tp.partition)
        error_at = 4 + 4 + 2 + len(tp.topic.encode()) + 4 + 4
        self._ask(_ADD_PARTITIONS, body, f"adding {tp} to a transaction", deadline, error_at)

    def end(self, who: ProducerEpoch, deadline: Deadline, *, commit: bool) -> None:
        """Commit or abort; the marker reaches the partition soon after."""
        body = string(self.transactional_id) + struct.pack(
            ">qhb", who.producer_id, who.epoch, commit
        )
        self._ask(_END, body, "ending a transaction", deadline, error_at=4)

    def _ask(self, api: int, body: bytes, what: str, deadline: Deadline, error_at: int) -> Reader:
        """Ask the coordinator until it has an answer that time will not change."""
        while True:
            said = code(0)
            try:
                reader = self._exchange(self._coordinator(deadline), api, 0, body, deadline)
                reader.at += error_at
                said = code(reader.int16())
                if said.number == 0:
                    return reader
            except OSError:
                said = code(NETWORK_EXCEPTION)
            if said.number in _MOVED:
                self.close()
            if deadline.over or not said.retriable:
                raise refused(Side.TARGET, what, said.number)
            time.sleep(_PAUSE)

    def _coordinator(self, deadline: Deadline) -> Connected:
        if self._connected is not None and self._connected.expired:
            self.close()
        if self._connected is None:
            first = connect(self._config, Side.TARGET, *self._bootstrap, deadline)
            with first.socket:
                coordinator = self._find(first, deadline)
            self._connected = connect_to(self._config, Side.TARGET, coordinator, deadline)
        return self._connected

    def _find(self, connected: Connected, deadline: Deadline) -> Broker:
        while True:
            body = string(self.transactional_id) + b"\x01"
            reader = self._exchange(connected, _FIND_COORDINATOR, 1, body, deadline)
            reader.int32()
            said = code(reader.int16())
            reader.string()
            if said.number == 0:
                return Broker(reader.int32(), reader.string(), reader.int32())
            if deadline.over or not said.retriable:
                what = f"looking for the coordinator of transactional id {self.transactional_id}"
                raise refused(Side.TARGET, what, said.number)
            time.sleep(_PAUSE)

    def _exchange(
        self, connected: Connected, api: int, version: int, body: bytes, deadline: Deadline
    ) -> Reader:
        self._correlation += 1
        connected.socket.settimeout(max(0.1, deadline.left()))
        parts = request(api, version, self._correlation, [body], tags=False)
        connected.socket.sendall(b"".join(parts))
        size = int.from_bytes(_exactly(connected, 4, deadline), "big")
        return Reader(memoryview(_exactly(connected, size, deadline)), 4)


def _exactly(connected: Connected, size: int, deadline: Deadline) -> bytes:
    data = bytearray(size)
    receive(connected.socket, memoryview(data), lambda: max(0.1, deadline.left()))
    return bytes(data)
