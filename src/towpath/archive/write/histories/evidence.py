"""Evidence that a source's log is not the archived one. Pure.

Each record was written in a leader epoch. Epochs only grow, and all logs of a partition that have
the same epoch at an offset are equal up to there. So a leader that knows an older epoch only, or
whose log left the epoch before, has lost what was archived (KIP-101, KIP-320). A cluster that was
set back with all it had counts its epochs again: there the last archived batch tells
(`BatchMark`).
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.archive.model import BatchMark
from towpath.archive.write.source_look import PartitionEnds
from towpath.cluster.admin.offsets import EpochEnd
from towpath.model.nouns import SourceOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Evidence that a source's log differs from the archived one.

    Attributes:
        bound: An offset from which on it differs at the latest; `None` if none is known.
        sure: Whether it is another one for sure, even if no record can be compared.
    """

    bound: SourceOffset | None = None
    sure: bool = False

    def joined(self, other: Doubt) -> Doubt:
        """Return the combined evidence of both."""
        bounds = [each for each in (self.bound, other.bound) if each is not None]
        return Doubt(bound=min(bounds, default=None), sure=self.sure or other.sure)


def doubt_of(
    archived_to: SourceOffset, tail: BatchMark | None, ends: PartitionEnds, said: EpochEnd | None
) -> Doubt | None:
    """Return the evidence that a log differs from the archived one; `None` if there is none.

    Args:
        archived_to: The offset up to which it is archived.
        tail: The last archived batch, if it is known.
        ends: Where the log begins and ends.
        said: What the leader says of the epoch of that batch, if it answered.
    """
    if tail is not None and said is not None:
        if said.end < 0:
            return Doubt(sure=True)  # all epochs of this log are older
        is_older = 0 <= said.epoch < tail.epoch
        if is_older or said.end <= tail.last:
            return Doubt(bound=SourceOffset(min(said.end, archived_to)), sure=True)
    # A new leader may know that less is committed than the one before did: records will tell.
    return Doubt() if ends.stable_end < archived_to else None
