"""One range in one transaction, whoever else plays it; on real brokers, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from tests.support.kafka import Record, consume, create_topic, produce, wait_for
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dataframes.errors import TransformTaskError
from towpath.dataframes.ranges import OffsetRange
from towpath.dataframes.sink.options import SinkOptions
from towpath.dataframes.transform import handover, task
from towpath.dataframes.transform.job import TransformJob, TransformRange
from towpath.dev.broker import LocalCluster
from towpath.ledger.transformed import PositionsTopic, TransformedPosition, transactional_id
from towpath.model.nouns import LinkName, Side, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker


@dataclass
class Driver:
    """A driver that plans the range [position, end) of the only source partition."""

    admin: Admin
    positions: PositionsTopic
    job: TransformJob
    tp: TopicPartition

    def plan(self, end: int) -> TransformRange:
        own = self.admin.producers.transactions(transactional_id(self.job.link, self.tp))
        who = own.fence(Deadline.after(30))
        at = self.positions.read().get(self.tp)
        info = self.admin.topics.find(self.tp.topic)
        assert info is not None
        before = at or TransformedPosition(info.id, 0)
        part = OffsetRange(self.tp, info.id, before.end, end)
        return TransformRange(part, before, who, at.end if at else -1)

    def play(self, wanted: TransformRange, attempt: int = 0) -> None:
        """Play the task of a range, as Spark does."""
        self.attempt.number = attempt
        self.attempt.id += 1
        rows = list(task.read(self.job, wanted))
        made = [each.select(["key", "value", "timestamp"]) for each in rows]
        task.write(self.job, wanted, iter(made))

    attempt: SimpleNamespace = None  # type: ignore[assignment]


@pytest.fixture
def driver(
    target: LocalCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
) -> Iterator[Driver]:
    name = new_name("range")
    create_topic(target.bootstrap, name)
    create_topic(target.bootstrap, f"{name}.clean", 2)
    produce(target.bootstrap, name, [Record(b"k%d" % n, b"v%d" % n) for n in range(20)])
    cluster = ClusterConfig(bootstrap=target.addresses)
    attempt = SimpleNamespace(number=0, id=0)
    context = SimpleNamespace(
        attemptNumber=lambda: attempt.number, taskAttemptId=lambda: attempt.id
    )
    monkeypatch.setattr(handover, "task", lambda: context)
    monkeypatch.setattr(
        handover, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path))
    )
    job = TransformJob(
        LinkName(name), cluster, SinkOptions(cluster, timeout=60.0), (), {name: f"{name}.clean"}
    )
    with Admin(cluster, Side.TARGET) as admin, Client(cluster, Side.TARGET, admin) as client:
        positions = PositionsTopic(admin, client, job.link)
        positions.create()
        yield Driver(admin, positions, job, TopicPartition(name, 0), attempt)  # type: ignore[arg-type]


def values(target: LocalCluster, driver: Driver) -> list[int]:
    found = consume(target.bootstrap, f"{driver.tp.topic}.clean", (0, 1))
    return sorted(int((each.value or b"v")[1:]) for each in found)


def test_a_range_that_is_played_again_is_written_once(target: LocalCluster, driver: Driver) -> None:
    first = driver.plan(8)
    driver.play(first)
    driver.play(first, attempt=1)  # Spark has not heard of the commit
    wait_for(lambda: values(target, driver), [*range(8)], "the records")
    second = driver.plan(20)
    assert (second.part.start, second.before.read, second.before.written) == (8, 8, 8)
    driver.play(second, attempt=2)  # the attempts before ended with nothing
    wait_for(lambda: values(target, driver), [*range(20)], "the records")
    assert driver.positions.read()[driver.tp].read == 20


def test_a_task_that_goes_on_behind_a_new_driver_writes_nothing(
    target: LocalCluster, driver: Driver
) -> None:
    late = driver.plan(8)
    driver.play(driver.plan(12))
    with pytest.raises(TransformTaskError, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
        driver.play(late)
    with pytest.raises(TransformTaskError, match="another run has gone on to 12"):
        driver.play(late, attempt=1)
    driver.play(driver.plan(20))
    wait_for(lambda: values(target, driver), [*range(20)], "the records")


def test_a_task_with_rows_of_another_range_commits_nothing(
    target: LocalCluster, driver: Driver
) -> None:
    wanted = driver.plan(8)
    other = replace(wanted, part=replace(wanted.part, end=6))
    rows = [*task.read(driver.job, other)]
    with pytest.raises(TransformTaskError, match=r"moved rows between tasks; this one has read"):
        task.write(driver.job, wanted, iter(rows))
    assert driver.tp not in driver.positions.seen()
    driver.play(driver.plan(8))
    wait_for(lambda: values(target, driver), [*range(8)], "the records")
