"""The routing table: held and promoted topics and groups. For one event loop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Set
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from uuid import UUID

from towpath.cluster.metadata import Metadata
from towpath.gateway.client_logins import SeenLogins
from towpath.gateway.cut_table import CutTable
from towpath.gateway.gateway_lease import GatewayLease
from towpath.gateway.held_members import HeldMembers
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.seen_members import SeenMembers
from towpath.gateway.topic_ids import TopicIds
from towpath.gateway.topics_of_others import TopicsOfOthers
from towpath.gateway.transaction_routes import TransactionRoutes
from towpath.ledger.entries import Promoted, PromotedTopic
from towpath.model.nouns import Side, TopicName, TopicPartition


class Cluster(Enum):
    """One of the two clusters behind a gateway."""

    SOURCE = Side.SOURCE
    TARGET = Side.TARGET

    __hash__ = object.__hash__  # that of `Enum` takes a call in Python, for each request


class BrokerPlace(NamedTuple):
    """The destination of a request: one broker of a cluster, or any broker.

    Attributes:
        cluster: The cluster.
        broker: The broker's own id, `None` for any.
        as_link: Whether the gateway logs in there itself, for clients logged in elsewhere.
    """

    cluster: Cluster
    broker: int | None = None
    as_link: bool = False


SOURCE = BrokerPlace(Cluster.SOURCE)
TARGET = BrokerPlace(Cluster.TARGET)


@dataclass(slots=True)
class Routes:
    """The topics and groups that are held back or promoted now.

    Attributes:
        held: Topics whose producers are held.
        gathering: The members that come to a held join, `None` while nothing is promoted.
        topics: The promoted topics: the target serves them.
        source_ids: Their ids at the source, which clients know; `target_ids`, on the target.
        ids: Both, to be exchanged.
        returned_ids: The same of topics that went back, where clients know the target's ids.
        eras: How often each topic that was ever promoted went back to the source since. Brokers
            know producers under other ids in each era (`producer_eras.py`).
        back_ids: The ids, on both clusters, of topics that went back.
        groups: The promoted groups.
        of_source: Other groups that the source has.
        is_whole: Whether all topics of the link are promoted: new groups are the target's then.
        outside: Tells whether a topic is none of the file: the source keeps it, unless it was
            promoted.
        coming: Topics whose move has begun: their leaders on the target are looked at, too.
        turns: How often topics moved; `taken`, the names of these moves.
        table: What the cluster that served a topic before held of its producers.
        view: The promoted topics as the target tells them.
        view_back: The topics that went back lately, as the source tells them.
        rejoining: Members of KIP-848 that were gathered in vain: they have to join anew.
        is_interrupted: Whether a gateway before this one ended in the middle of a move, or behind
            one that was undone: members of KIP-848 may think that they have nothing, so each joins
            anew when it is first heard of since: `heard` has those.
        early: Promoted partitions of which a batch came behind a gap: the target may know more.
        transactions: Transactional ids, and what of them is held.
        seen: Members that were heard of through this gateway.
        logins: Logins of clients that clusters accepted.
        noted: The producers whose batches passed lately, `None` while nobody wants to know.
        source_away: Whether the source does not answer: what is promoted is served without it.
        lease: Whether anything may be sent to brokers, while several gateways promote.
        mirror: The topics that are read from the target before they are promoted, `None` where the
            source serves them.
        of_others: Topics that another link promoted: clients find them elsewhere.
    """

    held: frozenset[str] = frozenset()
    gathering: HeldMembers | None = None
    topics: set[str] = field(default_factory=set)
    eras: dict[str, int] = field(default_factory=dict)
    back_ids: dict[UUID, str] = field(default_factory=dict)
    source_ids: dict[UUID, str] = field(default_factory=dict)
    target_ids: dict[UUID, str] = field(default_factory=dict)
    ids: TopicIds = field(default_factory=TopicIds)
    returned_ids: TopicIds = field(default_factory=TopicIds)
    groups: set[str] = field(default_factory=set)
    of_source: frozenset[str] = frozenset()
    is_whole: bool = False
    outside: Callable[[str], bool] = lambda _: False
    coming: frozenset[str] = frozenset()
    turns: int = 0
    taken: set[str] = field(default_factory=set)
    table: CutTable = field(default_factory=CutTable)
    view: Metadata | None = None
    view_back: Metadata | None = None
    rejoining: set[tuple[str, str]] = field(default_factory=set)
    is_interrupted: bool = False
    heard: set[tuple[str, str]] = field(default_factory=set)
    early: set[tuple[str, int]] = field(default_factory=set)
    transactions: TransactionRoutes = field(default_factory=TransactionRoutes)
    seen: SeenMembers = field(default_factory=SeenMembers)
    logins: SeenLogins = field(default_factory=SeenLogins)
    noted: set[int] | None = None
    source_away: bool = False
    lease: GatewayLease = field(default_factory=GatewayLease)
    mirror: MirrorReads | None = None
    of_others: TopicsOfOthers = field(default_factory=TopicsOfOthers)

    @property
    def moving(self) -> bool:
        """Whether any topic or group is moving, or has moved before."""
        held = self.held or self.transactions.hold
        moves = self.eras or self.gathering or self.rejoining or held or self.is_interrupted
        return bool(moves or self.of_others)

    def move(self, record: Promoted) -> None:
        """Apply a move of topics to the target, or back, once."""
        if record.name in self.taken:
            return
        self.taken.add(record.name)
        self.turns += 1
        self.table.add(record.topics)
        self.transactions.move(record)
        if record.back:
            self.groups = (self.groups - {*record.groups}) | {*record.stay}
        else:
            self.groups |= {*record.groups}
        if self.mirror is not None:
            self._move_mirrors(self.mirror, record)
        for each in record.topics:
            self._move(each, back=record.back)

    def _move_mirrors(self, mirror: MirrorReads, record: Promoted) -> None:
        for group in record.groups:
            mirror.fenced.opened(group)
        mirror.move(record)
        if mirror.returned:
            self.groups = set()  # all topics go back together; other groups are the target's
        for each in record.topics:
            is_back = each.topic in mirror.returned
            change = self.returned_ids.add if is_back else self.returned_ids.remove
            change(UUID(each.target_id), UUID(each.source_id))

    def _move(self, each: PromotedTopic, *, back: bool) -> None:
        source_id, target_id = UUID(each.source_id), UUID(each.target_id)
        self.eras[each.topic] = each.era + back
        if back:
            self.topics.discard(each.topic)
            self.source_ids.pop(source_id, None)
            self.target_ids.pop(target_id, None)
            self.ids.remove(source_id, target_id)
            self.back_ids |= {source_id: each.topic, target_id: each.topic}
            return
        self.topics.add(each.topic)
        self.source_ids[source_id] = self.target_ids[target_id] = each.topic
        if self.mirror is None:  # else clients know the target alone
            self.ids.add(source_id, target_id)
        self.back_ids.pop(source_id, None)
        self.back_ids.pop(target_id, None)

    def is_elsewhere(self, topic: str, cluster: Cluster) -> bool:
        """Whether the other cluster serves a moved topic now."""
        if self.mirror is not None and self.mirror.returned:
            return (topic in self.mirror.returned) is (cluster is Cluster.TARGET)
        if self.is_of_others(topic):
            return cluster is Cluster.SOURCE
        return topic in self.eras and (topic in self.topics) is (cluster is Cluster.SOURCE)

    def is_of_others(self, topic: str) -> bool:
        """Whether another link has promoted a topic, and this one never."""
        return topic in self.of_others and topic not in self.eras

    def name_of(self, topic_id: UUID) -> str:
        """Return the promoted topic with an id of either cluster, "" for none."""
        return self.source_ids.get(topic_id) or self.target_ids.get(topic_id, "")

    def is_id_elsewhere(self, topic_id: UUID, cluster: Cluster) -> bool:
        """Whether the other cluster serves the topic with this id of either cluster."""
        if cluster is Cluster.SOURCE:
            ours = topic_id in self.source_ids or topic_id in self.target_ids
            return ours or topic_id in self.of_others.ids
        return topic_id in self.back_ids

    def undo(self) -> None:
        """Release everything that is held back; gathered KIP-848 members join again."""
        if self.gathering is not None:
            self.rejoining |= self.gathering.told
        self.held, self.gathering, self.transactions.hold = frozenset(), None, None

    def interrupt(self) -> None:
        """Note that a gateway ended in the middle of a move, and what its members may think."""
        self.is_interrupted = True
        self.heard.clear()

    def has_all(self, copied: Set[str]) -> bool:
        """Whether these topics, and all that were ever promoted, are promoted."""
        return bool(self.topics) and copied | self.eras.keys() <= self.topics

    def moves(self, group: str) -> bool:
        """Whether the target serves a group."""
        if self.mirror is not None:
            return group in self.groups or not self.mirror.is_back(group, self.of_source)
        return group in self.groups or (self.is_whole and group not in self.of_source)

    def begins_at_source(self, group: str, topics: Collection[str]) -> bool:
        """Note where a new group begins; return whether the target lacks all that it reads.

        What it reads is known only once it says so to a coordinator, so it looks for another one.
        """
        is_new = self.moves(group) and group not in self.groups and not self.source_away
        if not is_new or not topics:
            return False
        if self.mirror is not None:
            return self.mirror.begins_at_source(group, topics)
        if any(each in self.topics or not self.outside(each) for each in topics):
            self.groups.add(group)
            return False
        self.of_source |= {group}
        return True

    def gathers(self, group: str) -> HeldMembers | None:
        """Return the gathering that a group is part of, `None` if there is none."""
        found = self.gathering
        return found if found is not None and group in found.groups else None

    @staticmethod
    def leaves(gathering: HeldMembers) -> Cluster:
        """Return the cluster that the groups of a gathering leave."""
        return Cluster.TARGET if gathering.back else Cluster.SOURCE

    @property
    def is_closed(self) -> bool:
        """Whether offsets of groups are being written where they go on."""
        return self.gathering is not None and self.gathering.closed

    def awaits(self, group: str) -> bool:
        """Whether a group is new where topics are being moved from: it begins where they go on."""
        found = self.gathering
        return found is not None and found.is_new(group) and self.moves(group) is found.back

    def leader(self, topic: str, partition: int) -> BrokerPlace | None:
        """Return the leader of a promoted partition, `None` if it has none."""
        tp = TopicPartition(TopicName(topic), partition)
        broker = self.view.leader(tp) if self.view is not None else None
        return BrokerPlace(Cluster.TARGET, broker.id) if broker is not None else None

    def writes_to(self, topic: str, partition: int, home: BrokerPlace) -> BrokerPlace | None:
        """Return where records of a topic that was never promoted go, `None` for nowhere now.

        Args:
            topic: The topic.
            partition: Its partition.
            home: The broker that the client sent them to.
        """
        mirror = self.mirror
        if mirror is None:  # a mirror topic is not written by clients
            return home if home.cluster is Cluster.SOURCE else None
        if not mirror.is_linked(topic):
            return home if home.cluster is Cluster.TARGET else None
        broker = mirror.leader(topic, partition)
        return BrokerPlace(Cluster.SOURCE, broker) if broker is not None else None

    def fences(self, group: str) -> bool:
        """Whether members of a group wait, as it is one of the source that is not promoted."""
        mirror = self.mirror
        if mirror is None or mirror.returned:
            return False
        return group not in self.groups and mirror.is_mirrored(group)

    def leader_back(self, topic: str, partition: int) -> BrokerPlace | None:
        """Return the leader of a partition that went back, `None` if it is not known."""
        tp = TopicPartition(TopicName(topic), partition)
        broker = self.view_back.leader(tp) if self.view_back is not None else None
        return BrokerPlace(Cluster.SOURCE, broker.id) if broker is not None else None

    def promoted(self, names: Iterable[str]) -> set[str]:
        """Return the ones among some topics that the target alone has now.

        These are the promoted ones, and where mirrors are read those that the link does not have.
        """
        mirror = self.mirror
        if mirror is None:
            return self.topics.intersection(names)
        return {name for name in names if name in self.topics or not mirror.is_linked(name)}
