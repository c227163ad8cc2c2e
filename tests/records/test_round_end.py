"""The end of a round: nobody waits for a partition that gets nowhere, and all is written once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest

from tests.support.copying.copier import copier, endless, going
from tests.support.copying.lanes import StandInReactor, fetcher, lane
from tests.support.kafka import Record, consume, produce, wait_until
from tests.support.mirror import Mirror
from tests.support.network.refusal import Refusal, Refused
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Entry
from towpath.model.nouns import TopicName, TopicPartition
from towpath.records import copy as copying
from towpath.records.copy import Copier

NewName = Callable[[str], str]


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("ending"))


def error_of(made: Copier, topic: str) -> str:
    tp = TopicPartition(TopicName(topic), 0)
    return made.landing.lanes[tp].progress.error if tp in made.landing.lanes else ""


@pytest.mark.broker
@pytest.mark.parametrize(
    ("code", "name"), [(19, "NOT_ENOUGH_REPLICAS"), (29, "TOPIC_AUTHORIZATION_FAILED")]
)
def test_a_round_does_not_wait_for_a_partition_that_cannot_be_written(
    tmp_path: Path,
    source: LocalCluster,
    refusing_target: LocalCluster,
    refusal: Refusal,
    new_name: NewName,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    name: str,
) -> None:
    monkeypatch.setattr(copying, "_DRAIN", 60.0)
    refusal.error = code
    mirror = Refused(tmp_path, source, refusing_target, new_name("ending"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(None, b"x")])
    work = endless(mirror.slices()[0])
    with copier(work, work.source, work.target) as made:
        with going(made):
            wait_until(lambda: name in error_of(made, mirror.topic), "it is refused")
            began = time.monotonic()
        assert time.monotonic() - began < copying._DRAIN / 2
        [done] = made.summaries()
    assert name in done.error


@pytest.mark.broker
def test_the_last_receipts_wait_for_those_before(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_DRAIN", 0.0)
    mirror.create()
    produce(mirror.source.bootstrap, mirror.topic, [Record(None, b"x")])
    work = endless(mirror.slices()[0])
    entered = Event()
    busy: list[bool] = []
    with copier(work, work.source, work.target) as made:
        receipts = made.landing.receipts
        append, write_last = receipts._ledger.append, receipts.write_last

        def slow(entries: Sequence[Entry], *at: TopicPartition) -> None:
            if not entered.is_set():
                entered.set()
                wait_until(lambda: made.landing.feed.ended, "the round ends")
            append(entries, *at)

        def last() -> None:
            busy.append(receipts.busy)
            write_last()

        monkeypatch.setattr(receipts._ledger, "append", slow)
        monkeypatch.setattr(receipts, "write_last", last)
        with going(made):
            assert entered.wait(30)
    assert busy == [False]
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.source_end == 1
    assert len(consume(mirror.target.bootstrap, mirror.topic)) == 1


def test_nothing_is_fetched_any_more_when_a_round_ends() -> None:
    made, channel = fetcher(StandInReactor(), lambda *_: None)
    made.end()
    made.add(lane())
    assert channel.asked == []
