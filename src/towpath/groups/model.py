"""The values that a sync of groups works on and reports. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from towpath.ledger.offsets import TranslatedOffset
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import SourceOffset, TargetOffset, TopicPartition
from towpath.model.reasons import Reason


class PositionOutcome(StrEnum):
    """The possible outcomes for the offset of one group in one partition."""

    CONFIRMED = "CONFIRMED"
    """It was written, and read back."""
    UNCHANGED = "UNCHANGED"
    """The target had it already."""
    UNKNOWN = "UNKNOWN"
    """It may have been written: the answer was lost. The next sync looks before anything else."""
    NOT_ATTEMPTED = "NOT_ATTEMPTED"
    """Nothing was written, for the reason that is told."""


class Expiry(StrEnum):
    """The moment from which a coordinator counts the retention of offsets (KIP-211)."""

    BY_COMMIT = "commit"
    """From each commit: groups that never had members, and those of newer protocols."""
    SINCE_EMPTY = "empty"
    """From when the last member left: classic groups that had one. All offsets go together."""
    WITH_MEMBERS = "members"
    """Not while its members read these topics."""
    NEVER = "never"
    """Start offsets of share groups do not expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """The offset of one group in one partition, at the source and on the target.

    Attributes:
        group: The group, with its name at the source.
        mirror_group: Its name on the target, "" where it can have none.
        tp: The source partition.
        mirror: The target partition, `None` where the topic is not mirrored.
        source: The offset at the source.
        metadata: The text that the client committed with it.
        answer: That offset on the target, `None` where the ledger knows nothing of the partition.
        known: What the target has for the group there, `None` for nothing or if it is not known.
        outcome: What became of it.
        reason: Why nothing was written, or why it is unknown; `None` otherwise, and in a preview
            for what a sync would write.
        lag: Records that a share group has still to accept at the source, -1 where no broker tells.
        target_lag: The same on the target.
        again: Records that a share group has accepted and that come again; -1 where no broker
            tells it.
        gone: What the target got earlier and no longer has, `None` for nothing.
    """

    group: ClientGroup
    mirror_group: str
    tp: TopicPartition
    mirror: TopicPartition | None
    source: SourceOffset
    metadata: str
    answer: TranslatedOffset[TargetOffset] | None
    known: TargetOffset | None = None
    outcome: PositionOutcome = PositionOutcome.NOT_ATTEMPTED
    reason: Reason | None = None
    lag: int = -1
    target_lag: int = -1
    again: int = 0
    gone: TargetOffset | None = None

    @property
    def due(self) -> bool:
        """Whether the offset is still to be written, as a preview shows."""
        return self.outcome is PositionOutcome.NOT_ATTEMPTED and self.reason is None

    @property
    def settled(self) -> bool:
        """Whether the target already has the offset."""
        return self.outcome in {PositionOutcome.CONFIRMED, PositionOutcome.UNCHANGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReport:
    """The result for one group.

    Attributes:
        group: The group, with its name at the source.
        mirror_group: Its name on the target, "" where it can have none.
        source_state: Its state at the source in the words of Kafka; "" where that is not known, as
            where the ledger's snapshot is used.
        target_state: Its state on the target; "" where it is not there.
        at: When the source was seen so, in ms since 1970.
        positions: Where it stands in each partition that it has an offset in.
        due: How many positions were to be written.
        deleted: Whether the group was deleted on the target, as it was at the source.
        type: Its type at the source in the words of Kafka, in small letters; "" for unknown.
        committed: Since when no position that the target has was committed anew, in ms since 1970;
            0 for unknown.
        expires: How long the target keeps what is committed.
        remarks: What else is to be known of it.
        mark: The mark of a share group at the source; "" for unknown.
    """

    group: ClientGroup
    mirror_group: str
    source_state: str
    target_state: str
    at: int
    positions: tuple[GroupPosition, ...]
    due: int = 0
    deleted: bool = False
    type: str = ""
    committed: int = 0
    expires: Expiry = Expiry.BY_COMMIT
    remarks: tuple[Reason, ...] = ()
    mark: str = ""

    @property
    def all_committed(self) -> bool:
        """Whether all offsets on the target were just committed, and there is at least one."""
        settled = [each.outcome for each in self.positions if each.settled]
        return bool(settled) and set(settled) == {PositionOutcome.CONFIRMED}

    @property
    def stands(self) -> bool:
        """Whether the target has an offset of it."""
        return any(each.settled or each.known is not None for each in self.positions)

    @property
    def outcomes(self) -> Counter[PositionOutcome]:
        """Number of positions by outcome."""
        return Counter(position.outcome for position in self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of one sync.

    Attributes:
        at: When it ended, in ms since 1970.
        groups: The groups, by name.
        failed: Groups that could not be looked at, and why.
        unlisted: Why some groups may be missing: brokers that did not list theirs.
        remembered: Groups of which the ledger tells all, or a part, and why the source does not;
            none where nobody answers there at all.
        written: Whether it was a sync; a preview writes nothing.
        translating: Seconds that translating took.
        writing: Seconds that writing and reading back took.
        retention: How long the target keeps offsets, in ms; -1 if that is not known.
    """

    at: int
    groups: tuple[GroupReport, ...] = ()
    failed: Mapping[ClientGroup, ClusterError] = field(default_factory=dict)
    unlisted: tuple[ClusterError, ...] = ()
    remembered: Mapping[ClientGroup, Reason] = field(default_factory=dict)
    written: bool = True
    translating: float = 0.0
    writing: float = 0.0
    retention: int = -1

    @property
    def positions(self) -> Iterator[GroupPosition]:
        """Every position of every group."""
        return (position for group in self.groups for position in group.positions)

    @property
    def outcomes(self) -> Counter[PositionOutcome]:
        """Number of positions by outcome."""
        return sum((group.outcomes for group in self.groups), Counter())

    @property
    def standing(self) -> tuple[GroupReport, ...]:
        """The groups of which the target has an offset."""
        return tuple(group for group in self.groups if group.stands)

    @property
    def good(self) -> bool:
        """Whether every group was observed, and no answer was lost."""
        lost = self.outcomes[PositionOutcome.UNKNOWN]
        return not (self.failed or self.unlisted or lost)
