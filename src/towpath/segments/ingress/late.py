"""How long a restore waits for a part of the archive that should be there. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """What is done about a missing or damaged part of an archive.

    It is looked for again `retries` times, with pauses that double and take `seconds` together.
    Then it counts as lost.

    Attributes:
        retries: How often it is looked for again.
        seconds: For how long it is late before it is lost.
        skip: Whether the restore goes on behind a lost part; else its partition stops there.
    """

    retries: int = 16
    seconds: float = 86_400.0
    skip: bool = False

    def pause(self, tries: int) -> float | None:
        """Return the seconds before the next look, `None` if the part is lost.

        Args:
            tries: How often it was looked for again already.
        """
        if tries >= self.retries:
            return None
        return float(self.seconds * 2**tries / (2**self.retries - 1))

    def waiting(self, why: Reason, look: int) -> Reason:
        """Return the reason of a partition that waits for its next look, the first being 1."""
        return Reason.of(ReasonCode.ARCHIVE_LATE, why=why, look=look, looks=self.retries)


def lost(first: SourceOffset, end: SourceOffset, why: Reason) -> Reason:
    """Return the reason of a partition that stops where offsets [first, end) are lost."""
    return Reason.of(ReasonCode.ARCHIVE_LOST, first=first, last=end - 1, why=why)
