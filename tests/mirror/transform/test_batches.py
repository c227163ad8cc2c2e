"""What a driver plans next, beside tasks that were killed and topics that were made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka import create_topic
from tests.support.transformed_link import TransformedLink
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger import transformed
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.transformed import PositionsTopic, encode, transactional_id
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.transformed import rows_of
from towpath.mirror.transform.batches import BatchPlanner
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.runtime.deadline import Deadline
from towpath.settings import load
from towpath.wire import plain

pytestmark = pytest.mark.broker


@dataclass
class Driver:
    """The planner of a link with two partitions of five records each."""

    link: OpenLink
    positions: PositionsTopic
    client: Client
    planner: BatchPlanner
    rows: tuple[PartitionStatus, ...]
    ids: dict[TopicName, TopicId]

    def put(self, wanted: Any) -> None:
        """Write the position behind a range, as its task does before it commits."""
        own = self.link.target.producers.transactions(
            transactional_id(self.link.config.link, wanted.part.tp)
        )
        own.add(wanted.who, [self.positions.tp], Deadline.after(30))
        end = wanted.part.end
        batch = plain.encode(
            [encode(wanted.part.tp, wanted.before.then(end, end, end))],
            producer_id=wanted.who.producer_id,
            producer_epoch=wanted.who.epoch,
            base_sequence=0,
            transactional=True,
        )
        self.client.produce(self.positions.tp, memoryview(batch), own.transactional_id)

    def commit(self, wanted: Any) -> None:
        self.put(wanted)
        own = self.link.target.producers.transactions(
            transactional_id(self.link.config.link, wanted.part.tp)
        )
        own.end(wanted.who, Deadline.after(30), commit=True)


@pytest.fixture
def driver(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Iterator[Driver]:
    made = TransformedLink(source, target, new_name("planned"), tmp_path)
    create_topic(source.bootstrap, made.topic, 2)
    made.produced(range(10))
    config = load(made.write(None, topics={"partitions": 2}), transforms=True)
    assert config.transforms is not None
    with open_link(config) as link, Client(config.target, Side.TARGET, link.target) as client:
        positions = PositionsTopic(link.target, client, config.link)
        positions.create()
        info = link.source.topics.find(TopicName(made.topic))
        assert info is not None
        yield Driver(
            link,
            positions,
            client,
            BatchPlanner(link, positions, config.transforms),
            rows_of(config, link.books, link.source, {}),
            {info.name: info.id},
        )


def test_a_task_that_was_killed_before_its_commit_holds_no_other_partition_back(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformed, "_PATIENCE", 5.0)
    first, second = driver.planner.plan(driver.rows, driver.ids).ranges
    driver.put(second)
    [again] = driver.planner.plan(driver.rows[:1], driver.ids).ranges
    assert (again.part, again.who != first.who) == (first.part, True)
    [behind] = driver.planner.plan(driver.rows[1:], driver.ids).ranges
    assert behind.part == second.part, "its position is not committed"


def test_a_topic_that_was_made_again_since_the_last_look_is_not_read_in_the_middle(
    driver: Driver,
) -> None:
    first, _ = driver.planner.plan(driver.rows, driver.ids).ranges
    driver.commit(first)
    again = {name: TopicId("made-again") for name in driver.ids}
    planned = driver.planner.plan(driver.rows[:1], again)
    assert (planned.ranges, dict(planned.errors)) == ((), {})
