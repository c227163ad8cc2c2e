"""The checkpoints that MirrorMaker 2 wrote to the target."""

from __future__ import annotations

from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.mirror.mm2.policy import Policy, only_alias
from towpath.mirror.mm2.records import Checkpoint, NotOfMirrorMakerError
from towpath.model.nouns import TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class Seen:
    """A checkpoint with the time of its record, in ms since 1970."""

    checkpoint: Checkpoint
    at: int


@dataclass(slots=True)
class Checkpoints:
    """The last checkpoint of each group in each partition.

    Attributes:
        topic: Where they were read.
        groups: They, by group and partition of the target.
        newest: When the newest one was written, -1 where there is none.
        unreadable: Records that are no checkpoints.
        expired: Offsets of the topic that were deleted while it was read.
    """

    topic: TopicName
    groups: dict[str, dict[TopicPartition, Seen]] = field(default_factory=dict)
    newest: int = -1
    unreadable: int = 0
    expired: int = 0

    def take(self, key: bytes | None, value: bytes | None, at: int) -> None:
        """Add a record; the last record of each key counts."""
        try:
            found = Checkpoint.read(key or b"", value or b"")  # neither may be empty
        except NotOfMirrorMakerError:
            self.unreadable += 1
            return
        self.groups.setdefault(found.group, {})[found.tp] = Seen(found, at)
        self.newest = max(self.newest, at)


class CheckpointReader:
    """Reads a topic of checkpoints, and later the records added since.

    Attributes:
        found: What was read so far.
    """

    def __init__(self, admin: Admin, client: Client, topic: TopicName) -> None:
        self._topic = CommittedReader(admin, client, TopicPartition(topic, 0))
        self.found = Checkpoints(topic)

    def read(self) -> int:
        """Read up to the present end; return the number of new records.

        Raises:
            ClusterError: The topic cannot be read.
        """
        before = self._topic.records
        for record in self._topic.read():
            self.found.take(record.key, record.value, record.timestamp)
        self.found.expired = self._topic.expired
        return self._topic.records - before


def find_alias(admin: Admin, policy: Policy) -> str:
    """Return the alias of the only source whose checkpoints the target has.

    Raises:
        ClusterError: The target cannot be asked.
        ConfigError: There are none, or those of several sources.
    """
    suffix = policy.checkpoints_suffix
    names = sorted(name for name in admin.topics.describe() if name.endswith(suffix))
    none = (
        f"the target has no topic that ends with {suffix} and that this login may describe;"
        " name the alias of the source, and --separator if MirrorMaker 2's file has one"
    )
    return only_alias([name.removesuffix(suffix) for name in names], "checkpoints", none)
