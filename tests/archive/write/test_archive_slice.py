"""A slice archives ranges of a real broker: all that consumers see, and why the rest is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.archive.segments import seen
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import PATIENCE, Record, consume, create_topic, produce
from towpath.archive.config.segments import SegmentLimits
from towpath.archive.format.either_format import read_object
from towpath.archive.model import PartitionId
from towpath.archive.write.slice.archive_slice import archive
from towpath.archive.write.slice.archive_work import EgressResult, EgressSlice
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.cluster.admin import Admin
from towpath.model.nouns import (
    ClusterId,
    SegmentFormat,
    Side,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig, StoreConfig
from towpath.store import Store

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
LIMITS = SegmentLimits(messages=1_000_000, bytes=100 << 20, age=300.0)


@dataclass
class Place:
    """A source, and a folder as a store."""

    config: ClusterConfig
    admin: Admin
    store: StoreConfig

    def range(self, topic: str, partition: int = 0, *, shares: bool = False) -> PlannedRange:
        tp = TopicPartition(TopicName(topic), partition)
        info = self.admin.topics.describe([tp.topic])[tp.topic]
        start = self.admin.offsets.earliest([tp]).sure(tp)
        end = self.admin.offsets.latest([tp], committed=True).sure(tp)
        return PlannedRange(
            id=PartitionId(ClusterId("c"), info.id, partition),
            topic=tp.topic,
            start=SourceOffset(start),
            end=SourceOffset(end),
            bytes=1,
            shares=shares,
        )

    def archive(
        self,
        *ranges: PlannedRange,
        limits: SegmentLimits = LIMITS,
        patience: float = 10.0,
        kind: SegmentFormat = SegmentFormat.PARQUET,
    ) -> list[EgressResult]:
        work = EgressSlice(
            source=self.config,
            store=self.store,
            region="eu",
            format=kind,
            ranges=ranges,
            limits={each.topic: limits for each in ranges},
            memory=8 << 20,
            patience=patience,
        )
        found = [EgressResult.from_json(each.to_json()) for each in archive(work)]
        by_range = {(each.id, each.start): each for each in found}
        return [by_range[each.id, each.start] for each in ranges]

    def read(self, archived: EgressResult) -> list[Record]:
        """Return the records of a range as consumers would see them."""
        store, records = Store(self.store), []
        for segment in archived.segments:
            assert segment.problem is None
            if segment.place is None:
                continue
            file = read_object(segment.format, store.reader(segment.place.key), segment.place.key)
            for each in seen(file.rows(file.segment(segment.place.first_row_group))):
                told = each.record
                headers = tuple((name.decode(), value) for name, value in told.headers)
                found = Record(told.key, told.value, headers, told.timestamp, told.offset)
                records.append(replace(found, partition=segment.partition))
        return records


@pytest.fixture
def place(source: SharedCluster, tmp_path: Path) -> Iterator[Place]:
    config = ClusterConfig(bootstrap=source.addresses)
    with Admin(config, Side.SOURCE) as admin:
        store = StoreConfig(url=(tmp_path / "archive").as_uri())
        Store(store).require_conditions()  # as the driver did, which has found or begun the archive
        yield Place(config, admin, store)


def transactions(bootstrap: str, topic: str) -> None:
    """Write committed and aborted transactions, plain records between them, and an open one."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"t-{topic}"})
    producer.init_transactions(PATIENCE)
    for number in range(6):
        producer.begin_transaction()
        for each in range(5):
            producer.produce(topic, b"t%d-%d" % (number, each), b"k", partition=0)
        producer.flush(PATIENCE)
        if number % 2:
            producer.abort_transaction(PATIENCE)
        else:
            producer.commit_transaction(PATIENCE)


def test_transactions_tombstones_and_old_records(place: Place, new_name: NewName) -> None:
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"), 2)
    old = now_ms() - 40 * 24 * 3600 * 1000
    plain = [
        Record(b"k", None, (("h", None), ("h", b""), ("h", b"1")), old),
        Record(None, b"", (), old + 1),
        Record(b"", b"v" * 2000, (("ä", b"x"),), old + 2),
    ]
    produce(bootstrap, topic, plain, {"compression.type": "zstd"})
    transactions(bootstrap, topic)
    produce(bootstrap, topic, [Record(b"p1", b"x", (), 0, partition=1)])
    both = place.range(topic, 0), place.range(topic, 1, shares=True)
    found = place.archive(*both)
    assert [each.trouble for each in found] == [None, None]
    assert [each.end for each in found] == [each.end for each in both]
    for number, archived in enumerate(found):
        assert place.read(archived) == consume(bootstrap, topic, (number,))
    gaps = found[0].segments[0].gaps
    assert (gaps.marker, gaps.aborted, gaps.total) == (6, 15, 21)
    (again,) = place.archive(both[0], kind=SegmentFormat.BATCHES)
    assert place.read(again) == consume(bootstrap, topic, (0,))
    assert again.segments[0].digest == found[0].segments[0].digest


def test_segments_are_cut_by_messages_and_by_bytes(place: Place, new_name: NewName) -> None:
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"))
    for first in range(0, 1000, 100):
        records = [Record(b"k%d" % n, b"v" * 1000) for n in range(first, first + 100)]
        produce(bootstrap, topic, records, {"compression.type": "lz4"})
    work = place.range(topic)
    for limits, most in (
        (SegmentLimits(300, 100 << 20, 300.0), 399),
        (SegmentLimits(1_000_000, 256 << 10, 300.0), 400),
    ):
        (found,) = place.archive(work, limits=limits)
        assert len(found.segments) > 2
        assert max(each.records for each in found.segments) <= most
        assert all(a.end == b.start for a, b in pairwise(found.segments))
        assert place.read(found) == consume(bootstrap, topic)


def test_a_partition_that_does_not_answer_holds_up_no_other(
    place: Place, new_name: NewName
) -> None:
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"))
    produce(bootstrap, topic, [Record(b"k", b"v")])
    good = place.range(topic)
    gone = PlannedRange(
        id=PartitionId(ClusterId("c"), TopicId("11111111-1111-4111-8111-111111111111"), 0),
        topic=TopicName(new_name("never")),
        start=SourceOffset(0),
        end=SourceOffset(5),
        bytes=1,
    )
    began = time.monotonic()
    bad, fine = place.archive(gone, good, patience=3.0)
    assert time.monotonic() - began < 15
    assert (fine.trouble, len(place.read(fine))) == (None, 1)
    assert bad.segments == ()
    assert bad.trouble is not None
    assert bad.trouble.code in {
        ReasonCode.CLUSTER_REFUSED, ReasonCode.SOURCE_TOPIC_DELETED, ReasonCode.CLUSTER_UNREACHABLE,
    }  # fmt: skip


def test_another_topic_of_the_same_name_is_not_read(place: Place, new_name: NewName) -> None:
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"))
    produce(bootstrap, topic, [Record(b"k", b"v")])
    other = place.range(topic)
    wrong = PlannedRange(
        id=other.id._replace(topic_id=TopicId("11111111-1111-4111-8111-111111111111")),
        topic=other.topic,
        start=SourceOffset(0),
        end=SourceOffset(1),
        bytes=1,
    )
    (found,) = place.archive(wrong, patience=5.0)
    assert found.segments == ()
    assert found.trouble is not None
    assert found.trouble.code is ReasonCode.SOURCE_TOPIC_RECREATED


def test_what_retention_took_while_it_was_planned_is_a_gap(place: Place, new_name: NewName) -> None:
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"))
    for each in range(5):
        produce(bootstrap, topic, [Record(b"k", b"%d" % each)])
    work = place.range(topic)
    tp = TopicPartition(TopicName(topic), 0)
    place.admin.offsets.delete_records({tp: 3}).sure(tp)
    (found,) = place.archive(work)
    assert found.trouble is None
    (segment,) = found.segments
    assert (segment.start, segment.end, segment.records, segment.gaps.retention) == (0, 5, 2, 3)
    assert place.read(found) == consume(bootstrap, topic)


def test_offsets_that_hold_nothing_any_more_are_archived_as_such(
    place: Place, new_name: NewName
) -> None:
    """The log ends in markers, and the range ends behind them."""
    bootstrap = ",".join(place.config.bootstrap)
    topic = create_topic(bootstrap, new_name("egress"))
    transactions(bootstrap, topic)
    whole = place.range(topic)
    tail = PlannedRange(
        id=whole.id,
        topic=whole.topic,
        start=SourceOffset(whole.end - 1),
        end=whole.end,
        bytes=1,
    )
    (found,) = place.archive(tail)
    (segment,) = found.segments
    assert (segment.place, segment.gaps.marker, segment.records) == (None, 1, 0)
