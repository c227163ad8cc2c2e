"""Which partitions keep their offsets. Pure."""

from __future__ import annotations

from towpath.config import OffsetsPolicy
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.model.reasons import Code, Reason

_MOST_FILL = 2_000_000_000
"""Offsets worth filling at the front: about four minutes of a broker's time."""


def why_mapped(
    policy: OffsetsPolicy,
    start: SourceOffset,
    target_end: TargetOffset,
    *,
    compacted: bool,
    fill: int = 0,
) -> Reason | None:
    """Return why a partition is mapped when it is opened, `None` if it keeps its offsets.

    Args:
        policy: What the file asks for; `identical` is judged by who asks.
        start: The first source offset to copy.
        target_end: Where the target partition ends now.
        compacted: Whether the target compacts it, so that nothing can be cut off its front.
        fill: How many offsets of a compacted topic may be filled with markers.
    """
    if policy is OffsetsPolicy.MAPPED:
        return Reason.of(Code.ASKED_FOR)
    if target_end == TargetOffset(start):
        return None
    if target_end:
        return Reason.of(Code.TARGET_NOT_EMPTY, end=target_end)
    if start <= (fill if compacted else _MOST_FILL):
        return None
    return Reason.of(Code.COMPACTED_FRONT if compacted else Code.FRONT_TOO_LONG, start=start)


def taken(found: int, expected: int) -> Reason:
    """Return the reason that a record lies at target offset `found`, not at its own."""
    return Reason.of(Code.OFFSET_TAKEN, found=found, expected=expected)
