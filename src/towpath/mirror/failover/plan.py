"""What a failover would cost, as a frozen value: told before anything is done. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from towpath.groups.model import GroupPosition, SyncReport
from towpath.ledger.alive import RunLife
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut, LinkState
from towpath.ledger.offsets import Exactness
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import (
    LinkName,
    Mode,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import readable

UNKNOWN = -1
_NAMED = 3
PASSING = frozenset({ReasonCode.GROUP_ANSWER_LOST, ReasonCode.GROUP_HELD})
"""Why a position is not written, that passes by itself: failover waits for it."""
LEFT_OUT = frozenset({ReasonCode.TOPIC_NOT_MIRRORED, ReasonCode.GROUP_NOT_EMPTY})
"""Why a position is not written: the file asks for that."""
THERE = frozenset({ReasonCode.GROUP_AHEAD})
"""Why a position is not written: clients have read on there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """What becomes of one partition.

    Attributes:
        tp: The source partition.
        target: The target partition.
        mode: `identical` or `mapped`; "" where nothing was copied.
        source_end: The source offset behind the last copied record.
        target_end: The target offset behind it, from which on clients write.
        missing: How many source offsets behind it are not copied; `UNKNOWN` if the source does not
            tell.
        at_least: How many they are at least, by what groups have read and what the source told.
        as_of: When the link last told of the partition, in ms since 1970; 0 if never.
        log_end: Where the target log ends; `UNKNOWN` if its leader does not tell.
        beyond: Records on the target that no receipt tells of yet.
        receded: Offsets that were copied, and that the target does not have any more: its leader
            lacks them.
        trouble: Why the target's partition cannot be used, `None` if it can.
        cut: Clients write there already, since this cutover.
    """

    tp: TopicPartition
    target: TopicPartition
    mode: str
    source_end: SourceOffset
    target_end: TargetOffset
    missing: int = UNKNOWN
    at_least: int = 0
    as_of: int = 0
    log_end: int = UNKNOWN
    beyond: int = 0
    receded: int = 0
    trouble: Reason | None = None
    cut: Cut | None = None

    @property
    def passed(self) -> int:
        """How many records lie on the target of which nobody but the source knows the offsets."""
        if self.mode == Mode.IDENTICAL:
            return 0
        return self.beyond if self.cut is None else self.cut.passed

    @property
    def sentence(self) -> str:
        """What is not mirrored, for people."""
        if self.trouble is not None:
            return f"{self.tp}: {self.trouble}"
        if self.receded:
            last = self.target_end + self.receded - 1
            return (
                f"{self.tp}: the target lost offsets {self.target_end} to {last} that were copied,"
                f" as its leader lacks them; at least {self.at_least or self.missing} offsets of"
                f" the source from {self.source_end} on are not mirrored"
            )
        if self.missing == UNKNOWN:
            least = f"at least {self.at_least} offsets" if self.at_least else "nothing known"
            return (
                f"{self.tp}: {least} not mirrored, as of {readable(self.as_of)}; the source does"
                " not answer, so what was written there since is unknown"
            )
        first = self.source_end
        return f"{self.tp}: offsets {first} to {first + self.missing - 1} are not mirrored"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionPlan:
    """Where a group will stand in one partition.

    Attributes:
        position: What a sync would make of it.
        again: How many records are read again at least; `UNKNOWN` if the map does not tell.
        follow: How many offsets of mirrored records are still before it there. What the group has
            read since its last known commit is among them, and read again.
        ahead: How many offsets of the source it had read that are not mirrored.
    """

    position: GroupPosition
    again: int
    follow: int
    ahead: int

    @property
    def exact(self) -> bool:
        """Whether it goes on at the very next record behind its last known commit."""
        answer = self.position.answer
        return answer is not None and answer.exactness is Exactness.EXACT and not self.again

    @property
    def writes(self) -> bool:
        """Whether it is on the target, or will be."""
        return self.position.due or self.position.settled

    @property
    def stays_away(self) -> bool:
        """Whether it is not written for a reason that somebody has to see."""
        reason = self.position.reason
        return not self.writes and (reason is None or reason.code not in LEFT_OUT | THERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitGroup:
    """A group that reads topics which fail over, and others that do not.

    Attributes:
        group: Its name at the source.
        moves: The topics that fail over.
        stays: The others.
    """

    group: str
    moves: tuple[TopicName, ...]
    stays: tuple[TopicName, ...]

    def __str__(self) -> str:
        stays, moves = shortened(self.stays, _NAMED), shortened(self.moves, _NAMED)
        return f"{self.group} reads {moves}, which fails over, and {stays}, which does not"


@dataclass(frozen=True, kw_only=True)
class FailoverPlan:
    """All that a failover would do, and what it would cost.

    Attributes:
        link: The link.
        at: When this was seen, in ms since 1970.
        topics: The source topics that were chosen, none for all of them.
        partitions: The partitions, by name.
        groups: What becomes of groups; `None` where the file asks for none.
        state: The state of the link before.
        run: The last run; `None` if none is known.
        source_gone: Why the source does not answer, "" if it does.
        unfenced: Why the target refuses fences, "" if it takes them.
        unfenceable: Partitions written in transactions that cannot be fenced, and why.
        held_by: The command that changes the target for the link now, "" for none or a run.
        split: Groups of which a part of the topics stays.
        held: Mirror topics whose retention or compaction is still held back.
        stopped: Source topics that somebody stopped by hand; they do not fail over.
    """

    link: LinkName
    at: int
    topics: tuple[TopicName, ...]
    partitions: tuple[PartitionPlan, ...]
    groups: SyncReport | None
    state: LinkState | None = None
    run: RunLife | None = None
    source_gone: str = ""
    unfenced: str = ""
    unfenceable: Mapping[TopicPartition, ClusterError] = field(default_factory=dict)
    held_by: str = ""
    split: tuple[SplitGroup, ...] = ()
    held: tuple[TopicName, ...] = ()
    stopped: tuple[TopicName, ...] = ()

    @property
    def lost(self) -> int:
        """Source offsets that are not mirrored, as far as known: the others are not counted."""
        return sum(max(each.missing, each.at_least) for each in self.partitions)

    @property
    def unknown(self) -> int:
        """Number of partitions of which it is not known what is not mirrored."""
        return sum(each.missing == UNKNOWN for each in self.partitions)

    @property
    def trouble(self) -> tuple[PartitionPlan, ...]:
        """Partitions that cannot be failed over now."""
        return tuple(each for each in self.partitions if each.trouble is not None)

    @cached_property
    def positions(self) -> tuple[PositionPlan, ...]:
        """Where groups will stand."""
        if self.groups is None:
            return ()
        places = {each.tp: each for each in self.partitions}
        return tuple(_position(each, places.get(each.tp)) for each in self.groups.positions)

    @property
    def again(self) -> int:
        """Records that groups read twice, as far as known."""
        return sum(max(0, each.again) for each in self.positions if each.writes)

    @property
    def left(self) -> tuple[PositionPlan, ...]:
        """Positions that somebody has to look at: they are not written."""
        return tuple(each for each in self.positions if each.stays_away)

    @property
    def inexact(self) -> tuple[PositionPlan, ...]:
        """Positions that are written, and not exactly behind the last known commit."""
        return tuple(each for each in self.positions if each.writes and not each.exact)

    @property
    def costs(self) -> bool:
        """Whether something is lost, read twice, or left behind, or may be."""
        groups = self.groups
        unseen = groups is not None and bool(groups.failed or groups.unlisted)
        return (
            bool(
                self.lost or self.unknown or self.again or self.left or self.inexact or self.trouble
            )
            or unseen
            or bool(self.held_by)
        )


def partition_plan(
    tp: TopicPartition,
    books: PartitionBooks,
    log_end: int,
    source_end: int,
    ahead: int | None = None,
    trouble: Reason | None = None,
    fences: int = 0,
    back: Callable[[TargetOffset], SourceOffset] = SourceOffset,
) -> PartitionPlan:
    """Return what becomes of a partition that was opened. Pure.

    Args:
        tp: The source partition.
        books: What the ledger knows of it.
        log_end: Where the target log ends, `UNKNOWN` if its leader does not tell.
        source_end: Where the source log ends for consumers of committed records, likewise.
        ahead: Records of the link behind the last receipt by the leader's producer state, `None`
            if it does not know. What else is there others have written.
        trouble: Why the target's partition cannot be used.
        fences: How many fences stand at the end of the log, of an attempt that was killed.
        back: Returns the source offset of a mirrored target offset, where offsets differ.
    """
    opened, receipt, cut = books.opened, books.receipt, standing_cut(books)
    assert opened is not None  # noqa: S101  # by the caller
    source, target = opened.source_start, opened.target_start
    if receipt is not None:
        source, target = receipt.source_end, receipt.target_end
    copied = log_end - fences
    receded = max(0, target - copied) if cut is None and log_end >= 0 else 0
    beyond = max(0, copied - target) if ahead is None or ahead else 0
    if ahead is not None and books.mode is not Mode.IDENTICAL:
        beyond = min(beyond, ahead)  # markers and records of others lie between
    if cut is not None:
        if books.receded is not None:
            receded, source = target - cut.target_end, cut.source_end
        source, target, beyond = max(source, cut.source_end), cut.target_end, 0
    elif receded:
        target = TargetOffset(copied)
        source = SourceOffset(copied) if books.mode is Mode.IDENTICAL else back(target)
    elif beyond:
        target = TargetOffset(copied)
        source = SourceOffset(copied) if books.mode is Mode.IDENTICAL else source
    # Where offsets are mapped, records behind the last receipt have no source offset that is known.
    passed = 0 if books.mode is Mode.IDENTICAL else beyond if cut is None else cut.passed
    return PartitionPlan(
        tp=tp,
        target=opened.target,
        mode=str(books.mode or ""),
        source_end=source,
        target_end=target,
        missing=max(0, source_end - source - passed) if source_end >= 0 else UNKNOWN,
        at_least=max(0, receipt.source_end - source) if receipt is not None and receded else 0,
        as_of=receipt.at if receipt is not None else opened.at,
        log_end=log_end,
        beyond=beyond,
        receded=receded,
        trouble=trouble,
        cut=cut,
    )


def standing_cut(books: PartitionBooks) -> Cut | None:
    """Return the cut behind which clients may have written: nothing was copied since."""
    cut, receipt = books.cut, books.receipt
    later = cut is not None and receipt is not None and receipt.records > cut.records
    return None if later else cut


def _position(position: GroupPosition, place: PartitionPlan | None) -> PositionPlan:
    answer = position.answer
    if answer is None or place is None:
        return PositionPlan(position=position, again=0, follow=0, ahead=0)
    follow = max(0, place.target_end - answer.offset)
    beyond = max(0, position.source - place.source_end)
    ahead = max(0, beyond - place.passed)
    again = position.again
    if answer.exactness is Exactness.NOT_YET:
        # Mapped records behind the last receipt may be among those it has read.
        again = min(follow, beyond)
    elif answer.exactness is not Exactness.EXACT:
        again = UNKNOWN
    return PositionPlan(position=position, again=again, follow=follow, ahead=ahead)


def with_known(
    partitions: Iterable[PartitionPlan], groups: SyncReport | None
) -> tuple[PartitionPlan, ...]:
    """Return partitions with what groups had read of them that is not mirrored.

    Args:
        partitions: The partitions.
        groups: What becomes of the groups.
    """
    furthest: dict[TopicPartition, int] = {}
    for each in groups.positions if groups is not None else ():
        furthest[each.tp] = max(furthest.get(each.tp, 0), each.source)
    return tuple(
        replace(
            each,
            at_least=max(each.at_least, furthest.get(each.tp, 0) - each.source_end - each.passed),
        )
        for each in partitions
    )


def split_groups(
    report: SyncReport | None, elsewhere: Mapping[str, Collection[TopicName]]
) -> Iterator[SplitGroup]:
    """Yield the groups of which a part of the topics stays.

    Args:
        report: What becomes of the groups.
        elsewhere: The topics that do not fail over, by the group that reads them.
    """
    for each in report.groups if report is not None else ():
        stays = tuple(sorted(elsewhere.get(each.group.name, ())))
        moves = tuple(sorted({position.tp.topic for position in each.positions}))
        if stays and moves:
            yield SplitGroup(group=each.group.name, moves=moves, stays=stays)


def without_rights(
    report: SyncReport, unwritable: Mapping[ClientGroup, ClusterError]
) -> SyncReport:
    """Return the report with the reason of each position that the login may not write.

    Args:
        report: What becomes of the groups.
        unwritable: The groups of the target whose offsets it may not write, and why.
    """

    def told(position: GroupPosition) -> GroupPosition:
        error = unwritable.get(ClientGroup(position.mirror_group, position.group.kind))
        return replace(position, reason=error.reason) if error and position.due else position

    groups = (replace(each, positions=tuple(map(told, each.positions))) for each in report.groups)
    return replace(report, groups=tuple(groups))


def by_group(plan: FailoverPlan) -> Iterator[tuple[str, list[PositionPlan]]]:
    """Yield the positions of each group."""
    found: dict[str, list[PositionPlan]] = {}
    for each in plan.positions:
        found.setdefault(each.position.group.name, []).append(each)
    yield from sorted(found.items())
