"""Values of a forecast of source records that the target would delete early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.ledger.entries.foretold import of_compaction
from towpath.model.at_risk import at_risk_text
from towpath.model.reasons import Reason, sentence


@dataclass(frozen=True, slots=True)
class Foresight:
    """A forecast of source records that the target would delete once retention is released.

    Attributes:
        reasons: Why the target would keep less than the source.
        ranges: By partition, the first source offset that it may delete, and the one behind the
            last; an upper bound. Without `reasons`, these records are past the source's own
            retention, too.
        meant: Whether the file lets the target delete them (`topics.may_delete`).
        holdable: Whether the link may hold back what would delete them.
    """

    reasons: tuple[Reason, ...] = ()
    ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    meant: bool = False
    holdable: bool = True

    @property
    def keeps(self) -> bool:
        """Whether retention stays withheld, so that nothing of the forecast is deleted."""
        return bool(self.reasons) and not self.meant and self.holdable

    @property
    def compacts(self) -> bool:
        """Whether compaction stays withheld, and not only retention."""
        return self.keeps and of_compaction(self.reasons)

    @property
    def offsets(self) -> int:
        """Number of source offsets that the target may delete, an upper bound."""
        return sum(end - first for first, end in self.ranges.values())

    def __str__(self) -> str:
        return f"{sentence(self.reasons)}; {at_risk_text(self.offsets)}"


NOTHING = Foresight()


def note_of_meant(foresight: Foresight) -> str:
    """Return the note about a mirror topic that is intended to keep less than the source."""
    return f"{foresight}; the file lets the target delete it (`topics.may_delete`)"
