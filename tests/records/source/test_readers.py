"""A reader that is no lane, and writes nothing, meets what lanes meet at the source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.copying.collector import collecting
from tests.support.kafka import Record, create_topic, delete_before, produce, wait_until
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, SourceOffset, TopicName
from towpath.model.reasons import ReasonCode
from towpath.records.trouble import DELETED
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


def write(cluster: LocalCluster, topic: str, first: int, end: int) -> None:
    records = [Record(None, b"%d" % number) for number in range(first, end)]
    produce(cluster.bootstrap, topic, records, {"linger.ms": 0, "batch.num.messages": 3})


def numbers(first: int, end: int) -> list[tuple[int, bytes]]:
    """Return what is stored of records whose values are their offsets."""
    return [(number, b"%d" % number) for number in range(first, end)]


def test_it_follows_the_leader(three: LocalCluster, new_name: NewName) -> None:
    topic = create_topic(three.bootstrap, new_name("followed"), replication=3)
    write(three, topic, 0, 10)
    with collecting(three.addresses) as made:
        reader = made.collector(topic)
        made.until(lambda: reader.stored == numbers(0, 10), "all is stored")
        leader = leader_of(three, topic)
        three.kill9(leader)
        try:
            wait_until(lambda: leader_of(three, topic) != leader, "another one leads")
            left = [a for a in three.addresses if a != three.addresses[leader - 1]]
            produce(left[0], topic, [Record(None, b"10")])
            made.until(lambda: reader.stored == numbers(0, 11), "it goes on at the new leader")
        finally:
            three.restart(leader)
        assert (made.gaps, reader.stopped) == ([], False)


def leader_of(cluster: LocalCluster, topic: str) -> int:
    name = TopicName(topic)
    with Admin(ClusterConfig(bootstrap=cluster.addresses), Side.SOURCE) as admin:
        return admin.topics.describe([name])[name].partitions[0].leader


@pytest.fixture
def topic(source: LocalCluster, new_name: NewName) -> str:
    made = create_topic(source.bootstrap, new_name("read"))
    write(source, made, 0, 10)
    return made


@pytest.mark.parametrize("stop", [False, True], ids=["goes on", "stops"])
def test_records_that_retention_removed_are_told(
    source: LocalCluster, topic: str, stop: bool
) -> None:
    delete_before(source.bootstrap, topic, 5)
    with collecting(source.addresses, stop_on_gap=stop) as made:
        reader = made.collector(topic)
        made.until(lambda: reader.stopped or bool(reader.stored), "the gap is dealt with")
        [(first, end, why, went_on)] = made.gaps
        assert (first, end, why.code, went_on) == (0, 5, ReasonCode.RETENTION, not stop)
        assert reader.stopped is stop
        if stop:
            assert reader.trouble is not None
            assert (reader.stored, reader.trouble.code) == ([], ReasonCode.GAP)
        else:
            made.until(lambda: reader.stored == numbers(5, 10), "it goes on behind the gap")


def test_one_that_begins_where_the_log_begins_misses_nothing(
    source: LocalCluster, topic: str
) -> None:
    delete_before(source.bootstrap, topic, 5)
    with collecting(source.addresses, stop_on_gap=True) as made:
        reader = made.collector(topic, begins_later=True)
        made.until(lambda: reader.stored == numbers(5, 10), "it begins at the log's beginning")
        assert (made.gaps, reader.stopped) == ([], False)


def test_what_comes_damaged_is_read_again_from_where_its_store_ends(
    source: LocalCluster, topic: str
) -> None:
    with collecting(source.addresses) as made:
        reader = made.collector(topic)
        made.until(lambda: reader.stored == numbers(0, 10), "all is stored")
        reader.spoil = 2
        write(source, topic, 10, 12)
        made.until(lambda: reader.stored == numbers(0, 12), "it came whole in the end")
        assert (reader.openings, reader.spoil, reader.stopped) == (2, 0, False)


def test_a_topic_that_is_deleted_stops_its_reader_alone(
    source: LocalCluster, topic: str, new_name: NewName
) -> None:
    other = create_topic(source.bootstrap, new_name("read"))
    with collecting(source.addresses) as made:
        reader, stays = made.collector(topic), made.collector(other)
        made.until(lambda: reader.stored == numbers(0, 10), "all is stored")
        delete_topic(source.bootstrap, topic)
        made.until(lambda: reader.stopped, "it stops")
        assert (reader.trouble, made.gaps) == (DELETED, [(10, 10, DELETED, False)])
        write(source, other, 0, 3)
        made.until(lambda: stays.stored == numbers(0, 3), "the other one goes on")


@pytest.mark.parametrize("stop_on_gap", [False, True])
def test_a_log_of_older_epochs_is_told_as_cut(
    source: LocalCluster, new_name: NewName, *, stop_on_gap: bool
) -> None:
    """So a source that was set back to a backup answers, though it has the offset again."""
    topic = create_topic(source.bootstrap, new_name("set-back"), 1)
    write(source, topic, 0, 120)
    with collecting(source.addresses, stop_on_gap=stop_on_gap) as made:
        reader = made.collector(topic)
        made.side.fetcher.remove(reader)
        # What was read before: epoch 0 up to offset 70, and epoch 7 up to offset 100.
        reader.epochs._starts.extend([(0, 0), (7, 70)])
        reader.expected, reader.fetch_epoch = SourceOffset(100), 7
        made.side.fetcher.add(reader)
        made.until(lambda: bool(made.gaps), "the cut is told")
        [(first, end, why, went_on)] = made.gaps
        assert (first, end, why.code, went_on) == (70, 100, ReasonCode.SOURCE_CUT, not stop_on_gap)
        if stop_on_gap:
            assert reader.stopped
        else:
            made.until(lambda: len(reader.stored) == 50, "it goes on at the cut")
            assert [offset for offset, _ in reader.stored] == [*range(70, 120)]
