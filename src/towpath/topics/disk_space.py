"""The disk usage of both clusters, and whether the target has space for the copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.admin.disks import Disks
from towpath.model.amounts import size
from towpath.model.errors import ClusterError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.plan.subject import Difference
from towpath.settings import LinkConfig, StartAt
from towpath.topics.observed import ObservedTopics
from towpath.topics.steps import CreateTopic, TopicStep


@dataclass(frozen=True, slots=True)
class DiskLook:
    """Bytes of the mirrored topics on the disks of both clusters.

    Attributes:
        source: The disks of the source; `None` if it does not tell.
        target: The disks of the target, likewise.
        replicas: The number of replicas that each mirror topic has or will have, by source topic.
        notes: Why something is not known.
    """

    source: Disks | None = None
    target: Disks | None = None
    replicas: Mapping[TopicName, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def look_at_disks(
    source: Admin, target: Admin, seen: ObservedTopics, found: Difference[TopicStep]
) -> DiskLook:
    """Ask both clusters for the bytes of the topics that can be mirrored."""
    replicas = _replicas(seen, found)
    if not replicas:
        return DiskLook()
    here = {topic.name: topic.partitions for topic in seen.source if topic.name in replicas}
    there = {found.topics[name]: count for name, count in here.items()}
    notes: list[Note] = []
    return DiskLook(
        _ask(source, Side.SOURCE, here, "how many bytes there are to copy", notes),
        _ask(target, Side.TARGET, there, "how many bytes its disks have free", notes),
        replicas,
        tuple(notes),
    )


def _ask(
    admin: Admin, side: Side, topics: Mapping[TopicName, int], what: str, notes: list[Note]
) -> Disks | None:
    try:
        return admin.disks.describe(topics)
    except ClusterError as error:
        space = "whether the target's disks have space for the mirror topics"
        notes.append(Note(side, f"{error}; until then it is not known {what}, nor {space}"))
        return None


def check_disk_space(
    config: LinkConfig, disks: DiskLook, names: Mapping[TopicName, TopicName]
) -> Iterator[Note | Problem]:
    """Compare the free space on the target's disks with the bytes still to be copied.

    Batches are copied as they are, so a mirror topic needs as much space as its source topic. The
    placement of new replicas is not known, so the disks of all brokers count together.

    Args:
        config: The link.
        disks: What both clusters said.
        names: The mirrored topics, with their names on the target.
    """
    here, there = disks.source, disks.target
    if here is None or there is None or config.records.start is not StartAt.EARLIEST:
        return
    if there.free is None:
        yield Note("target", _UNKNOWN)
        return
    lacking = 0
    for tp in here.replicas:
        has = there.replicas.get(TopicPartition(names[tp.topic], tp.partition), {})
        needed = disks.replicas[tp.topic] * (here.size(tp) or 0)
        lacking += max(0, needed - sum(has.values()))
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
