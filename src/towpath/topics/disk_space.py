"""Whether the target's disks have space for the records that are still to be copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig, StartAt
from towpath.model.amounts import size
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicName, TopicPartition
from towpath.plan.subject import Difference
from towpath.topics.observed import ObservedTopics
from towpath.topics.steps import CreateTopic, TopicStep


def room(
    config: LinkConfig,
    source: Admin,
    target: Admin,
    seen: ObservedTopics,
    found: Difference[TopicStep],
) -> Iterator[Note | Problem]:
    """Compare the free space on the target's disks with the bytes still to be copied.

    Batches are copied as they are, so a mirror topic needs as much space as its source topic. The
    placement of new replicas is not known, so the disks of all brokers count together.
    """
    replicas = _replicas(seen, found)
    if not replicas or config.records.start is not StartAt.EARLIEST:
        return
    topics = {topic.name: topic for topic in seen.source if topic.name in replicas}
    names = found.topics
    mirrors = {names[name]: topic.partitions for name, topic in topics.items()}
    try:
        there = target.disks.describe(mirrors)
        here = source.disks.describe({name: topic.partitions for name, topic in topics.items()})
    except ClusterError as error:
        what = "whether the disks have space for the mirror topics"
        text = f"{error}; until then it is not known {what}"
        yield Note("target", text)
        return
    if there.free is None:
        yield Note("target", _UNKNOWN)
        return
    lacking = sum(
        max(0, replicas[tp.topic] * max(sizes) - sum(there.replicas.get(_copy(tp, names), ())))
        for tp, sizes in here.replicas.items()
    )
    if lacking > there.free:
        yield Problem("target", _full(lacking, there.free), Cause.SUBJECT)


_UNKNOWN = (
    "the brokers do not tell the free space on their disks (KIP-827, Kafka 3.3), so it is not known"
    " whether they have space for the mirror topics"
)


def _full(lacking: int, free: int) -> str:
    return (
        f"the mirror topics need about {size(lacking)} more, and the disks of all brokers together"
        f" have {size(free)} free; add disk space, mirror fewer topics, or set a lower"
        " `topics.replication_factor`"
    )


def _replicas(seen: ObservedTopics, found: Difference[TopicStep]) -> dict[TopicName, int]:
    """Return the number of replicas that each mirror topic has or will have, by source topic."""
    replicas = {
        name: seen.target[mirror].replication_factor
        for name, mirror in found.topics.items()
        if mirror in seen.target
    }
    for step in found.steps:
        if isinstance(step, CreateTopic):
            asked = step.replication_factor
            replicas[step.source] = asked if asked > 0 else seen.default_replicas or 1
    return replicas


def _copy(tp: TopicPartition, names: Mapping[TopicName, TopicName]) -> TopicPartition:
    return TopicPartition(names[tp.topic], tp.partition)
