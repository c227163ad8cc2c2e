"""Partitions that are dealt to a slice while it runs: new ones, stopped ones, changed ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.support.copying.chaos import delete_topic
from tests.support.copying.copier import copier, endless, going
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    end_offsets,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Dealt
from towpath.ledger.entries.session import by_topic
from towpath.model.nouns import LinkName, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.copy import Copier
from towpath.records.work import Assignment, CopySlice, as_data

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
LINK = LinkName("link")
WHY = Reason.of(ReasonCode.TOLD, text="for the test")


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("arriving"))


def dealt(*assignments: Assignment, withdrawn: Sequence[TopicPartition] = ()) -> Dealt:
    parts = as_data(assignments)
    return Dealt(
        link=LINK, run_id="test", round=1, slice=0, number=0, facts_from=0,
        settled=not withdrawn, partitions=parts, withdrawn=by_topic(withdrawn),
    )  # fmt: skip


@contextmanager
def copying(mirror: Mirror, *assignments: Assignment) -> Iterator[Callable[..., None]]:
    """Let a slice go on with these partitions; return what deals it more."""
    work = replace(endless(mirror.slices()[0]), assignments=assignments)
    with copier(work, work.source, work.target) as made, going(made):

        def deal(*more: Assignment) -> None:
            made._reactor.soon(lambda: made._arrivals.dealt(dealt(*more)))

        yield deal


def planned(mirror: Mirror) -> tuple[Assignment, ...]:
    work: CopySlice = endless(mirror.slices()[0])
    return work.assignments


def is_copied(mirror: Mirror, partition: int = 0) -> Callable[[], bool]:
    def there() -> bool:
        source, target = (
            end_offsets(cluster.bootstrap, mirror.topic, partition)[1]
            for cluster in (mirror.source, mirror.target)
        )
        return source == target > 0

    return there


def test_a_new_partition_is_copied_beside_the_others(mirror: Mirror) -> None:
    mirror.create(2)
    boot = mirror.source.bootstrap
    first, second = planned(mirror)
    with copying(mirror, first) as deal:
        for n in range(2):
            produce(boot, mirror.topic, [Record(b"k", b"%d" % n, partition=n)])
        wait_until(is_copied(mirror, first.source.partition), "the first partition is copied")
        deal(first, second)
        deal(second)
        wait_until(is_copied(mirror, second.source.partition), "the second one is copied")
    assert consume(mirror.target.bootstrap, mirror.topic, range(2)) == consume(
        boot, mirror.topic, range(2)
    )


def test_terms_change_while_records_flow(mirror: Mirror) -> None:
    mirror.create()
    boot, count = mirror.source.bootstrap, 0
    [one] = planned(mirror)
    with copying(mirror, one) as deal:
        for turn in range(20):
            produce(boot, mirror.topic, [Record(b"k", b"%d" % (count + n)) for n in range(200)])
            count += 200
            deal(replace(one, max_batch=one.max_batch - turn))
            time.sleep(0.05)  # so that some records are on their way, others not
        wait_until(is_copied(mirror), "all is copied")
    records = consume(mirror.target.bootstrap, mirror.topic)
    assert len(records) == count
    assert records == consume(boot, mirror.topic)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.records == count


def test_a_partition_that_is_withdrawn_rests_until_it_is_dealt_again(mirror: Mirror) -> None:
    mirror.create(2)
    boot = mirror.source.bootstrap
    paused, other = planned(mirror)
    work = replace(endless(mirror.slices()[0]), assignments=(paused, other))
    with copier(work, work.source, work.target) as made, going(made):

        def tell(entry: Dealt) -> None:
            made._reactor.soon(lambda: made._arrivals.dealt(entry))

        def write(value: bytes) -> None:
            for tp in (paused.source, other.source):
                produce(boot, mirror.topic, [Record(b"k", value, partition=tp.partition)])

        write(b"1")
        for each in (paused, other):
            wait_until(is_copied(mirror, each.source.partition), "all is copied")
        tell(dealt(withdrawn=[paused.source]))
        wait_until(lambda: paused.source not in made._arrivals.assigned, "the slice has left it")
        write(b"2")
        wait_until(is_copied(mirror, other.source.partition), "the other one goes on")
        assert end_offsets(mirror.target.bootstrap, mirror.topic, paused.source.partition)[1] == 1
        tell(dealt(paused))
        wait_until(is_copied(mirror, paused.source.partition), "it goes on")
    assert consume(mirror.target.bootstrap, mirror.topic, range(2)) == consume(
        boot, mirror.topic, range(2)
    )


def test_pauses_while_records_flow(mirror: Mirror) -> None:
    mirror.create()
    boot, count = mirror.source.bootstrap, 0
    [one] = planned(mirror)
    # A slice of a run that ends would end, as it has nothing to do for a moment.
    work = replace(endless(mirror.slices()[0]), assignments=(one,), seconds=600.0)
    with copier(work, work.source, work.target) as made, going(made):
        for turn in range(20):
            produce(boot, mirror.topic, [Record(b"k", b"%d" % (count + n)) for n in range(200)])
            count += 200
            entry = dealt(one) if turn % 2 else dealt(withdrawn=[one.source])
            made._reactor.soon(partial(made._arrivals.dealt, entry))
            time.sleep(0.05 * (turn % 3))  # so that some records are on their way, others not
        wait_until(is_copied(mirror), "all is copied")
    records = consume(mirror.target.bootstrap, mirror.topic)
    assert len(records) == count
    assert records == consume(boot, mirror.topic)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.records == count


def test_a_partition_that_stopped_is_tried_again(mirror: Mirror) -> None:
    mirror.create()
    boot = mirror.source.bootstrap
    produce(boot, mirror.topic, [Record(b"k", b"1")])
    [one] = planned(mirror)
    work = replace(endless(mirror.slices()[0]), assignments=(one,))
    with copier(work, work.source, work.target) as made, going(made):
        wait_until(is_copied(mirror), "it is copied")
        made._reactor.soon(lambda: made.landing.stop(made.landing.lanes[one.source], WHY))
        wait_until(lambda: _stopped(made, mirror.topic), "it stopped")
        produce(boot, mirror.topic, [Record(b"k", b"2")])
        made._reactor.soon(lambda: made._arrivals.dealt(dealt(one)))
        wait_until(is_copied(mirror), "it goes on")
    assert consume(mirror.target.bootstrap, mirror.topic) == consume(boot, mirror.topic)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert (receipt.records, receipt.error) == (2, "")


def _stopped(made: Copier, topic: str) -> bool:
    lane = made.landing.lanes.get(TopicPartition(TopicName(topic), 0))
    return lane is not None and lane.stopped


def test_a_topic_that_was_made_again_is_copied_from_its_beginning(mirror: Mirror) -> None:
    mirror = replace(mirror, records={"on_gap": "record"})
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"old")] * 5)
    [old] = planned(mirror)
    with copying(mirror, old) as deal:
        wait_until(is_copied(mirror), "the first topic is copied")
        for cluster in (mirror.source, mirror.target):
            delete_topic(cluster.bootstrap, mirror.topic)
        for cluster in (mirror.source, mirror.target):
            create_topic(cluster.bootstrap, mirror.topic)
        produce(mirror.source.bootstrap, mirror.topic, [Record(b"k", b"new")])
        deal(*planned(mirror))
        wait_until(is_copied(mirror), "the second topic is copied")
    assert [record.value for record in consume(mirror.target.bootstrap, mirror.topic)] == [b"new"]
