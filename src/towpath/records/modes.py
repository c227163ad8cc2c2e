"""The reasons for mapped offsets; a module without numba and Arrow, as plans import it."""

from __future__ import annotations

from towpath.model.changes import NO_CHANGE, RecordChange
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import OffsetsPolicy

_MOST_FILL = 2_000_000_000
"""Most offsets worth filling at the beginning of a log: about four minutes of work for a broker."""


def why_mapped(
    policy: OffsetsPolicy,
    start: SourceOffset,
    target_end: TargetOffset,
    *,
    compacted: bool,
    fill: int = 0,
    change: RecordChange = NO_CHANGE,
    two_ways: bool = False,
) -> Reason | None:
    """Return why a partition must be mapped when it is opened, `None` if it keeps its offsets.

    Args:
        policy: What the file asks for. Callers decide what follows from `identical`.
        start: The first source offset to copy.
        target_end: The log end offset of the target partition.
        compacted: Whether the target topic is compacted, so that DeleteRecords is refused.
        fill: How many offsets of a compacted topic may be filled with markers.
        change: What is changed in the records of the topic.
        two_ways: Whether a twin of the link copies the topic in the other direction.
    """
    if policy is OffsetsPolicy.MAPPED or two_ways:
        asked = policy is OffsetsPolicy.MAPPED
        return Reason.of(ReasonCode.ASKED_FOR if asked else ReasonCode.TWO_WAYS)
    if change.drops:
        return dropped(change)
    if target_end == TargetOffset(start):
        return None
    if target_end:
        return Reason.of(ReasonCode.TARGET_NOT_EMPTY, end=target_end)
    if start <= (fill if compacted else _MOST_FILL):
        return None
    return Reason.of(
        ReasonCode.COMPACTED_FRONT if compacted else ReasonCode.FRONT_TOO_LONG, start=start
    )


def dropped(change: RecordChange) -> Reason:
    """Return the reason for mapped offsets when a change leaves records out."""
    return Reason.of(ReasonCode.RECORDS_DROPPED, rules=", ".join(change.rules))


def why_taken(found: int, expected: int) -> Reason:
    """Return the reason that a record lies at target offset `found` instead of its own."""
    return Reason.of(ReasonCode.OFFSET_TAKEN, found=found, expected=expected)
