"""Groups that are promoted by themselves, before their topics, and what forbids it. Blocking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin.groups import GroupState
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.promotion.fleet import FleetFacts
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.promotion.promotion_scope import committed_by, groups_by_place, runs
from towpath.gateway.promotion.reasons.groups import of_commits
from towpath.gateway.promotion.reasons.producers import of_committers
from towpath.gateway.promotion.reasons.topics import of_topic
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.groups.left_behind import streams_topics
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms

Commits = Mapping[TopicPartition, Commit]


@dataclass(slots=True)
class GroupScope:
    """The groups of a request, and what is known of them at the source.

    Attributes:
        groups: The groups; `None` for those that the source does not have.
        commits: Their offsets there.
        forbidden: Why they cannot be promoted.
        told: What a rehearsal tells.
    """

    groups: dict[ClientGroup, GroupState | None] = field(default_factory=dict)
    commits: Mapping[ClientGroup, Commits] = field(default_factory=dict)
    forbidden: list[Reason] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def group_scope(
    at: PromotionResources,
    mirror: MirrorReads,
    facts: FleetFacts,
    names: Sequence[str],
) -> GroupScope:
    """Return the groups of a request, and what forbids to promote them without their topics.

    Args:
        at: What to work with; the ledger was read to its end.
        mirror: Which groups the link has.
        facts: What all gateways know: who waits, and what transactional ids did.
        names: The groups.

    Raises:
        ClusterError: A cluster does not answer.
    """
    link, routes = at.link, at.gateway.routes
    topics, waiting = at.call(lambda: {*routes.topics}), facts.waiting
    promoted = at.book.promoted_groups()
    scope, listing = GroupScope(), link.source.groups.listed()
    applications = streams_topics(names, link.source.topics.describe())
    scope.forbidden += [error.reason for error in listing.failed.values()]
    for name in names:
        state = listing.groups.get(name)
        group = ClientGroup(name) if state is None else state.group
        why = ""
        if name in promoted:
            why = "it was promoted before"
        elif not mirror.is_mirrored(name):
            why = "the link does not have it (`groups.include`)"
        elif state is None and name not in waiting:
            why = "the source does not have it, and no member of it waits at a gateway"
        elif state is not None and (group.kind is GroupKind.STREAMS or name in applications):
            why = "Kafka Streams restores state from its topics, so it moves with these"
        if why:
            scope.forbidden.append(_no(name, why))
        elif group.kind is GroupKind.SHARE:
            kind = str(group.kind)
            scope.forbidden.append(
                Reason.of(ReasonCode.PROMOTE_GROUP_KIND, group=str(group), kind=kind)
            )
        else:
            scope.groups[group] = state
    scope.told += told_waiting(link, filter(None, scope.groups.values()), waiting)
    scope.forbidden += members_there(link, scope.groups.values())
    _commits(link, scope)
    scope.forbidden += _topics(link, scope, topics)
    scope.forbidden += _transactional(link, scope, facts.seen)
    return scope


def _no(group: str, why: str) -> Reason:
    return Reason.of(ReasonCode.PROMOTE_GROUP, group=group, why=why)


def members_there(link: OpenLink, groups: Iterable[GroupState | None]) -> Iterator[Reason]:
    """Yield a reason for each group that has members at the source.

    Raises:
        ClusterError: It does not answer.
    """
    busy = [each for each in groups if each is not None and each.has_members]
    members = link.source.groups.members(busy)
    for each in busy:
        group = each.group
        if group in members.failed:
            yield members.failed[group].reason
        elif members[group]:
            first, count = members[group][0], len(members[group])
            code = ReasonCode.PROMOTE_GROUP_MEMBERS
            yield Reason.of(code, group=group.name, count=count, member=str(first))


def told_waiting(
    link: OpenLink, groups: Iterable[GroupState], waiting: Mapping[str, int]
) -> Iterator[str]:
    """Yield how many members of each group wait at the gateway, and who is at the source.

    Raises:
        ClusterError: It does not answer.
    """
    members = link.source.groups.members(groups)
    there = {group.name: found for group, found in members.items()}
    for name in sorted({*there, *waiting}):
        found, here = there.get(name, ()), waiting.get(name, 0)
        yield f"group {name}: {here} of {counted(here + len(found), 'member')} wait here"
        yield from (f"group {name}: {each} reads at the source" for each in found)


def _commits(link: OpenLink, scope: GroupScope) -> None:
    known = {group: each.coordinator for group, each in scope.groups.items() if each is not None}
    said = link.source.groups.offsets(known, known, telling=True)
    scope.commits = said
    scope.forbidden += [error.reason for error in said.failed.values()]
    scope.forbidden += of_commits(said)


def _topics(link: OpenLink, scope: GroupScope, promoted: set[str]) -> Iterator[Reason]:
    """Yield why the target does not have what groups read at the same offsets."""
    read = {tp.topic for commits in scope.commits.values() for tp in commits}
    mine = sorted(name for name in read if link.config.topics.matches(name))
    for group, commits in scope.commits.items():
        for topic in sorted({tp.topic for tp in commits} - {*mine}):
            yield _no(group.name, f"it has offsets in topic {topic}, which the link does not copy")
    open_ones = [name for name in mine if name not in promoted]
    there, mirrors = link.source.topics.describe(open_ones), link.target.topics.describe(open_ones)
    for name in open_ones:
        yield from of_topic(name, there.get(name), mirrors.get(name), link.books)
    if not runs(link) and (open_ones or not mine):
        yield Reason.of(ReasonCode.PROMOTE_NO_RUN, link=link.name)


def _transactional(
    link: OpenLink, scope: GroupScope, seen: Mapping[str, SeenTransactional]
) -> Iterator[Reason]:
    """Yield a reason for each transactional producer that commits offsets of the groups.

    A transaction is of one cluster, so such a group moves with the topics of its producer.
    """
    names = link.source.producers.transactional_ids()
    groups = {group: each for group, each in scope.groups.items() if each is not None}
    found = {(group.name, name) for name, each in seen.items() for group in groups
             if group.name in each.groups}  # fmt: skip
    if groups and names:
        at = groups_by_place(link, groups)
        writers = link.source.producers.states(at)
        committed = committed_by(link, writers, names)
        yield from of_committers(at, writers, names, committed, now_ms())
        found |= {
            (group, names.get(number, f"producer id {number}"))
            for each in committed.values()
            for number, theirs in each.items()
            for group in theirs
            if ClientGroup(group) in groups
        }
    for group, name in sorted(found):
        yield _no(group, f"transactional id {name} commits its offsets; promote it with its topics")


def ahead(
    commits: Mapping[ClientGroup, Commits], ends: Mapping[TopicPartition, int]
) -> tuple[ClientGroup, TopicPartition, int] | None:
    """Return an offset that the target does not reach, and by how many records; `None` for none."""
    for group, each in commits.items():
        for tp, commit in each.items():
            if commit.offset > ends.get(tp, -1):
                return group, tp, commit.offset - max(0, ends.get(tp, 0))
    return None
