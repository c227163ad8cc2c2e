"""A reader that writes nothing to Kafka: it stores records as an archive would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.data.buffers import BufferPool, Frame
from towpath.cluster.data.reactor import Reactor
from towpath.model.errors import CorruptBatchError, TowpathError
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.epochs import EpochStarts
from towpath.records.jobs import Jobs
from towpath.records.source.events import SourceEvents
from towpath.records.source.reopening import Reopening
from towpath.records.source.side import SourceSide
from towpath.records.source.trouble import SourceLoss
from towpath.records.trouble import hopeless
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig
from towpath.wire import batch as wire
from towpath.wire.plain import decode


@dataclass(eq=False)
class Collector:
    """One partition on its way into `stored`: offsets and values.

    Attributes:
        spoil: How many of the next responses come damaged.
    """

    source: TopicPartition
    source_id: TopicId
    begins_later: bool = False
    has_end: bool = False
    expected: SourceOffset = SourceOffset(0)
    fetch_epoch: int = -1
    read: list[tuple[int, bytes | None]] = field(default_factory=list)
    stored: list[tuple[int, bytes | None]] = field(default_factory=list)
    spoil: int = 0
    damaged: SourceOffset | None = None
    trouble: Reason | None = None
    stopped: bool = False
    busy: bool = False
    openings: int = 0
    failures: int = 0
    looks: int = 0
    epochs: EpochStarts = field(default_factory=EpochStarts)

    def taken_after(self, epoch: int) -> SourceOffset:
        return SourceOffset(self.epochs.after(epoch, self.expected))

    @property
    def held(self) -> int:
        return sum(len(value or b"") for _, value in self.read)

    @property
    def pending(self) -> bool:
        return bool(self.read)

    def take(self, frame: Frame, start: int, end: int, _aborted: Sequence[tuple[int, int]]) -> None:
        data = bytearray(frame.view[start:end])
        if self.spoil and data:
            self.spoil -= 1
            data[-1] ^= 0xFF
        table = wire.scan(np.frombuffer(data, np.uint8), 0, len(data))
        self.epochs.saw(table)
        for row in table.tolist():
            batch = data[row[wire.POSITION] : row[wire.POSITION] + row[wire.LENGTH]]
            try:
                records = decode(batch)
            except CorruptBatchError:
                self.damaged = SourceOffset(row[wire.BASE])
                return
            self.read += [(r.offset, r.value) for r in records if r.offset >= self.expected]
            self.expected, self.fetch_epoch = (
                SourceOffset(row[wire.LAST] + 1),
                row[wire.LEADER_EPOCH],
            )
        self.trouble, self.failures = None, 0

    def look(self, _offset: SourceOffset) -> int:
        self.looks += 1
        return self.looks

    def hinder(self, _side: Side, why: Reason) -> None:
        self.trouble = why

    def relieve(self, _side: Side) -> None:
        self.trouble = None

    def jump(self, source: SourceOffset, _why: Reason) -> None:
        self.expected, self.fetch_epoch = source, -1
        self.epochs.forget()

    def end(self, why: Reason) -> None:
        self.stop(why)

    def stop(self, why: Reason) -> None:
        self.trouble, self.stopped = why, True


class Collecting(SourceEvents[Collector]):
    """Collectors of one cluster, and everything that serves them."""

    def __init__(self, config: ClusterConfig, admin: Admin, *, stop_on_gap: bool) -> None:
        self.reactor = Reactor()
        self.gaps: list[tuple[int, int, Reason, bool]] = []
        self.troubles: list[Reason] = []
        self._admin, self._stop_on_gap = admin, stop_on_gap
        jobs = Jobs(self.reactor)
        self.side = SourceSide[Collector](
            self.reactor, config, admin, BufferPool(16 << 20), jobs, self, share=1 << 20
        )
        self.reopening = Reopening[Collector, SourceOffset](
            jobs, self.side.fetcher, ask=self._ask, leave=lambda _: None, begin=self._begin,
            given_up=lambda reader, error: hopeless(error, reader.failures, has_end=reader.has_end),
        )  # fmt: skip

    def collector(self, topic: str, *, begins_later: bool = False) -> Collector:
        """Return a collector of the first partition of a topic, from offset 0 on."""
        name = TopicName(topic)
        made = Collector(
            TopicPartition(name, 0), self._admin.topics.describe([name])[name].id, begins_later
        )
        self.side.fetcher.add(made)
        return made

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Go on until something is so."""
        patience = Deadline.after(30)
        while not condition():
            assert not patience.over, f"not within 30 s: {what}"
            self.reactor.turn(0.05)
            self.side.fetcher.refill()

    def stops_on_gap(self, reader: Collector) -> bool:
        del reader
        return self._stop_on_gap

    def taken(self, reader: Collector) -> None:
        if reader.trouble is not None:
            self.troubles.append(reader.trouble)
        if reader.damaged is not None:
            offset, reader.damaged = reader.damaged, None
            self.reopening.fetch_anew(reader, SourceOffset(offset), "its checksum is wrong")
            return
        reader.stored += reader.read
        reader.read.clear()
        self.side.fetcher.room(reader)

    def stopped(self, reader: Collector, why: Reason) -> None:
        self.reopening.stop(reader, why)

    def gap(self, reader: Collector, lost: SourceLoss, *, goes_on: bool) -> None:
        del reader
        self.gaps.append((lost.first, lost.end, lost.why, goes_on))

    def begins_later(self, reader: Collector, start: SourceOffset) -> None:
        self._begin(reader, start)

    def _ask(self, readers: Sequence[Collector]) -> Mapping[Collector, SourceOffset | TowpathError]:
        return {r: SourceOffset(r.stored[-1][0] + 1 if r.stored else 0) for r in readers}

    def _begin(self, reader: Collector, offset: SourceOffset) -> None:
        reader.read.clear()
        reader.expected, reader.fetch_epoch = offset, -1
        self.side.fetcher.add(reader)


@contextmanager
def collecting(addresses: tuple[str, ...], *, stop_on_gap: bool = False) -> Iterator[Collecting]:
    """Return what collects records of a cluster."""
    config = ClusterConfig(bootstrap=addresses)
    with ExitStack() as stack:
        admin = stack.enter_context(Admin(config, Side.SOURCE))
        made = Collecting(config, admin, stop_on_gap=stop_on_gap)
        stack.callback(made.reactor.close)
        stack.callback(made.side.fetcher.nodes.close)
        yield made
