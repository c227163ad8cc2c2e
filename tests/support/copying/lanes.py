"""Lanes without brokers: answers come when the test says so, so that any timing can be had."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.logs.batches import batch, numbered
from towpath.cluster.data import fetch as fetching
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.fetch_bodies import BY_NAME, Fetched
from towpath.cluster.data.leaders import Leader
from towpath.cluster.metadata import Broker
from towpath.model.nouns import (
    NO_TOPIC_ID,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.lane.lane import Lane
from towpath.records.source.fetcher import Fetcher
from towpath.records.source.resting import RestingFetcher
from towpath.records.standing import Position, Standing
from towpath.records.work import Assignment
from towpath.settings import ClusterConfig
from towpath.wire.batch import CONTROL, TRANSACTIONAL
from towpath.wire.plain import Record

NODE = 1
PRODUCER = ProducerId(1 << 40)
ABORT = Record(b"\0\0\0\0", b"\0" * 6)
COMMIT = Record(b"\0\0\0\1", b"\0" * 6)


def tp(partition: int = 0, topic: str = "orders") -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


def lane(partition: int = 0, at: int = 0, *, end: int | None = None, topic: str = "orders") -> Lane:
    """Return a lane that begins at `at`."""
    work = Assignment(
        source=tp(partition, topic),
        target=tp(partition, topic),
        source_id=NO_TOPIC_ID,
        target_id=NO_TOPIC_ID,
        producer_id=PRODUCER,
        filler_id=ProducerId(7),
        start=SourceOffset(0),
        end=None if end is None else SourceOffset(end),
    )
    return Lane(work, standing(at))


def standing(at: int = 0) -> Standing:
    return Standing(
        position=Position(SourceOffset(at), TargetOffset(at), at),
        mode=Mode.IDENTICAL,
        reasons=(),
        run=(SourceOffset(0), TargetOffset(0), at),
    )


def plain(base: int, count: int = 1, *, size: int = 10) -> bytearray:
    """Return a batch of `count` records from offset `base` on."""
    return batch(numbered([Record(b"k", b"v" * size)] * count, base))


def in_transaction(base: int, producer: int) -> bytearray:
    """Return a batch of one record in a transaction."""
    records = numbered([Record(b"k", b"v")], base)
    return batch(records, attributes=TRANSACTIONAL, producer_id=producer)


def marker(base: int, producer: int, record: Record) -> bytearray:
    """Return the marker that ends a transaction."""
    attributes = TRANSACTIONAL | CONTROL
    return batch(numbered([record], base), attributes=attributes, producer_id=producer)


def damaged(data: bytearray) -> bytearray:
    """Return a batch whose last byte is another one."""
    return data[:-1] + bytes([data[-1] ^ 0xFF])


def took(to: Lane, *batches: bytes | bytearray) -> None:
    """Let a lane take in a response of some batches."""
    data = b"".join(batches)
    frame = BufferPool(1 << 30).adopt(np.frombuffer(bytearray(data), np.uint8))
    to.take(frame, 0, len(data))


@dataclass
class Part:
    """What a response says of one partition."""

    partition: int
    batches: Sequence[bytes | bytearray] = ()
    error: int = 0
    aborted: Sequence[tuple[int, int]] = ()


class StandInReactor:
    """Timers and jobs that wait until the test lets them go."""

    def __init__(self) -> None:
        self.timers: list[Callable[[], None]] = []
        self.jobs: list[tuple[Callable[[], Any], Callable[[Future[Any]], None]]] = []

    def later(self, _seconds: float, call: Callable[[], None]) -> None:
        self.timers.append(call)

    def run(
        self, work: Callable[[], Any], then: Callable[[Future[Any]], None], _pool: object = None
    ) -> None:
        self.jobs.append((work, then))

    def ring(self) -> None:
        """Let all timers go that were set so far."""
        due, self.timers = self.timers, []
        for call in due:
            call()

    def finish(self, answer: Any) -> None:
        """End the oldest job with an answer of the test, or with an error."""
        future: Future[Any] = Future()
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        self.jobs.pop(0)[1](future)


@dataclass
class StandInChannel:
    """A channel that keeps the callback of each request."""

    versions: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {fetching.API: (4, BY_NAME)}
    )
    asked: list[Callable[[Frame], None]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    """Milliseconds that each request lets the broker wait."""
    closed: bool = False
    pool: BufferPool = field(default_factory=lambda: BufferPool(1 << 30))

    def send(
        self,
        _api: int,
        _version: int,
        body: Sequence[bytes],
        answer: Callable[[Frame], None],
        *,
        tags: bool,
    ) -> None:
        del tags
        self.waits.append(int.from_bytes(body[0][4:8], "big"))
        self.asked.append(answer)

    def mute(self, seconds: float) -> None:
        """Send nothing for so long; the answers here never ask for it."""
        assert not seconds

    def answer(self, *parts: Part) -> None:
        """Answer the oldest request."""
        data = response(parts)
        frame = self.pool.frame(len(data))
        frame.view[:] = data
        self.asked.pop(0)(frame)
        frame.release()


class StandInNodes:
    """One node that leads everything, and is there."""

    def __init__(self, channel: StandInChannel) -> None:
        self._channel = channel

    def leader(self, _tp: TopicPartition) -> Leader:
        return Leader(Broker(NODE, "host", 1), TopicId(NO_TOPIC_ID))

    def channel(self, _node: int) -> StandInChannel:
        return self._channel

    def look_up(self, _tps: object, _after: float = 0.0) -> None:
        pass


def fetcher(
    reactor: StandInReactor,
    on_data: Callable[[Lane, Frame, Fetched], None],
    rack: str = "",
    memory: int = 64 << 20,
) -> tuple[Fetcher[Lane], StandInChannel]:
    """Return a fetcher and the channel to its only node."""
    pool = BufferPool(memory)
    made = Fetcher[Lane](
        reactor, ClusterConfig(bootstrap=("host:1",), rack=rack or None), None, pool,  # type: ignore[arg-type]  # stand-ins
        share=1 << 20, on_data=on_data, on_trouble=lambda *_: None,
    )  # fmt: skip
    return made, stand_in_node(made)


def resting_fetcher(
    reactor: StandInReactor, on_data: Callable[[Lane, Frame, Fetched], None]
) -> tuple[RestingFetcher[Lane], StandInChannel, StandInChannel]:
    """Return a fetcher, and the channels of its two sessions with the only node."""
    made = RestingFetcher[Lane](
        reactor, ClusterConfig(bootstrap=("host:1",)), None, BufferPool(64 << 20),  # type: ignore[arg-type]  # stand-ins
        share=1 << 20, on_data=on_data, on_trouble=lambda *_: None,
    )  # fmt: skip
    return made, stand_in_node(made), stand_in_node(made._resting)


def stand_in_node(made: Fetcher[Lane]) -> StandInChannel:
    """Let a fetcher have one node, and return the channel to it."""
    channel = StandInChannel(pool=made.budget.pool)
    made._serving.nodes = StandInNodes(channel)  # type: ignore[assignment]  # a stand-in
    made._serving.opened(NODE)
    return channel


def response(parts: Sequence[Part]) -> bytes:
    """Return a response to Fetch v11, from its correlation id on."""
    out = struct.pack(">iihii", 0, 0, 0, 1, 1) + struct.pack(">h", 6) + b"orders"
    out += struct.pack(">i", len(parts))
    for part in parts:
        data = b"".join(part.batches)
        out += struct.pack(">ihqqqi", part.partition, part.error, 0, 0, 0, len(part.aborted))
        out += b"".join(struct.pack(">qq", *pair) for pair in part.aborted)
        out += struct.pack(">ii", -1, len(data)) + data
    return out
