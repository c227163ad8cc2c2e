"""The topics and groups that a promotion would move, and what forbids it. Blocking, read-only."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from towpath.cluster.admin.groups import GroupListing, GroupState
from towpath.cluster.metadata import Answers, ProducerState, TopicInfo, every_partition
from towpath.gateway.producer_eras import is_relayed
from towpath.gateway.promotion.committed_groups import CommittedGroups, committed_groups
from towpath.gateway.promotion.reasons.groups import of_groups, of_streams
from towpath.gateway.promotion.reasons.logins import of_settings
from towpath.gateway.promotion.reasons.producers import (
    is_transactional,
    of_committers,
    of_producers,
    unrelayed,
)
from towpath.gateway.promotion.reasons.topics import of_topic
from towpath.gateway.promotion.reasons.transactional import of_transactional
from towpath.gateway.promotion.streams_topics import barred, inner_topics
from towpath.gateway.promotion.transaction_scope import (
    OFFSETS,
    TransactionLook,
    joined_ids,
    unused_ids,
)
from towpath.gateway.transaction_routes import TransactionRoutes
from towpath.ledger.alive import Life, RunLife
from towpath.ledger.link import OpenLink
from towpath.model.amounts import shortened
from towpath.model.groups import ClientGroup
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.plan.lease import last_signs
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline

_NAMED = 10
"""Topics that a reason names at most."""
_AHEAD = 10_000
"""Milliseconds by which the clock of a run may be ahead."""
_BEATS, _LOOK = 6.0, 0.2
"""Seconds within which a run that lives gives a sign of life: it does so every two."""


@dataclass(slots=True)
class PromotionScope:
    """The topics, partitions and groups that a promotion moves.

    Attributes:
        topics: The topics as the source has them; `mirrors`, as the target has them.
        groups: The groups that read them.
        others: Other groups of the source.
        producers: Producers that write through a gateway, by partition.
        sequences: Epoch and last sequence of the others but for transactional ones, by partition.
        transactional: The transactional ids that move; `marked`, the producer ids of all that wrote
            in transactions.
        known: All transactional ids of the cluster that is left.
        stay: Transactional ids that write to other topics of the source.
        apart: Those of which gateways heard, and that do not move.
        settled: Groups that moved before their topics.
        forbidden: Why it cannot be.
        told: What a rehearsal tells besides.
    """

    topics: Mapping[TopicName, TopicInfo]
    mirrors: Mapping[TopicName, TopicInfo] = field(default_factory=dict)
    groups: dict[ClientGroup, GroupState] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    producers: dict[TopicPartition, tuple[ProducerState, ...]] = field(default_factory=dict)
    sequences: dict[tuple[TopicPartition, ProducerId], tuple[int, int]] = field(
        default_factory=dict
    )
    transactional: frozenset[str] = frozenset()
    marked: frozenset[ProducerId] = frozenset()
    known: frozenset[str] = frozenset()
    stay: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    forbidden: list[Reason] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions of the topics."""
        return every_partition(self.topics)


def scope_of(
    link: OpenLink,
    wanted: Sequence[TopicName],
    promoted: Set[str],
    ids: TransactionRoutes,
    *,
    back: bool = False,
    settled: Set[str] = frozenset(),
) -> PromotionScope:
    """Return the topics and groups of a promotion, and what forbids it.

    Args:
        link: The link that copies; its books are read anew.
        wanted: The topics, none for all of the link that may move.
        promoted: Topics that are promoted already.
        ids: Transactional ids that moved, and those that were heard of; a copy.
        back: They are to go back, so only promoted ones may move.
        settled: Groups that moved before their topics, and so stay where they are.

    Raises:
        ClusterError: A cluster does not answer.
        LedgerError: The link joins other clusters, or a newer version wrote of it.
    """
    link.look()
    copied = {tp.topic for tp, each in link.books.partitions.items() if each.opened}
    names = [name for name in wanted or sorted(copied) if (name in promoted) is back]
    found = link.source.topics.describe(names)
    scope = PromotionScope({name: found[name] for name in names if name in found})
    scope.settled = frozenset(settled)
    scope.mirrors = link.target.topics.describe(names)
    scope.forbidden += of_settings(link.config)
    if not names:
        scope.forbidden.append(_nothing({*wanted} or copied & promoted, back=back))
    if not runs(link):
        scope.forbidden.append(Reason.of(ReasonCode.PROMOTE_NO_RUN, link=link.name))
    for name in names:
        there, mirror = found.get(name), scope.mirrors.get(name)
        included = link.config.topics.matches(name)
        scope.forbidden += of_topic(name, there, mirror, link.books, included=included)
    names_of = {
        number: each
        for number, each in link.source.producers.transactional_ids().items()
        if ids.is_moved(each) is back
    }
    scope.known = frozenset(names_of.values())
    is_whole = promoted <= scope.topics.keys() if back else copied <= promoted | scope.topics.keys()
    _producers(link, scope, names_of, ids, back=back, is_whole=is_whole)
    return scope


def _nothing(promoted: Set[str], *, back: bool) -> Reason:
    """Return the reason why there is nothing to move."""
    if back:
        return Reason.of(ReasonCode.REVERT_NOTHING)
    if not promoted:
        return Reason.of(ReasonCode.PROMOTE_NOTHING)
    return Reason.of(ReasonCode.PROMOTE_NOTHING, promoted=shortened(sorted(promoted), _NAMED))


def runs(link: OpenLink) -> bool:
    """Return whether a run of the link lives.

    Where its heartbeat is not of now, one of both clocks may be wrong: then the next one tells.
    """
    if not link.ledger.usable():  # a link back that never ran may have none
        return False
    # A reader that has read before would find only what came since, so nothing for a second or two.
    reader = link.ledger.another()
    session, _ = last_signs(reader, link.name)
    if session is None:
        return False
    life, ahead = RunLife.of(session).state, session.beat - now_ms()
    if life in {Life.ENDED, Life.DEAD} or (life is Life.ALIVE and ahead < _AHEAD):
        return life is Life.ALIVE
    patience = Deadline.after(_BEATS)
    while not patience.over:
        time.sleep(_LOOK)
        session, _ = last_signs(reader, link.name)
        if session is not None:
            return not session.over
    return False


def _producers(
    link: OpenLink,
    scope: PromotionScope,
    names: Mapping[ProducerId, str],
    ids: TransactionRoutes,
    *,
    back: bool,
    is_whole: bool,
) -> None:
    """Note the producers and the groups that move with the topics, and those that forbid it."""
    section = link.config.gateway
    adopts = section is not None and section.adopt and not back
    found, now = link.source.producers.states(scope.partitions), now_ms()
    for tp, states in found.items():
        scope.producers[tp] = tuple(each for each in states if is_relayed(each.id, adopts=adopts))
    scope.marked = frozenset(
        each.id for states in found.values() for each in states if is_transactional(each, names)
    )
    scope.sequences = unrelayed(found, scope.marked, adopts=adopts)
    scope.forbidden += of_producers(found, names, now, adopts=adopts)
    listing = _groups(link, scope, back=back)
    committed: CommittedGroups = {}
    if scope.groups and names:
        at = groups_by_place(link, scope.groups)
        writers = link.source.producers.states(at)
        committed = committed_by(link, writers, names)
        scope.forbidden += of_committers(at, writers, names, committed, now)
    if names:
        groups = frozenset(group.name for group in scope.groups)
        seen, every = ids.seen(), listing.groups.keys()
        look = TransactionLook(link, names, seen, groups, every, found, committed)
        joined = joined_ids(look)
        scope.transactional = frozenset(joined)
        if is_whole:  # afterwards they could begin nowhere else
            scope.transactional |= unused_ids(look, joined.keys())
        scope.apart = frozenset(seen.keys() - scope.transactional)
        topics = scope.topics.keys()
        scope.forbidden += of_transactional(joined, topics, groups, seen, now, ids.known)


def committed_by(
    link: OpenLink,
    states: Answers[TopicPartition, tuple[ProducerState, ...]],
    names: Mapping[ProducerId, str],
) -> CommittedGroups:
    """Return the groups for which transactional producers committed, as far as the log tells."""
    writers = {
        tp: {one.id for one in each if is_transactional(one, names)} for tp, each in states.items()
    }
    wanted = {tp: each for tp, each in writers.items() if each}
    return committed_groups(link.config.source, link.source, wanted) if wanted else {}


def _groups(link: OpenLink, scope: PromotionScope, *, back: bool) -> GroupListing:
    """Note the groups that read the topics, and those that forbid it."""
    listing = link.source.groups.listed()
    failed = [*listing.failed.values()]
    scope.forbidden += [each.reason for each in failed]
    scope.groups = {
        group: listing.groups[group.name] for group in _moving(link, listing, scope, back=back)
    }
    scope.others = frozenset(listing.groups.keys() - {group.name for group in scope.groups})
    return listing


def take_in_new(link: OpenLink, scope: PromotionScope, *, back: bool) -> Set[str]:
    """Add groups that came since the scope was made; return the names of those that move, too.

    Raises:
        ClusterError: The groups cannot be listed.
    """
    listing = link.source.groups.listed()
    known = scope.others | {group.name for group in scope.groups}
    new = {name: each for name, each in listing.groups.items() if name not in known}
    if not new:
        return frozenset()
    moving = _moving(link, GroupListing(new, listing.failed), scope, back=back)
    scope.groups |= {group: new[group.name] for group in moving}
    names = frozenset(group.name for group in moving)
    scope.others |= new.keys() - names
    return names


def _moving(
    link: OpenLink, listing: GroupListing, scope: PromotionScope, *, back: bool
) -> list[ClientGroup]:
    """Return the groups that move with the topics; note those that forbid it."""
    topics = scope.topics.keys()
    inner = inner_topics(
        link.source, (each for name, each in listing.groups.items() if name not in scope.settled)
    )
    reads = _read_by(link, listing, scope, back=back)
    for group, theirs in inner.items():  # all of an application move, or none
        if theirs & topics:
            reads[group] = reads.get(group, set()) | (theirs & topics)
    outer = {group: read - inner.get(group, frozenset()) for group, read in reads.items()}
    moving = sorted(group for group, read in reads.items() if read & topics)
    wanted = {group: outer[group] | (reads[group] & topics) for group in moving}
    scope.forbidden += of_groups(wanted, topics)
    scope.forbidden += of_streams(moving, inner, topics, barred(link.target, moving))
    return moving


def _read_by(
    link: OpenLink, listing: GroupListing, scope: PromotionScope, *, back: bool
) -> dict[ClientGroup, set[TopicName]]:
    """Return the topics of each group that may move; where mirrors are read, those of the link."""
    groups = [
        each.group for each in listing.groups.values() if each.group.name not in scope.settled
    ]
    known = {each.group: each.coordinator for each in listing.groups.values()}
    offsets = link.source.groups.offsets(groups, known, telling=True)
    reads = {group: {tp.topic for tp in commits} for group, commits in offsets.items()}
    with_members = [
        each
        for each in listing.groups.values()
        if each.has_members and each.group.name not in scope.settled
    ]
    for group, topics in link.source.groups.subscriptions(with_members).items():
        reads.setdefault(group, set()).update(topics)
    section = link.config.gateway
    if section is not None and section.reads_target and not back:
        # Mirror topics that are not promoted are read on the target, too.
        reads = {
            group: {
                name for name in topics
                if name in scope.topics or not link.config.topics.matches(name)
            }
            for group, topics in reads.items()
        }  # fmt: skip
    scope.forbidden += [
        Reason.of(
            ReasonCode.ERROR, error=error.code, text=f"what {group} reads is unknown: {error}"
        )
        for group, error in offsets.failed.items()
    ]
    return reads


def groups_by_place(
    link: OpenLink, groups: Mapping[ClientGroup, GroupState]
) -> dict[TopicPartition, list[ClientGroup]]:
    """Return the groups by the partition that keeps their offsets at the source."""
    info = link.source.topics.find(OFFSETS)
    at: dict[TopicPartition, list[ClientGroup]] = defaultdict(list)
    for group in groups if info is not None else ():
        number = offsets_partition(group.name, len(info.partitions)) if info else 0
        at[TopicPartition(OFFSETS, number)].append(group)
    return at


def offsets_partition(group: str, count: int) -> int:
    """Return the partition of `__consumer_offsets` that keeps a group's offsets.

    It is the amount of Java's `String.hashCode` by their number (Kafka's `partitionFor` of groups,
    by `Utils.abs`, which makes 0 of the lowest number).
    """
    number = 0
    units = group.encode("utf-16-be")
    for at in range(0, len(units), 2):
        number = (31 * number + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    amount = min(number, (1 << 32) - number)
    return amount % count if amount < 1 << 31 else 0


def lags(
    source: Mapping[TopicPartition, int], target: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return how many records each target partition lacks; negative if it has more."""
    return {tp: end - target.get(tp, -1) for tp, end in source.items() if target.get(tp) != end}
