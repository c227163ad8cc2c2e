"""The forecast of a failover: its steps and its losses, as a frozen value. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from towpath.groups.model import SyncReport
from towpath.ledger.alive import RunLife
from towpath.ledger.entries import LinkState
from towpath.mirror.failover.group_positions import PositionPlan, SplitGroup, position_plan
from towpath.mirror.failover.partitions import UNKNOWN, PartitionPlan
from towpath.model.errors import ClusterError
from towpath.model.nouns import LinkName, TopicName, TopicPartition


@dataclass(frozen=True, kw_only=True)
class FailoverPlan:
    """The forecast of a failover: its steps, losses, and records that are read twice.

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
        paused: Source topics that somebody paused; they fail over as they stand.
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
    paused: tuple[TopicName, ...] = ()

    @property
    def lost(self) -> int:
        """The known number of source offsets that are not mirrored."""
        return sum(max(each.missing, each.at_least) for each in self.partitions)

    @property
    def unknown(self) -> int:
        """Number of partitions whose losses are unknown."""
        return sum(each.missing == UNKNOWN for each in self.partitions)

    @property
    def trouble(self) -> tuple[PartitionPlan, ...]:
        """Partitions that cannot be failed over now."""
        return tuple(each for each in self.partitions if each.trouble is not None)

    @cached_property
    def positions(self) -> tuple[PositionPlan, ...]:
        """The offsets of groups after the failover."""
        if self.groups is None:
            return ()
        places = {each.tp: each for each in self.partitions}
        return tuple(position_plan(each, places.get(each.tp)) for each in self.groups.positions)

    @property
    def again(self) -> int:
        """The known number of records that groups read twice."""
        return sum(max(0, each.again) for each in self.positions if each.writes)

    @property
    def again_at_most(self) -> int:
        """The highest possible number of records that groups read twice.

        Groups may have read on since their last known commit, where the source does not tell.
        """
        unsure = self.groups.remembered if self.groups is not None else {}
        return sum(
            max(each.follow, each.again, 0)
            if self.source_gone or each.position.group in unsure
            else max(0, each.again)
            for each in self.positions
            if each.writes
        )

    @property
    def silent(self) -> tuple[PartitionPlan, ...]:
        """Partitions for which the source does not answer, although others have answers."""
        return tuple(each for each in self.partitions if each.silent is not None)

    @property
    def left(self) -> tuple[PositionPlan, ...]:
        """Offsets of groups that are not written, and that the operator must look at."""
        return tuple(each for each in self.positions if each.stays_away)

    @property
    def inexact(self) -> tuple[PositionPlan, ...]:
        """Offsets of groups that are written, but may be before the last commit."""
        return tuple(each for each in self.positions if each.writes and not each.exact)

    @property
    def costs(self) -> bool:
        """Whether records may be lost or read twice, or groups left behind."""
        groups = self.groups
        unseen = groups is not None and bool(groups.failed or groups.unlisted)
        return (
            bool(
                self.lost or self.unknown or self.again or self.left or self.inexact or self.trouble
            )
            or unseen
            or bool(self.held_by)
        )


def by_group(plan: FailoverPlan) -> Iterator[tuple[str, list[PositionPlan]]]:
    """Yield each group with its offsets after the failover."""
    found: dict[str, list[PositionPlan]] = {}
    for each in plan.positions:
        found.setdefault(each.position.group.name, []).append(each)
    yield from sorted(found.items())
