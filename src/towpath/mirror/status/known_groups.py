"""The state of a link's groups, from the ledger. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.ledger.books import LinkBooks
from towpath.ledger.offsets import NOWHERE
from towpath.model.amounts import count, counted
from towpath.runtime.clock import readable
from towpath.settings import LinkConfig

_THERE = "CONFIRMED"
"""The outcome of a position that the target has, as `groups/model.py` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsStanding:
    """Counts of group offsets on the target, from the last sync with changes.

    Attributes:
        asked: Whether the file asks for groups.
        groups: Number of groups.
        there: Number of positions in mirrored topics that the target has.
        left: Number of those that it does not have.
        at: When the source was seen so last, in ms since 1970; 0 for never.
        at_cut: Whether a cutover places groups, as records go through a query.
    """

    asked: bool
    groups: int = 0
    there: int = 0
    left: int = 0
    at: int = 0
    at_cut: bool = False

    @classmethod
    def of(cls, config: LinkConfig, books: LinkBooks) -> GroupsStanding:
        """Return the state of the selected groups, from the ledger."""
        at_cut = config.transforms is not None
        if config.groups is None:
            return cls(asked=False, at_cut=at_cut)
        seen = [each for name, each in books.groups.items() if config.groups.matches(name)]
        outcomes = [
            place.outcome
            for each in seen
            for topic, places in each.topics.items()
            if config.topics.matches(topic)
            for place in places
            # Of a query's link it is remembered where no mirror partition has that number, too.
            if not (at_cut and place.target == NOWHERE and place.outcome == _THERE)
        ]
        there = outcomes.count(_THERE)
        at = max((each.at for each in seen), default=0)
        left = len(outcomes) - there
        return cls(asked=True, groups=len(seen), there=there, left=left, at=at, at_cut=at_cut)

    def __str__(self) -> str:
        if not self.asked:
            who = "the cutover" if self.at_cut else "a run"
            return f"groups: the file has no section `groups`, so {who} brings none over"
        if not self.at:
            ahead = "; the cutover does it" if self.at_cut else ""
            return f"groups: none was brought over so far{ahead}"
        left = f", {count(self.left)} not" if self.left else ""
        more = "" if self.at_cut else "; see `towpath groups status`"
        return (
            f"groups: {counted(self.groups, 'group')}, {counted(self.there, 'position')} on the"
            f" target{left}, last moved {readable(self.at)}{more}"
        )
