"""A batch is committed once, wherever its driver ends; on real brokers, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from tests.support.kafka import consume, create_topic, wait_for
from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.dataframes.errors import LateCommitError, TornBatchError
from towpath.dataframes.sink.commits import Committer, Decision, TaskPart, task_id
from towpath.dataframes.sink.messages import DriverTurn, TaskPlace, TaskWritten
from towpath.dataframes.sink.options import SinkOptions
from towpath.dataframes.sink.task import write_task
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
QUERY = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


@dataclass
class Driver:
    """A driver of a stream; another one of the same name is the same query after a restart."""

    admin: Admin
    options: SinkOptions

    def __post_init__(self) -> None:
        self.committer = Committer(self.admin, self.options, self.options.identity)
        self.turn = DriverTurn(ProducerEpoch(-1, -1))
        self.last = Decision()

    def begin(self) -> None:
        self.turn, self.last = self.committer.begin()

    def tasks(self, batch: int, count: int = 2) -> list[TaskWritten]:
        """Play the tasks of a micro-batch, as `StreamWriter.write` does."""
        return [self.task(batch, number) for number in range(count)]

    def task(self, batch: int, number: int) -> TaskWritten:
        name = self.options.identity
        place = TaskPlace(number, QUERY, batch, task_id(name, number))
        if self.last.query == QUERY and batch <= self.last.batch:
            return TaskWritten(place, driver=self.turn, was_written=True)
        rows = [f"{batch}-{number}-{row}".encode() for row in range(3)]
        found = pa.RecordBatch.from_pydict({"value": pa.array(rows, pa.binary())})
        return replace(write_task(self.options, place, [found]), driver=self.turn)

    def parts(self, written: Sequence[TaskWritten]) -> tuple[TaskPart, ...]:
        return tuple(
            TaskPart(each.place.task, each.who, each.records)
            for each in written
            if each.who is not None
        )


@pytest.fixture
def admin(target: LocalCluster) -> Iterator[Admin]:
    with Admin(ClusterConfig(bootstrap=target.addresses), Side.TARGET) as made:
        yield made


@pytest.fixture
def options(target: LocalCluster, new_name: NewName) -> SinkOptions:
    topic = create_topic(target.bootstrap, new_name("sink"), 2)
    cluster = ClusterConfig(bootstrap=target.addresses)
    return SinkOptions(cluster, topic, transactional_id=topic)


def values(target: LocalCluster, options: SinkOptions) -> list[str]:
    """Return what consumers of committed records see."""
    assert options.topic is not None
    found = consume(target.bootstrap, options.topic, (0, 1))
    return sorted(each.value.decode() for each in found if each.value is not None)


def rows_of(*batches: int) -> list[str]:
    return sorted(f"{b}-{n}-{row}" for b in batches for n in range(2) for row in range(3))


def test_a_driver_that_ends_anywhere_leaves_each_batch_once(
    target: LocalCluster, admin: Admin, options: SinkOptions
) -> None:
    first = Driver(admin, options)
    first.begin()
    first.committer.decide(first.tasks(0), 0)
    first.tasks(1)  # it ends before it decides
    wait_for(lambda: values(target, options), rows_of(0), "the records")

    second = Driver(admin, options)
    second.begin()
    assert (second.last.query, second.last.batch, second.last.parts) == (QUERY, 0, ())
    written = second.tasks(1)
    parts = second.parts(written)
    at = written[0].written[0].tp
    decided = Decision(second.turn.number + 1, QUERY, 1, parts)
    second.committer._write(second.turn.who, at, decided)
    second.committer._commit(1, parts[:1])  # it ends before it commits the other task's

    third = Driver(admin, options)
    third.begin()
    assert third.last.batch == 1
    wait_for(lambda: values(target, options), rows_of(0, 1), "the records")
    again = third.tasks(1)  # Spark plays the batch again
    assert all(each.was_written for each in again)
    third.committer.decide(third.tasks(2), 2)
    wait_for(lambda: values(target, options), rows_of(0, 1, 2), "the records")


def test_a_driver_that_was_replaced_commits_nothing(
    target: LocalCluster, admin: Admin, options: SinkOptions
) -> None:
    old, new = Driver(admin, options), Driver(admin, options)
    old.begin()
    late = old.tasks(0)
    new.begin()
    with pytest.raises(RefusedError, match=r"INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
        old.committer.decide(late, 0)
    old.committer.abort(late)
    written = new.tasks(0)
    new.committer.decide(written, 0)
    wait_for(lambda: values(target, options), rows_of(0), "the records")


def test_an_attempt_of_a_task_replaces_the_one_before(
    target: LocalCluster, admin: Admin, options: SinkOptions
) -> None:
    driver = Driver(admin, options)
    driver.begin()
    lost = driver.task(0, 0)
    driver.committer.decide(driver.tasks(0), 0)
    wait_for(lambda: values(target, options), rows_of(0), "the records")
    with pytest.raises(LateCommitError, match="the transaction of task 0 ended before"):
        driver.committer.commit_all([lost])
    wait_for(lambda: values(target, options), rows_of(0), "the records")


def test_a_batch_that_brokers_dropped_in_part_is_told(
    target: LocalCluster, admin: Admin, options: SinkOptions
) -> None:
    driver = Driver(admin, options)
    driver.begin()
    written = driver.tasks(0)
    parts = driver.parts(written)
    at = written[0].written[0].tp
    driver.committer._write(driver.turn.who, at, Decision(0, QUERY, 0, parts))
    driver.committer._of(1).fence(_soon())  # as the coordinator does when the time is over
    with pytest.raises(TornBatchError, match=r"batch 0 .* tasks 1 with 3 records"):
        Driver(admin, options).begin()
    brave = Driver(admin, replace(options, fails=False))
    brave.begin()
    wait_for(lambda: values(target, options), [f"0-0-{row}" for row in range(3)], "the records")
    brave.committer.decide(brave.tasks(1), 1)
    wait_for(lambda: len(values(target, options)), 9, "the records")


def test_a_decision_of_a_thousand_tasks_is_kept_whole(admin: Admin, options: SinkOptions) -> None:
    """It is longer than what brokers take as the text of one commit."""
    driver = Driver(admin, options)
    driver.begin()
    at = driver.task(0, 0).written[0].tp
    who = [ProducerEpoch((n * 7919) ** 3 % (1 << 60), n * 31 % (1 << 15)) for n in range(1000)]
    parts = tuple(TaskPart(n, each, n * 977) for n, each in enumerate(who))
    made = Decision(3, QUERY, 17, parts)
    assert len(made.text()) > 10_000
    for decision in (made, Decision(4, QUERY, 17)):
        driver.committer._write(driver.committer._driver.fence(_soon()), at, decision)
        driver.committer._driver.fence(_soon())  # once this was done, the group has it
        assert driver.committer.last() == (decision, at)


def _soon() -> Deadline:
    return Deadline.after(30)
