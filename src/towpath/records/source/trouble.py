"""The classification of the source's fetch responses. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.model.nouns import SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.trouble import CORRUPT, FORBIDDEN, GONE

LOOKS = 5
"""How often a damaged batch is fetched before the partition stops, in about three seconds. The
fault may be in memory, in the network, or in a replica that is not the leader."""


class SourceTrouble(Enum):
    """The possible reactions to a fetch response."""

    NONE = auto()
    RANGE = auto()
    """The offset is not in the log: retention was faster, or the log was truncated."""
    CUT = auto()
    """The log was truncated below what was read: unclean leader election."""
    GONE = auto()
    """The topic was replaced or deleted."""
    FORBIDDEN = auto()
    """The login lacks a right: ask the same leader again later."""
    DAMAGED = auto()
    """The broker cannot read the records."""
    RETRY = auto()
    """The leader changed, or the fault passes."""


_AT_SOURCE = {
    0: SourceTrouble.NONE,
    OFFSET_OUT_OF_RANGE: SourceTrouble.RANGE,
    CORRUPT: SourceTrouble.DAMAGED,
    **dict.fromkeys(GONE, SourceTrouble.GONE),
    **dict.fromkeys(FORBIDDEN, SourceTrouble.FORBIDDEN),
}


def source_trouble(said: Fetched) -> SourceTrouble:
    """Classify a fetch response."""
    if said.diverging is not None:
        return SourceTrouble.CUT
    return _AT_SOURCE.get(said.error, SourceTrouble.RETRY)


def damage(tp: TopicPartition, offset: SourceOffset, why: str) -> Reason:
    """Return the reason that a batch appears to be damaged at the source."""
    return Reason.of(ReasonCode.BATCH_DAMAGED, partition=str(tp), offset=offset, why=why)


@dataclass(frozen=True, slots=True)
class SourceLoss:
    """Source offsets [first, end) that are lost, and the offset at which copying continues."""

    first: SourceOffset
    end: SourceOffset
    go_on: SourceOffset
    why: Reason

    @property
    def is_loss(self) -> bool:
        """Whether lost records may still be wanted by some consumer group."""
        return self.why.code is not ReasonCode.READ_AND_DELETED


def source_loss(
    expected: SourceOffset, earliest: SourceOffset, latest: SourceOffset
) -> SourceLoss | None:
    """Return the loss behind an "out of range" error, `None` if the offset is in range again."""
    if expected < earliest:
        return SourceLoss(expected, earliest, earliest, Reason.of(ReasonCode.RETENTION))
    return cut(latest, expected) if expected > latest else None


def forked(end: int, later: int, expected: SourceOffset) -> SourceLoss:
    """Return the loss when the leader's log diverges from the one that was read.

    The leader names an epoch, and where it ended there. Both logs are the same up to that, and at
    most up to where a later epoch began in the log that was read (KIP-101). The leader's log may be
    the longer one: what it has behind `expected` was written by another leader all the same.

    Args:
        end: Where the epoch ended at the leader.
        later: Where a later epoch began in what was read.
        expected: The end of what was read. The record before it is lost for sure.
    """
    return cut(SourceOffset(max(0, min(end, later, expected - 1))), expected)


def cut(end: SourceOffset, expected: SourceOffset) -> SourceLoss:
    """Return the loss when the source log was truncated to `end`, below what was read."""
    return SourceLoss(end, expected, end, Reason.of(ReasonCode.SOURCE_CUT, end=end))
