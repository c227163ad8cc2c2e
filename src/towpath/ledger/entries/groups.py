"""Ledger entries about consumer groups: offsets at the source and on the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import (
    LinkName,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)


class SeenPosition(NamedTuple):
    """The committed offset of a group in one partition at the source.

    Attributes:
        partition: The partition.
        source: The offset at the source.
        base: The source offset that the target got last, -1 for none.
        target: What the target got for it, -1 for none.
        outcome: What became of `source`, in the words of docs/groups.md.
        metadata: The text that the client committed.
    """

    partition: int
    source: SourceOffset
    base: SourceOffset = SourceOffset(-1)
    target: TargetOffset = TargetOffset(-1)
    outcome: str = ""
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup:
    """A consumer group as last seen at the source, and its state on the target.

    Attributes:
        group: Its name at the source.
        of: Its kind.
        mirror_group: Its name on the target.
        state: Its state at the source, in the words of Kafka.
        at: When it was seen so, in ms since 1970.
        ids: The ids of its topics at the source; offsets mean nothing in a topic of another id.
        topics: Its positions by source topic, also in topics that are not mirrored.
        type: Its type at the source in the words of Kafka, in small letters; "" for unknown.
        committed: Since when nothing that the target has of it was committed anew, in ms since
            1970; 0 for unknown.
        mark: The mark under which a share group had all these positions; "" for unknown. While it
            is the same, nobody has set the group back.
    """

    kind: ClassVar[str] = "group"

    link: LinkName
    group: str
    of: GroupKind
    mirror_group: str
    state: str
    at: int
    ids: Mapping[TopicName, TopicId]
    topics: Mapping[TopicName, tuple[SeenPosition, ...]]
    type: str = ""
    committed: int = 0
    mark: str = ""

    @property
    def client(self) -> ClientGroup:
        """The group's name and kind."""
        return ClientGroup(self.group, self.of)

    @property
    def positions(self) -> dict[TopicPartition, SeenPosition]:
        """All positions by source partition."""
        return {
            TopicPartition(topic, each.partition): each
            for topic, seen in self.topics.items()
            for each in seen
        }

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.group,)
