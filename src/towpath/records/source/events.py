"""Events of the reading side, and what whoever reads from a source does about them."""

from __future__ import annotations

from typing import Generic

from towpath.model.nouns import SourceOffset
from towpath.model.reasons import Reason
from towpath.records.source.reader import R
from towpath.records.source.trouble import SourceLoss


class SourceEvents(Generic[R]):
    """Events of readers of a source. Each method does nothing unless it is overridden.

    All methods but `explained` are called in the thread of the reactor.
    """

    def taken(self, reader: R) -> None:
        """Let a reader use the batches that were just fetched."""

    def stopped(self, reader: R, why: Reason) -> None:
        """Stop a reader, whose log was cut below what it has read."""

    def gap(self, reader: R, lost: SourceLoss, *, goes_on: bool) -> None:
        """Report that records are missing at the source.

        Args:
            reader: Whose records are missing.
            lost: The missing offsets.
            goes_on: Whether the reader continues behind them.
        """

    def begins_later(self, reader: R, start: SourceOffset) -> None:
        """Let a reader begin at a later offset, if it may."""

    def stops_on_gap(self, reader: R) -> bool:
        """Whether a reader stops where records are lost."""
        del reader
        return False

    def explained(self, reader: R, lost: SourceLoss) -> SourceLoss:
        """Return a loss with why the source has deleted the records. Blocking."""
        del reader
        return lost

    def taken_elsewhere(self, reader: R, lost: SourceLoss) -> bool:
        """Feed a reader, which nobody feeds now, with lost records from another place.

        Returns:
            Whether that is tried; then the source goes on. Otherwise the records are lost.
        """
        del reader, lost
        return False
