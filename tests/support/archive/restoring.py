"""A partition of the target that gets archived records, by the slices of a restore."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from tests.support.archive.archived import Archived
from tests.support.kafka import Record as Seen
from tests.support.kafka import create_topic
from tests.support.logs.batches import at_offsets
from towpath.archive.read.feed.feed import SupplyFeed
from towpath.archive.read.feed.late_parts import LateParts, LatePolicy
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import PartitionBooks
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.ledger.producers import producer_id
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Side,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.copy import land
from towpath.records.landing.landing import Landing
from towpath.records.session import LinkSession
from towpath.records.work import Assignment, Slice, Summary
from towpath.settings import ClusterConfig, OffsetsPolicy
from towpath.wire.plain import Record

ARCHIVED = TopicId("9f2d1c4e-0000-0000-0000-000000000001")
RESTORE = "restore"
FOR_EVER = {"retention.ms": "-1"}
DAY_MS = 86_400_000
LATE = LatePolicy(retries=2, seconds=0.3)


@dataclass
class Restoring:
    """Partitions of one topic on the target, and what is archived of each."""

    target: LocalCluster
    topic: str
    supplies: Mapping[int, Archived]
    start: int = 0
    late: LatePolicy = LATE
    offsets: OffsetsPolicy = OffsetsPolicy.AUTO
    fill: int = 1000
    memory: int = 96 << 20
    timeout: str = "30s"
    feeds: list[SupplyFeed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.link = LinkName(self.topic)
        create_topic(self.target.bootstrap, self.topic, len(self.supplies), FOR_EVER)

    @property
    def config(self) -> ClusterConfig:
        data = {"bootstrap": self.target.addresses, "request_timeout": self.timeout}
        return ClusterConfig.model_validate(data)

    def run(self, *, settled: bool = True) -> list[Summary]:
        """Restore all; return what came of each partition."""
        return list(land(self.work(settled=settled), self.feed))

    def run_driven(self) -> list[Summary]:
        """Restore all, with a driver: without one, a slice ends after half a minute."""
        with self._admin() as admin:
            session = LinkSession(self.link, self.config, admin, RESTORE)
            session.start()
            try:
                work = replace(self.work(settled=False), run_id=session.run_id)
                return list(land(work, self.feed))
            finally:
                session.close()

    def feed(self, landing: Landing) -> SupplyFeed:
        made = SupplyFeed(
            landing, lambda lane: self.supplies[lane.source.partition], LateParts(self.late)
        )
        self.feeds.append(made)
        return made

    def work(self, *, settled: bool = True) -> Slice:
        with self._admin() as admin:
            with Client(self.config, Side.TARGET, admin) as client:
                Ledger(admin, client).create()
            topic_id = admin.topics.describe([TopicName(self.topic)])[TopicName(self.topic)].id
        return Slice(
            link=self.link,
            target=self.config,
            assignments=tuple(self._assignment(n, topic_id) for n in self.supplies),
            run_id=new_name(),
            round=1,
            seconds=float("inf"),
            offsets=self.offsets,
            memory=self.memory,
            settled=settled,
            target_memory_ms=DAY_MS,
            kind=RESTORE,
        )

    def _assignment(self, number: int, topic_id: TopicId) -> Assignment:
        tp = TopicPartition(TopicName(self.topic), number)
        ids = self.link, ClusterId("archived"), ARCHIVED, topic_id, tp
        return Assignment(
            source=tp,
            target=tp,
            source_id=ARCHIVED,
            target_id=topic_id,
            producer_id=producer_id(*ids),
            filler_id=producer_id(*ids, purpose="filler"),
            marker_id=producer_id(*ids, purpose="marker"),
            start=SourceOffset(self.start),
            end=SourceOffset(self.supplies[number].end),
            fill=self.fill,
        )

    def books(self, partition: int = 0) -> PartitionBooks:
        """Return what the ledger knows of a partition."""
        with self._admin() as admin, Client(self.config, Side.TARGET, admin) as client:
            tp = TopicPartition(TopicName(self.topic), partition)
            return Ledger(admin, client).books(self.link).of(tp)

    @contextmanager
    def _admin(self) -> Iterator[Admin]:
        with ExitStack() as stack:
            yield stack.enter_context(Admin(self.config, Side.TARGET))


def seen(records: Sequence[Record], partition: int = 0) -> list[Seen]:
    """Return records as a consumer sees them."""
    return [
        Seen(
            r.key,
            r.value,
            tuple((name.decode(), value) for name, value in r.headers),
            r.timestamp,
            r.offset,
            partition,
        )
        for r in records
    ]


def drawn(rng: random.Random, count: int, time: int, *, start: int = 0) -> Archived:
    """Return an archived partition of a transactional topic, of which compaction took some.

    Args:
        rng: Decides.
        count: How many records.
        time: The timestamp of the first, in ms; each later record is a second younger.
        start: The first offset.
    """
    offsets: list[int] = []
    markers: list[tuple[int, int]] = []
    at = start
    for _ in range(count):
        kind = rng.random()
        if kind < 0.05:
            markers.append((at, at := at + rng.randrange(1, 4)))
        elif kind < 0.08 and offsets:
            at += rng.randrange(1, 3)
        offsets.append(at)
        at += 1
    markers.append((at, at + 1))
    records = [_record(rng, n, time + 1000 * i) for i, n in enumerate(offsets)]
    return Archived(at_offsets(records, offsets), at + 1, markers, together=rng.randrange(1, 40))


def _record(rng: random.Random, number: int, time: int) -> Record:
    key = rng.choice((None, b"", b"k%d" % (number % 50)))
    value = rng.choice((None, b"", b"%d|" % number + bytes(rng.randrange(300))))
    headers = rng.choice(((), ((b"n", b"%d" % number), (b"n", b""), (b"null", None))))
    return Record(key, value, headers, time, number)


def raced(seed: int, count: int) -> dict[int, Archived]:
    """Return two partitions that each process can make again, with old records."""
    rng, old = random.Random(seed), 1_700_000_000_000
    return {n: replace(drawn(rng, count, old, start=7), together=50) for n in range(2)}


def restore_raced(seed: int, count: int, work: Slice) -> None:
    """Restore the partitions of `raced` in a process of its own, until it is killed."""
    supplies = raced(seed, count)

    def feed(landing: Landing) -> SupplyFeed:
        return SupplyFeed(landing, lambda lane: supplies[lane.source.partition], LateParts(LATE))

    for _ in land(work, feed):
        pass
