"""The offset of each group after a failover, as frozen values. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.groups.model import GroupPosition, SyncReport
from towpath.ledger.offsets import Exactness
from towpath.mirror.failover.partitions import UNKNOWN, PartitionPlan
from towpath.model.amounts import shortened
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import TopicName
from towpath.model.reasons import ReasonCode

_NAMED = 3
LEFT_OUT = frozenset({ReasonCode.TOPIC_NOT_MIRRORED, ReasonCode.GROUP_NOT_EMPTY})
"""Why a position is not written: the file asks for that."""
THERE = frozenset({ReasonCode.GROUP_AHEAD})
"""Why a position is not written: clients have read on there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionPlan:
    """The offset of a group in one partition after a failover.

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
        """Whether the group continues at the very next record after its last known commit."""
        answer = self.position.answer
        return answer is not None and answer.exactness is Exactness.EXACT and not self.again

    @property
    def writes(self) -> bool:
        """Whether the offset is on the target, or will be written."""
        return self.position.due or self.position.settled

    @property
    def stays_away(self) -> bool:
        """Whether the offset is not written, for a reason that the operator must see."""
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


def position_plan(position: GroupPosition, place: PartitionPlan | None) -> PositionPlan:
    """Return the offset of a group in a partition after a failover. Pure.

    Args:
        position: What a sync would make of it.
        place: What becomes of the partition, `None` if it is not among those that fail over.
    """
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


def held_groups(positions: Iterable[GroupPosition]) -> list[str]:
    """Return the mirror groups whose offsets a closed Kafka Streams application holds for now."""
    reasons = ((each.mirror_group, each.reason) for each in positions)
    return sorted({name for name, why in reasons if why and why.code is ReasonCode.GROUP_HELD})


def split_groups(
    report: SyncReport | None, elsewhere: Mapping[str, Collection[TopicName]]
) -> Iterator[SplitGroup]:
    """Yield the groups that read both topics that fail over and topics that do not.

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
    """Return the report, with the reason for each offset that the login may not write.

    Args:
        report: What becomes of the groups.
        unwritable: The groups of the target whose offsets it may not write, and why.
    """

    def told(position: GroupPosition) -> GroupPosition:
        error = unwritable.get(ClientGroup(position.mirror_group, position.group.kind))
        return replace(position, reason=error.reason) if error and position.due else position

    groups = (replace(each, positions=tuple(map(told, each.positions))) for each in report.groups)
    return replace(report, groups=tuple(groups))
