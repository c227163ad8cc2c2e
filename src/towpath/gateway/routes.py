"""What is held, and what is promoted: where requests go now. For one event loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

from towpath.cluster.metadata import Metadata
from towpath.gateway.cut import CutTable
from towpath.gateway.gathering import Gathering
from towpath.ledger.entries import Promoted
from towpath.model.nouns import Side, TopicName, TopicPartition


class Cluster(Enum):
    """The cluster of a place."""

    SOURCE = Side.SOURCE
    TARGET = Side.TARGET


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """Where a request goes: a broker of a cluster, or any of them.

    Attributes:
        cluster: The cluster.
        broker: The broker's own id, `None` for any.
    """

    cluster: Cluster
    broker: int | None = None


SOURCE = BrokerPlace(Cluster.SOURCE)
TARGET = BrokerPlace(Cluster.TARGET)


@dataclass(slots=True)
class Routes:
    """What is held and promoted now.

    Attributes:
        held: Topics whose producers are held.
        gathering: The members that come to a held join, `None` while nothing is promoted.
        topics: The promoted topics.
        source_ids: Their ids at the source; `target_ids`, on the target.
        groups: The promoted groups.
        of_source: Other groups that the source has.
        is_whole: Whether all topics of the link are promoted: new groups are the target's then.
        turns: How many promotions there were.
        table: What the source held of producers.
        view: The promoted topics as the target tells them.
        rejoining: Members of KIP-848 that were gathered in vain: they have to join anew.
        early: Promoted partitions of which a batch came behind a gap: the target may know more.
        transacting: Groups whose offsets were committed in transactions.
        seen: Members that were heard of through this gateway, by group.
    """

    held: frozenset[str] = frozenset()
    gathering: Gathering | None = None
    topics: set[str] = field(default_factory=set)
    source_ids: dict[UUID, str] = field(default_factory=dict)
    target_ids: dict[UUID, str] = field(default_factory=dict)
    groups: set[str] = field(default_factory=set)
    of_source: frozenset[str] = frozenset()
    is_whole: bool = False
    turns: int = 0
    table: CutTable = field(default_factory=CutTable)
    view: Metadata | None = None
    rejoining: set[tuple[str, str]] = field(default_factory=set)
    early: set[tuple[str, int]] = field(default_factory=set)
    transacting: set[str] = field(default_factory=set)
    seen: dict[str, set[str]] = field(default_factory=dict)

    def promote(self, record: Promoted) -> None:
        """Take in a promotion."""
        self.turns += 1
        self.table.add(record.topics)
        self.groups |= {*record.groups}
        for each in record.topics:
            self.topics.add(each.topic)
            self.source_ids[UUID(each.source_id)] = each.topic
            self.target_ids[UUID(each.target_id)] = each.topic

    def undo(self) -> None:
        """Hold nothing any more; members of KIP-848 that were gathered join anew."""
        if self.gathering is not None:
            self.rejoining |= self.gathering.told
        self.held, self.gathering = frozenset(), None

    def moves(self, group: str) -> bool:
        """Whether the target serves a group."""
        return group in self.groups or (self.is_whole and group not in self.of_source)

    def gathers(self, group: str) -> Gathering | None:
        """Return the gathering of members, if a group is part of it."""
        found = self.gathering
        return found if found is not None and group in found.groups else None

    def saw(self, group: str, member: str) -> None:
        """Take in that a member was heard of."""
        self.seen.setdefault(group, set()).add(member)

    def leader(self, topic: str, partition: int) -> BrokerPlace | None:
        """Return the leader of a promoted partition, `None` if it has none."""
        tp = TopicPartition(TopicName(topic), partition)
        broker = self.view.leader(tp) if self.view is not None else None
        return BrokerPlace(Cluster.TARGET, broker.id) if broker is not None else None

    def promoted(self, names: Iterable[str]) -> set[str]:
        """Return those of the topics that are promoted."""
        return self.topics.intersection(names)


def coming(routes: Routes, members: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return members that were never heard of through this gateway, by group."""
    left = {
        group: sorted(set(names) - routes.seen.get(group, set()))
        for group, names in members.items()
    }
    return {group: names for group, names in left.items() if names}
