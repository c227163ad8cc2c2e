"""Which partitions keep their offsets. Pure."""

from __future__ import annotations

from towpath.config import OffsetsPolicy
from towpath.model.nouns import Mode

_MOST_FILL = 2_000_000_000
"""Offsets worth filling at the front: about four minutes of a broker's time."""


def mode_at_opening(
    policy: OffsetsPolicy, start: int, target_end: int, *, compacted: bool
) -> tuple[Mode, str]:
    """Return the mode that a partition begins in, and why it is mapped.

    Args:
        policy: What the file asks for; `identical` is judged by who asks.
        start: The first source offset to copy.
        target_end: Where the target partition ends now.
        compacted: Whether the target compacts it.
    """
    if policy is OffsetsPolicy.MAPPED:
        return Mode.MAPPED, "asked for by `records.offsets: mapped`"
    if target_end == start:
        return Mode.IDENTICAL, ""
    if target_end:
        return Mode.MAPPED, f"the target partition ended at offset {target_end} already"
    if compacted:
        return Mode.MAPPED, f"a compacted topic cannot be made to begin at offset {start}"
    if start > _MOST_FILL:
        return Mode.MAPPED, f"the source begins at offset {start}, too far to fill"
    return Mode.IDENTICAL, ""
