"""The state of a link's groups, from the ledger. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.ledger.books import LinkBooks
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
    """

    asked: bool
    groups: int = 0
    there: int = 0
    left: int = 0
    at: int = 0

    @classmethod
    def of(cls, config: LinkConfig, books: LinkBooks) -> GroupsStanding:
        """Return the state of the selected groups, from the ledger."""
        if config.groups is None:
            return cls(asked=False)
        seen = [each for name, each in books.groups.items() if config.groups.matches(name)]
        outcomes = [
            place.outcome
            for each in seen
            for topic, places in each.topics.items()
            if config.topics.matches(topic)
            for place in places
        ]
        there = outcomes.count(_THERE)
        at = max((each.at for each in seen), default=0)
        left = len(outcomes) - there
        return cls(asked=True, groups=len(seen), there=there, left=left, at=at)

    def __str__(self) -> str:
        if not self.asked:
            return "groups: the file has no section `groups`, so a run brings none over"
        if not self.at:
            return "groups: none was brought over so far"
        left = f", {count(self.left)} not" if self.left else ""
        return (
            f"groups: {counted(self.groups, 'group')}, {counted(self.there, 'position')} on the"
            f" target{left}, last moved {readable(self.at)}; see `towpath groups status`"
        )
