"""Two topics written by hand, batch by batch, and compared without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from confluent_kafka.admin import AdminClient

from tests.support.kafka import PATIENCE, create_topic, wait_until
from tests.support.ledger.runs import run
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.slice import compare
from towpath.compare.work import CompareSlice, Comparison, LinkChanges, Range
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Run
from towpath.model.nouns import ProducerId, Side, SourceOffset, TopicName, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire.naming import IdSample
from towpath.wire.records import RECORDS, encode

US = ProducerId(1 << 41)
Row = dict[str, Any]


def row(
    key: bytes | None, value: bytes | None, time: int = 1000, headers: Sequence[Any] = ()
) -> Row:
    """Return one record; headers are pairs of name and value."""
    pairs = [{"name": name, "value": value} for name, value in headers]
    return {"offset": 0, "timestamp": time, "key": key, "value": value, "headers": pairs}


def rows(count: int, first: int = 0) -> list[Row]:
    """Return different records."""
    return [row(b"key-%d" % i, b"value-%d" % i * 3, i) for i in range(first, first + count)]


@dataclass
class Topic:
    """One topic of one partition, written through our own client."""

    cluster: LocalCluster
    side: Side
    topic: str
    config: dict[str, str] = field(default_factory=dict)
    sequence: int = 0
    epoch: int = 0

    def __post_init__(self) -> None:
        create_topic(self.cluster.bootstrap, self.topic, 1, self.config)

    @property
    def tp(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(TopicName(self.topic), 0)

    @property
    def access(self) -> ClusterConfig:
        """How to reach it."""
        return ClusterConfig.model_validate({"bootstrap": self.cluster.bootstrap})

    def write(
        self, batches: Iterable[Sequence[Row]], codec: int = 0, producer: int | None = None
    ) -> None:
        """Write batches of records, on the target as ours if not told otherwise."""
        ours = self.side is Side.TARGET and producer is None
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(self.access, self.side))
            client = stack.enter_context(Client(self.access, self.side, admin))
            for batch in batches:
                table = pa.RecordBatch.from_pylist(list(batch), schema=RECORDS)
                told = (US, self.epoch, self.sequence) if ours else (-1, -1, -1)
                client.produce(
                    self.tp,
                    encode(
                        table, codec, producer_id=told[0], producer_epoch=told[1],
                        base_sequence=told[2],
                    ),
                )  # fmt: skip
                self.sequence += len(batch) * ours

    def forget(self) -> None:
        """Take sequence 0 next, as a target does that has forgotten the producer id."""
        self.sequence, self.epoch = 0, self.epoch + 1

    def delete_before(self, offset: int) -> None:
        """Do what retention does."""
        with Admin(self.access, self.side) as admin:
            admin.offsets.delete_records({self.tp: offset})


@dataclass
class Pair:
    """A source and its target."""

    source: Topic
    target: Topic

    @classmethod
    def make(
        cls, source: LocalCluster, target: LocalCluster, name: str, **config: dict[str, str]
    ) -> Pair:
        """Create both topics; `source_config` and `target_config` are their configs."""
        return cls(
            Topic(source, Side.SOURCE, name, config.get("source_config", {})),
            Topic(target, Side.TARGET, name, config.get("target_config", {})),
        )

    def compare(
        self,
        end: int,
        runs: Sequence[Run] = (),
        ids: IdSample | None = None,
        changes: LinkChanges | None = None,
        **facts: Any,
    ) -> Comparison:
        """Compare source offsets from 0 to `end`, by default with the same ones on the target."""
        known = tuple(runs) or (run(0, 0, end),)
        told: dict[str, Any] = {"first": 0, "target_first": 0, "target_end": sum(known[-1][1:])}
        part = Range(
            source=self.source.tp,
            target=self.target.tp,
            writers=frozenset({US}),
            end=SourceOffset(end),
            runs=known,
            **(told | facts),
        )
        work = CompareSlice(
            self.source.access, self.target.access, (part,), ids=ids, changes=changes
        )
        [found] = compare(work)
        assert Comparison.from_json(found.to_json()) == found
        return found


class TargetLog:
    """Partition 0 of a topic on the target, in the hands of somebody who tampers with it."""

    def __init__(self, cluster: LocalCluster, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        access = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
        self._admin = Admin(access, Side.TARGET)
        self._client = Client(access, Side.TARGET, self._admin)

    def __enter__(self) -> TargetLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._admin.close()

    def append(self, records: Sequence[Row], producer: int, sequence: int) -> None:
        """Write records as if they were mirrored."""
        table = pa.RecordBatch.from_pylist(list(records), schema=RECORDS)
        batch = encode(table, producer_id=producer, producer_epoch=0, base_sequence=sequence)
        self._client.produce(TopicPartition(TopicName(self._topic), 0), batch)

    def make_again(self, partitions: int) -> None:
        """Delete the topic and create it again."""
        admin = AdminClient({"bootstrap.servers": self._cluster.bootstrap})
        admin.delete_topics([self._topic])[self._topic].result(PATIENCE)
        wait_until(
            lambda: not self._admin.topics.describe([TopicName(self._topic)]),
            "the topic was deleted",
        )
        create_topic(self._cluster.bootstrap, self._topic, partitions)
