"""Which partitions keep their offsets. Pure."""

from __future__ import annotations

from towpath.config import OffsetsPolicy
from towpath.model.nouns import Mode

_MOST_FILL = 2_000_000_000
"""Offsets worth filling at the front: about four minutes of a broker's time."""


def mode_at_opening(
    policy: OffsetsPolicy, start: int, target_end: int, *, compacted: bool, fill: int = 0
) -> tuple[Mode, str]:
    """Return the mode that a partition begins in, and why it is mapped.

    Args:
        policy: What the file asks for; `identical` is judged by who asks.
        start: The first source offset to copy.
        target_end: Where the target partition ends now.
        compacted: Whether the target compacts it, so that nothing can be cut off its front.
        fill: How many offsets of a compacted topic may be filled with markers.
    """
    if policy is OffsetsPolicy.MAPPED:
        return Mode.MAPPED, "asked for by `records.offsets: mapped`"
    if target_end == start:
        return Mode.IDENTICAL, ""
    if target_end:
        return Mode.MAPPED, f"the target partition ended at offset {target_end} already"
    if start <= (fill if compacted else _MOST_FILL):
        return Mode.IDENTICAL, ""
    if compacted:
        return Mode.MAPPED, f"a compacted topic cannot be made to begin at offset {start}"
    return Mode.MAPPED, f"the source begins at offset {start}, too far to fill"
