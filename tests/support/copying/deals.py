"""Slices of rounds that nobody copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from towpath.mirror.run.deals import Table
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.work import Assignment, CopySlice
from towpath.settings import ClusterConfig

CLUSTER = ClusterConfig(bootstrap=("host:1",))


def part(topic: str, number: int = 0) -> Assignment:
    """Return a partition of a slice."""
    tp = TopicPartition(TopicName(topic), number)
    return Assignment(
        source=tp,
        target=replace(tp, topic=TopicName(f"eu.{topic}")),
        source_id=TopicId("source"),
        target_id=TopicId("target"),
        producer_id=ProducerId(1 << 40),
        filler_id=ProducerId(1 << 41),
        start=SourceOffset(0),
    )


def table_of(
    hands: Sequence[Iterable[Assignment]], *, settled: bool = True, follows: int = 0
) -> Table:
    """Return the table of round 7, whose slices have these partitions."""
    return Table.of(slices_of(hands, 7, settled=settled, follows=follows), 7, settled=True)


def slices_of(
    hands: Sequence[Iterable[Assignment]], number: int, *, settled: bool = True, follows: int = 0
) -> list[CopySlice]:
    """Return the slices of a round, which have these partitions."""
    return [
        CopySlice(
            link=LinkName("link"),
            source=CLUSTER,
            target=CLUSTER,
            assignments=tuple(hand),
            run_id="run",
            round=number,
            seconds=60.0,
            number=n,
            settled=settled,
            follows=follows,
        )
        for n, hand in enumerate(hands)
    ]
