"""How long the other partitions wait for one that has no leader. The cluster is a table here."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from towpath.cluster.admin import leaders
from towpath.cluster.admin.leaders import Question, ask_leaders
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.retrying import polled
from towpath.cluster.metadata import Answers, Broker, Metadata, PartitionInfo, TopicInfo
from towpath.model.errors import ClusterError
from towpath.model.nouns import NO_TOPIC_ID, ClusterId, TopicName, TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

NAME = TopicName("orders")
WITH, WITHOUT = TopicPartition(NAME, 0), TopicPartition(NAME, 1)


class Table(Control):
    """Partition 1 has no leader until its election."""

    def __init__(self, elected_after: float, timeout: str = "60s") -> None:
        super().__init__(ClusterConfig(bootstrap=("nowhere:1",), request_timeout=timeout), "source")
        self._elected = Deadline.after(elected_after)

    def metadata(self, *_: Any) -> Metadata:
        second = 1 if self._elected.over else -1
        parts = (PartitionInfo(0, 1, (1,)), PartitionInfo(1, second, (1,)))
        broker = Broker(1, "nowhere", 1)
        topic = TopicInfo(NAME, NO_TOPIC_ID, False, parts)
        return Metadata(ClusterId("c"), 1, {1: broker}, {NAME: topic})

    def ask(
        self, broker: Broker, request: Any, deadline: Deadline, what: str, newest: int | None = None
    ) -> Any:
        del broker, deadline, what, newest
        return request


def request(tps: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    return tps


QUESTION = Question("asking", request, lambda tps: [(tp, 0, tp.partition) for tp in tps], "Read")


def timed(ask: Callable[[], Answers[TopicPartition, int]]) -> tuple[Any, float]:
    began = time.monotonic()
    return ask(), time.monotonic() - began


def test_others_wait_no_longer_than_an_election_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_ELECTION", 0.5)
    found, took = timed(lambda: ask_leaders(Table(60), QUESTION, [WITH, WITHOUT]))
    assert (dict(found), list(found.failed)) == ({WITH: 0}, [WITHOUT])
    assert 0.2 < took < 30


def test_an_election_is_waited_for() -> None:
    found, took = timed(lambda: ask_leaders(Table(0.5), QUESTION, [WITH, WITHOUT]))
    assert dict(found) == {WITH: 0, WITHOUT: 1}
    assert 0.4 < took < 30


def test_who_needs_that_partition_alone_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "_ELECTION", 0.1)
    found, _ = timed(lambda: ask_leaders(Table(1.0), QUESTION, [WITHOUT]))
    assert dict(found) == {WITHOUT: 1}
    with pytest.raises(ClusterError, match="LEADER_NOT_AVAILABLE"):
        ask_leaders(Table(60, "500ms"), QUESTION, [WITHOUT])


def test_what_is_repeated_ends_with_the_last_result_when_time_is_over() -> None:
    results = iter(range(10))
    pause = BackOff(first=0.001, longest=0.001)
    deadline = Deadline.after(60)
    assert polled(lambda: next(results), deadline, pause, lambda result: result == 3) == 3
    assert polled(lambda: next(results), Deadline.after(0), pause, lambda _: False) == 4
    with pytest.raises(StopIteration):
        polled(lambda: next(iter(())), deadline, pause, lambda _: True)
