"""A target that refuses our producer ids is written in transactions, and says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.clients.records import ODD, numbered, transactions
from tests.support.clients.views import assert_same_by_map, compared
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refusal, Refused
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.mirror.status.partition_status import State
from towpath.mirror.status.partitions import status
from towpath.model.errors import ClusterError
from towpath.model.nouns import Mode, Side, SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.copy import copy
from towpath.records.items import Batch
from towpath.records.lane.progress import LaneProgress
from towpath.records.target import fencing
from towpath.records.target.error_codes import NOT_ENOUGH_REPLICAS
from towpath.records.target.writing import PartitionWriter
from towpath.records.trouble import FENCED
from towpath.runtime.deadline import Deadline
from towpath.wire.filler import filler

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
WHY = (
    "the target refuses producer ids that it did not give out (INVALID_PRODUCER_ID_MAPPING), so"
    " records are written in transactions"
)


@pytest.fixture
def mirror(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> Mirror:
    made = Refused(tmp_path, source, refusing_target, new_name("refused"))
    made.create()
    return made


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (FENCED, "INVALID_PRODUCER_EPOCH"),
        (49, "INVALID_PRODUCER_ID_MAPPING"),
        (59, "UNKNOWN_PRODUCER_ID"),
        (90, "PRODUCER_FENCED"),
    ],
)
def test_records_go_in_transactions(
    mirror: Mirror, refusal: Refusal, error: int, name: str
) -> None:
    refusal.error = error
    produce(mirror.source.bootstrap, mirror.topic, ODD, {"compression.type": "lz4"})
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (
        Mode.MAPPED, WHY.replace("INVALID_PRODUCER_ID_MAPPING", name), "",
    )  # fmt: skip
    # Another copier may have fenced us with the first of these, so that is looked at first.
    assert refusal.refused == (2 if error == FENCED else 1)
    assert assert_same_by_map(mirror) == len(ODD)


def test_a_later_run_knows_without_being_refused_again(mirror: Mirror, refusal: Refusal) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 50))
    mirror.catch_up()
    for part in range(1, 4):
        produce(mirror.source.bootstrap, mirror.topic, numbered(50 * part, 50 * part + 50))
        [done] = mirror.catch_up()
        assert (done.mode, done.reason, done.records, done.error) == (Mode.MAPPED, WHY, 50, "")
    assert refusal.refused == 1
    assert len(mirror.books().writers) == 1
    assert assert_same_by_map(mirror) == 200


def test_a_run_of_an_older_towpath_is_fenced(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It named its transactional ids in another way, and may be frozen with one of them open."""
    older = f"towpath.{mirror.config.link}.{mirror.topic}-0"
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    with monkeypatch.context() as then, Admin(mirror.config.target, Side.TARGET) as admin:
        then.setattr(fencing, "transactional_id", lambda *_: older)
        mirror.catch_up()
        frozen = admin.producers.transactions(older)
        who = frozen.fence(Deadline.after(10))
        frozen.add(who, [TopicPartition(TopicName(mirror.topic), 0)], Deadline.after(10))
        then.undo()
        produce(mirror.source.bootstrap, mirror.topic, numbered(10, 20))
        [done] = mirror.catch_up()
        assert (done.records, done.error) == (10, "")
        with pytest.raises(ClusterError, match="INVALID_PRODUCER_EPOCH"):
            frozen.end(who, Deadline.after(10), commit=True)
    ids = {writer.transactional_id for writer in mirror.books().writers.values()}
    assert ids == {older, f"towpath.{mirror.config.link}.:{mirror.topic}-0"}
    assert assert_same_by_map(mirror) == 20


def test_status_says_so_and_verify_proves_it(mirror: Mirror) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 300))
    mirror.catch_up()
    books = LinkBooks(mirror.config.link)
    books.partitions = {(known := mirror.books()).receipt.tp: known}  # type: ignore[union-attr]
    with ExitStack() as stack:
        source = stack.enter_context(Admin(mirror.config.source, Side.SOURCE))
        target = stack.enter_context(Admin(mirror.config.target, Side.TARGET))
        [row] = status(mirror.config, books, source, target)
    assert (row.state, row.mode, row.reason) == (State.CAUGHT_UP, "mapped", WHY)
    found = compared(mirror)
    assert found.equal, found.difference
    assert (found.counts.equal, found.counts.foreign) == (300, 0)


def test_verify_sees_what_is_not_ours(mirror: Mirror) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    mirror.catch_up()
    produce(mirror.target.bootstrap, mirror.topic, numbered(0, 3))
    produce(mirror.source.bootstrap, mirror.topic, numbered(10, 20))
    mirror.catch_up()
    found = compared(mirror)
    assert (found.equal, found.counts.equal, found.counts.foreign) == (True, 20, 3)


def test_identical_is_an_error_that_says_why(mirror: Mirror) -> None:
    mirror.records = {"offsets": "identical"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    [done] = mirror.catch_up()
    assert f"offsets cannot stay identical: {WHY}" in done.error
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, 0)


def test_mapped_by_wish_names_both_reasons(mirror: Mirror) -> None:
    mirror.records = {"offsets": "mapped"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    [done] = mirror.catch_up()
    assert done.reason == f"asked for by `records.offsets: mapped`; {WHY}"


def test_a_front_that_cannot_be_filled(mirror: Mirror, refusal: Refusal) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 500))
    delete_before(mirror.source.bootstrap, mirror.topic, 321)
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (Mode.MAPPED, WHY, "")
    assert refusal.refused == 1
    assert mirror.books().offsets().to_target(SourceOffset(321)).offset == 0
    assert assert_same_by_map(mirror) == 179


def test_a_front_that_is_filled_late(
    mirror: Mirror, refusal: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receipts were written meanwhile, and the next opening missed what they seemed to promise."""
    hindered: list[int] = []

    def hinder(progress: LaneProgress, side: Side, why: Reason) -> None:
        hindered.append(refusal.refused)
        unchanged(progress, side, why)

    unchanged = LaneProgress.hinder
    monkeypatch.setattr(LaneProgress, "hinder", hinder)
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 500))
    delete_before(mirror.source.bootstrap, mirror.topic, 321)
    mirror.timeout, refusal.error = "1s", NOT_ENOUGH_REPLICAS
    [work] = mirror.slices()
    with ThreadPoolExecutor(1) as pool:
        copying = pool.submit(lambda: list(copy(replace(work, receipts=0.01))))
        wait_until(lambda: len(hindered) >= 3, "three fills that failed")
        refusal.error = 0
        [done] = copying.result(60)
    assert (done.mode, done.reason, done.error, done.records) == (Mode.IDENTICAL, "", "", 179)
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (321, 500)


@pytest.mark.parametrize(
    ("error", "name"), [(49, "INVALID_PRODUCER_ID_MAPPING"), (59, "UNKNOWN_PRODUCER_ID")]
)
def test_a_target_that_refuses_from_some_day_on(
    mirror: Mirror, refusal: Refusal, error: int, name: str
) -> None:
    refusal.error = 0
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 100))
    [done] = mirror.catch_up()
    assert (done.mode, done.reason) == (Mode.IDENTICAL, "")
    refusal.error = error
    produce(mirror.source.bootstrap, mirror.topic, numbered(100, 200))
    [done] = mirror.catch_up()
    why = WHY.replace("INVALID_PRODUCER_ID_MAPPING", name)
    assert (done.mode, done.reason, done.error) == (Mode.MAPPED, why, "")
    assert assert_same_by_map(mirror) == 200
    found = compared(mirror)
    assert (found.equal, found.counts.equal, found.counts.foreign) == (True, 200, 0)


def test_a_transactional_source_is_copied_with_mapped_offsets(
    mirror: Mirror, rng: random.Random
) -> None:
    transactions(mirror, rng, 60)
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (Mode.MAPPED, WHY, "")
    assert assert_same_by_map(mirror) > 0
    assert compared(mirror).equal


def test_many_tiny_batches_and_large_records(mirror: Mirror, rng: random.Random) -> None:
    tiny = [Record(None, b"%d" % number) for number in range(3000)]
    produce(mirror.source.bootstrap, mirror.topic, tiny, {"batch.num.messages": 1})
    large = [Record(b"l", rng.randbytes(900_000)) for _ in range(12)]
    produce(mirror.source.bootstrap, mirror.topic, large)
    [done] = mirror.catch_up()
    assert done.error == ""
    assert assert_same_by_map(mirror) == 3012
    assert len(mirror.books().offsets().runs) < 30


def test_batches_larger_than_the_target_takes(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> None:
    mirror = Refused(tmp_path, source, refusing_target, new_name("refused"))
    create_topic(source.bootstrap, mirror.topic)
    create_topic(refusing_target.bootstrap, mirror.topic, 1, {"max.message.bytes": "20000"})
    some = [Record(b"k", b"%04d" % number * 250) for number in range(200)]
    produce(source.bootstrap, mirror.topic, some, {"linger.ms": 500})
    [done] = mirror.catch_up()
    assert (done.records, done.error) == (200, "")
    assert assert_same_by_map(mirror) == 200
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"x" * 50_000)])
    [done] = mirror.catch_up()
    assert "target: the record at offset 200 of" in done.error
    assert "more than the target takes; raise max.message.bytes of" in done.error
    assert len(consume(refusing_target.bootstrap, mirror.topic)) == 200


def test_a_record_that_the_target_never_takes(
    tmp_path: Path, source: LocalCluster, refusing_target: LocalCluster, new_name: NewName
) -> None:
    mirror = Refused(tmp_path, source, refusing_target, new_name("refused"))
    create_topic(source.bootstrap, mirror.topic)
    create_topic(refusing_target.bootstrap, mirror.topic, 1, {"cleanup.policy": "compact"})
    produce(source.bootstrap, mirror.topic, [Record(None, b"no key")])
    [done] = mirror.catch_up()
    assert f"target: producing to {mirror.topic}-0: INVALID_RECORD (87)" in done.error
    produce(refusing_target.bootstrap, mirror.topic, [Record(b"k", b"foreign")])
    seen = consume(refusing_target.bootstrap, mirror.topic)  # no transaction is left open
    assert [record.value for record in seen] == [b"foreign"]


def test_records_that_retention_took_are_left_out_and_the_rest_is_copied(mirror: Mirror) -> None:
    mirror.records = {"on_gap": "record"}
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 10))
    mirror.catch_up()
    produce(mirror.source.bootstrap, mirror.topic, numbered(10, 20))
    delete_before(mirror.source.bootstrap, mirror.topic, 20)
    [done] = mirror.catch_up()
    assert (done.source_end, done.records, done.error) == (20, 0, "")
    produce(mirror.source.bootstrap, mirror.topic, numbered(20, 30))
    mirror.catch_up()
    values = [record.value for record in consume(mirror.target.bootstrap, mirror.topic)]
    assert values == [record.value for record in (*numbered(0, 10), *numbered(20, 30))]


def test_a_transaction_that_does_not_show_in_time(mirror: Mirror) -> None:
    tp, config = TopicPartition(TopicName(mirror.topic), 0), mirror.config.target
    with ExitStack() as stack:
        admin = stack.enter_context(Admin(config, Side.TARGET))
        client = stack.enter_context(Client(config, Side.TARGET, admin))
        transactions = admin.producers.transactions(mirror.topic)
        who = transactions.fence(Deadline.after(30))
        writer = PartitionWriter(tp, transactions, who, 0.0)
        with pytest.raises(ClusterError) as raised:
            writer.write(client, [dense()])
    assert str(raised.value) == f"target: a transaction in {tp} did not become visible in time"


def dense() -> Batch:
    """Return a batch of one record."""
    data = memoryview(bytearray(filler(1, now_ms=1, keyed=True)))
    return Batch(
        data=data,
        frame=None,
        base=SourceOffset(0),
        end=SourceOffset(1),
        count=1,
        sequence=0,
        crc=0,
        epoch=0,
        time=1,
    )


def test_an_open_transaction_of_somebody_else_hides_nothing(mirror: Mirror) -> None:
    produce(mirror.source.bootstrap, mirror.topic, numbered(0, 20))
    other = Producer(
        {"bootstrap.servers": mirror.target.bootstrap, "transactional.id": mirror.topic}
    )
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(mirror.topic, b"foreign", partition=0)
    other.flush(30)
    [done] = mirror.catch_up()
    assert done.error == ""
    produce(mirror.source.bootstrap, mirror.topic, numbered(20, 30))
    [done] = mirror.catch_up()
    assert done.error == ""
    other.abort_transaction(30)
    assert assert_same_by_map(mirror) == 30
