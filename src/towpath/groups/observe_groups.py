"""The observation of both clusters' groups in few requests, and the ledger's knowledge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import GroupState
from towpath.cluster.metadata import Broker, TopicInfo
from towpath.groups.kinds import unable_kinds
from towpath.groups.shares import ShareStand, stands
from towpath.ledger.books import LinkBooks
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.runtime.clock import now_ms
from towpath.settings import GroupsConfig

_STREAMS = "stream"
"""The assignor of Kafka Streams (StreamsPartitionAssignor)."""
_PATIENCE = 5.0
"""Seconds that leaders get, each of which is asked once; the next sync asks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceGroup:
    """A group at the source.

    Attributes:
        group: Its name and kind.
        state: Its state in the words of Kafka, "" where the ledger tells of it.
        has_members: Whether clients are members of it.
        at: When it was seen so, in ms since 1970.
        commits: Where it stands.
        type: Its type in the words of Kafka, in small letters; "" for unknown.
        stands: What is known of a share group in each partition.
        pending: Partitions in which an open transaction commits an offset.
        mark: The mark of a share group, unchanged while it was looked at; "" for unknown.
    """

    group: ClientGroup
    state: str
    has_members: bool
    at: int
    commits: Mapping[TopicPartition, Commit]
    type: str = ""
    stands: Mapping[TopicPartition, ShareStand] = field(default_factory=dict)
    pending: frozenset[TopicPartition] = frozenset()
    mark: str = ""

    @property
    def reads(self) -> frozenset[TopicPartition]:
        """The partitions in which it has an offset, or gets one when its transaction ends."""
        return self.pending | self.commits.keys()

    def only(self, wanted: Callable[[TopicPartition], bool]) -> SourceGroup:
        """Return the group with what it has in some partitions."""
        return replace(
            self,
            commits={tp: at for tp, at in self.commits.items() if wanted(tp)},
            stands={tp: at for tp, at in self.stands.items() if wanted(tp)},
            pending=frozenset(filter(wanted, self.pending)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceView:
    """The groups at the source that the file asks for.

    Attributes:
        groups: Those that have an offset somewhere, by name.
        ids: The ids of the topics that they read, as far as these exist.
        hidden: Topics that cannot be described, and why.
        failed: Groups whose offsets are not known, and why.
        unlisted: Why some groups may be missing.
        listed: The names of all groups that the source listed.
        remembered: Groups of which the ledger tells all, or a part, and why the source does not.
    """

    groups: Mapping[str, SourceGroup] = field(default_factory=dict)
    ids: Mapping[TopicName, TopicId] = field(default_factory=dict)
    hidden: Mapping[TopicName, ClusterError] = field(default_factory=dict)
    failed: Mapping[ClientGroup, ClusterError] = field(default_factory=dict)
    unlisted: tuple[ClusterError, ...] = ()
    listed: frozenset[str] = frozenset()
    remembered: Mapping[ClientGroup, Reason] = field(default_factory=dict)


def source_now(
    config: GroupsConfig,
    source: Admin,
    *,
    stable: Callable[[TopicPartition], bool] | None = None,
) -> SourceView:
    """Observe the groups at the source.

    Args:
        config: What the file asks for.
        source: The source.
        stable: Tells of which partitions a group fails if an open transaction may change its
            offset there; by default of none. While a link runs, what such a group has committed
            before is taken and marked, the rest later.

    Raises:
        ClusterError: The source cannot be reached.
    """
    listing = source.groups.listed()
    wanted = [each for name, each in listing.groups.items() if config.matches(name)]
    known = {each.group: each.coordinator for each in wanted}
    said, now = source.groups.offsets(known, known, stable=stable, telling=True), now_ms()
    shares = {each: said[each] for each in said if each.kind is GroupKind.SHARE and said[each]}
    sharing = {group: known[group] for group in shares}
    marks = source.groups.share_marks(sharing)
    there = stands(source, shares, known)
    after = source.groups.share_marks(sharing)
    groups = {
        each.group.name: SourceGroup(
            group=each.group,
            state=each.state,
            has_members=each.has_members,
            at=now,
            commits={tp: at for tp, at in said[each.group].items() if at.offset >= 0},
            pending=frozenset(tp for tp, at in said[each.group].items() if at.pending),
            type=each.type.lower(),
            stands=there.get(each.group, {}),
            mark=_if_same(marks.get(each.group, ""), after.get(each.group, "")),
        )
        for each in wanted
        if said.get(each.group)
    }
    topics = source.topics.describe({tp.topic for each in groups.values() for tp in each.commits})
    return SourceView(
        groups=groups,
        ids={name: info.id for name, info in topics.items() if info.error is None},
        hidden={name: info.error for name, info in topics.items() if info.error is not None},
        failed=said.failed,
        unlisted=tuple(listing.failed.values()),
        listed=frozenset(listing.groups),
    )


def _if_same(before: str, after: str) -> str:
    return before if before == after else ""


def source_known(config: GroupsConfig, books: LinkBooks) -> SourceView:
    """Return the groups as the ledger last saw them, for when the source is unreachable."""
    ids: dict[TopicName, TopicId] = {}
    groups = {}
    for name, seen in books.groups.items():
        if config.matches(name):
            ids |= seen.ids
            groups[name] = SourceGroup(
                group=seen.client,
                state="",
                has_members=False,
                at=seen.at,
                type=seen.type,
                commits={
                    tp: Commit(each.source, each.metadata) for tp, each in seen.positions.items()
                },
            )
    return SourceView(groups=groups, ids=ids, listed=frozenset(groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """The mirror groups on the target, and the mirror topics that they read.

    Attributes:
        groups: The groups of the target by name, as far as they are listed.
        commits: Where mirror groups stand; empty where the target knows nothing of them.
        failed: Mirror groups of which that is not known, and why.
        topics: The mirror topics that exist.
        starts: Where their logs start.
        ends: Where their logs end.
        silent: Partitions that do not tell that, and why.
        unlisted: Why some groups may be missing.
        unable: Kinds of groups among those asked for that the target does not take, and why.
        held: Groups whose members are those of Kafka Streams applications (classic protocol). One
            that was closed does not leave, so it holds its group for its session timeout (KIP-812).
        untold: Groups with members of which that is not known, and why.
    """

    groups: Mapping[str, GroupState] = field(default_factory=dict)
    commits: Mapping[ClientGroup, Mapping[TopicPartition, Commit]] = field(default_factory=dict)
    failed: Mapping[ClientGroup, ClusterError] = field(default_factory=dict)
    topics: Mapping[TopicName, TopicInfo] = field(default_factory=dict)
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    silent: Mapping[TopicPartition, ClusterError] = field(default_factory=dict)
    unlisted: tuple[ClusterError, ...] = ()
    unable: Mapping[GroupKind, Reason] = field(default_factory=dict)
    held: frozenset[ClientGroup] = frozenset()
    untold: Mapping[ClientGroup, ClusterError] = field(default_factory=dict)


def target_now(
    target: Admin, groups: Iterable[ClientGroup], tps: Iterable[TopicPartition]
) -> TargetView:
    """Observe the mirror groups on the target.

    Args:
        target: The target.
        groups: The mirror groups.
        tps: The target partitions.

    Raises:
        ClusterError: The target cannot be reached.
    """
    listing = target.groups.listed()
    wanted, places = frozenset(groups), tuple(tps)
    unable = unable_kinds(target, {each.kind for each in wanted})
    # Where every broker lists its groups, one that is not listed has no offsets. Asking for its
    # coordinator would create the brokers' topic of offsets, and so change the target.
    known = listing.groups if not listing.failed else {each.name for each in wanted}
    absent = [each for each in wanted if each.name not in known or each.kind in unable]
    asked = wanted.difference(absent)
    said = target.groups.offsets(asked, known_coordinators(listing.groups, asked))
    topics = target.topics.describe({tp.topic for tp in places})
    there = [tp for tp in places if tp.topic in topics]
    starts = target.offsets.earliest(there, patience=_PATIENCE)
    ends = target.offsets.latest(there, patience=_PATIENCE)
    return TargetView(
        groups=listing.groups,
        commits={**said, **{each: {} for each in absent}},
        failed=said.failed,
        topics=topics,
        starts=dict(starts),
        ends=dict(ends),
        silent={**starts.failed, **ends.failed},
        unlisted=tuple(listing.failed.values()),
        unable=unable,
    )


def with_blocked_groups(
    target: Admin, view: TargetView, groups: Iterable[ClientGroup]
) -> TargetView:
    """Return the view, with the groups that classic Kafka Streams members block.

    Args:
        target: The target.
        view: The target as it was seen.
        groups: The mirror groups that members keep from being written.

    Raises:
        ClusterError: The target cannot be reached.
    """
    there = {each: view.groups.get(each.name) for each in groups}
    joined = [each for each, at in there.items() if at is not None and at.is_classic]
    if not joined:
        return view
    said = target.groups.assignors(joined)
    held = frozenset(each for each in said if said[each] == _STREAMS)
    return replace(view, held=held, untold=said.failed)


def surely(target: Admin, view: TargetView, groups: Iterable[ClientGroup]) -> TargetView:
    """Ask coordinators about mirror groups that no broker listed, before writing them.

    A group whose coordinator has just moved is in no listing, and may stand further than we know.

    Args:
        target: The target.
        view: The target as it was seen.
        groups: The mirror groups that are to be written.

    Raises:
        ClusterError: The target cannot be reached.
    """
    absent = [each for each in groups if each.name not in view.groups]
    if not absent:
        return view
    said = target.groups.offsets(absent)
    if not said.failed and all(view.commits.get(each) == said[each] for each in absent):
        return view
    kept = {group: each for group, each in view.commits.items() if group not in said.failed}
    # An end that was read before a commit could seem to lie before it.
    stands = {tp for each in said.values() for tp in each if tp in view.ends}
    ends = target.offsets.latest(stands, patience=_PATIENCE)
    return replace(
        view,
        commits={**kept, **said},
        failed={**view.failed, **said.failed},
        ends={**view.ends, **ends},
        silent={**view.silent, **ends.failed},
    )


def known_coordinators(
    listed: Mapping[str, GroupState], groups: Iterable[ClientGroup]
) -> dict[ClientGroup, Broker]:
    """Return the coordinators of listed groups."""
    return {each: listed[each.name].coordinator for each in groups if each.name in listed}
