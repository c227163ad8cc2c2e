"""The state of groups between syncs, and its storage in the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from towpath.groups.group_snapshots import group_entry, is_news
from towpath.groups.model import SyncReport
from towpath.ledger.entries import Removed, SeenGroup
from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicId, TopicName

_OFTEN = 60_000
"""Time between two entries about a group that keeps moving, in ms. All of it stays in the ledger
until the cleaner has passed."""


class GroupMemory:
    """The state of groups; groups that keep moving reach the ledger once a minute.

    Args:
        link: The link, whose books hold what the ledger has of groups.
    """

    def __init__(self, link: OpenLink) -> None:
        self._link = link
        self._latest: dict[str, SeenGroup] = {}
        """Entries that are newer than those of the ledger, by group."""

    def of(self, name: str) -> SeenGroup | None:
        """Return the state of a group, from the last sync or from the ledger."""
        mine, held = self._latest.get(name), self._link.books.groups.get(name)
        if mine is None or held is None:
            return mine or held
        return mine if mine.at >= held.at else held

    @property
    def all(self) -> Mapping[str, SeenGroup]:
        """The state of each group, by name."""
        names = {*self._link.books.groups, *self._latest}
        return {name: entry for name in names if (entry := self.of(name)) is not None}

    def take(self, report: SyncReport, ids: Mapping[TopicName, TopicId]) -> None:
        """Store the results of a sync.

        Args:
            report: What it came to.
            ids: The ids of source topics.

        Raises:
            ClusterError: The ledger refuses an entry, or the target cannot be reached.
        """
        held, due = self._link.books.groups, []
        for each in (group for group in report.groups if group.positions):
            known = self.of(each.group.name)
            entry = group_entry(self._link.config.link, each, ids, known)
            if is_news(entry, known):
                self._latest[entry.group] = known = entry
            there = held.get(each.group.name)
            if known is not None and (there is None or entry.at - there.at >= _OFTEN):
                due.append(known)
        self._append(due)

    def forget(self, name: str, entry: SeenGroup | None) -> None:
        """Replace or remove the ledger entry of a group at once.

        Raises:
            ClusterError: The ledger refuses the entry, or the target cannot be reached.
        """
        self._latest.pop(name, None)
        books, link = self._link.books, self._link.config.link
        made = entry or Removed(SeenGroup.kind, link, (name,))
        if made != books.groups.get(name):
            self._link.ledger.append([made])
            books.take(made)

    def flush(self) -> None:
        """Write everything that the ledger lacks.

        Raises:
            ClusterError: The ledger refuses an entry, or the target cannot be reached.
        """
        self._append([*self._latest.values()])

    def _append(self, entries: list[SeenGroup]) -> None:
        held = self._link.books.groups
        news = [each for each in entries if is_news(each, held.get(each.group))]
        if news:
            self._link.ledger.append(news)
        for entry in entries:
            self._link.books.take(entry)
            self._latest.pop(entry.group, None)
