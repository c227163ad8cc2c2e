"""Tracking of requests that may still reach the target, round by round. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class _Round:
    """Whether everything that was sent had settled when the round began, and when it ended."""

    at_begin: bool
    at_end: bool | None = None
    """`None` while the round goes on."""


class LateWrites:
    """Tracks whether requests of this run or earlier ones may still reach the target.

    A round that another one follows counts until it is `left`. A round that follows none waits in
    its slices for whatever had not settled before, so no earlier round counts from then on.

    Args:
        before: Nothing that an earlier run sent can still arrive.

    Attributes:
        before: As above.
    """

    def __init__(self, *, before: bool = True) -> None:
        self.before, self._doubtful = before, False
        self._rounds = {0: _Round(before, before)}

    @property
    def now(self) -> bool:
        """Whether no request of this run or an earlier one can still reach the target."""
        return not self._doubtful and all(each.at_end for each in [*self._rounds.values()])

    def doubt(self) -> None:
        """Assume from now on that earlier requests may still reach the target.

        A slice that leaves a partition does not wait for ever for the answers to what it has sent,
        and the partition may be in no slice of the rounds that follow.
        """
        self.before, self._doubtful = False, True

    def begin(self, number: int, follows: int = 0, *, whole: bool = True) -> bool:
        """Begin a round, or plan the current round again.

        Args:
            number: The number of the round.
            follows: The round that hands over to it, 0 if none does.
            whole: Whether its slices have all partitions that an earlier run may have written to.
                They wait for what it sent to their own partitions alone.

        Returns:
            Whether nothing that was sent before it can still arrive.
        """
        if not (whole or self.before):
            self.doubt()
        if number not in self._rounds:
            kept = {of: each for of, each in self._rounds.items() if of == follows != 0}
            self._rounds = kept | {number: _Round(not follows and self.now)}
        return self._rounds[number].at_begin

    def ended(self, number: int, *, settled: bool) -> None:
        """Record the end of a round; an earlier failure remains."""
        known = self._rounds.get(number)
        if known is not None and known.at_end is None:
            known.at_end = settled

    def has_ended(self, number: int) -> bool:
        """Return whether a round has reported its end, and was not taken over since."""
        known = self._rounds.get(number)
        return known is not None and known.at_end is not None

    def left(self, number: int) -> bool:
        """Forget a round whose partitions the next round has taken over.

        Returns:
            Whether nothing that it sent can still arrive.
        """
        known = self._rounds.pop(number, None)
        return known is not None and known.at_end is True and not self._doubtful

    def failed(self) -> None:
        """Record that rounds failed; their slices may run until they read that from the ledger."""
        for each in [*self._rounds.values()]:
            each.at_end = False
