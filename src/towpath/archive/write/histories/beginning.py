"""Begins a new history of each partition whose log was truncated at the source."""

from __future__ import annotations

from towpath.archive.write.commits import Commits
from towpath.archive.write.histories.fork_searches import HistorySearches
from towpath.archive.write.scheduling import Say
from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.model.nouns import SourceOffset


class Histories:
    """Compares doubtful source logs with the archive, and begins new histories.

    Args:
        searches: Finds where a log differs.
        commits: Begins histories in the commit log.
        standings: The partitions.
        say: Logs an event.

    Attributes:
        notes: A sentence about each history that was begun.
    """

    def __init__(
        self, searches: HistorySearches, commits: Commits, standings: Standings, say: Say
    ) -> None:
        self._searches, self._commits, self._standings = searches, commits, standings
        self._say = say
        self.notes: tuple[str, ...] = ()

    @property
    def running(self) -> bool:
        """Whether a source log is being compared with the archive."""
        return self._searches.running

    def close(self) -> None:
        """End all searches."""
        self._searches.close()

    def begin(self) -> bool:
        """Begin histories where logs differ, and start comparisons where there is doubt.

        Returns:
            Whether the store was asked for anything.

        Raises:
            ArchiveHeldError: Another process holds the lease.
            CommitLogError: The log cannot be used.
            StoreError: The store could not be written; the search is repeated.
        """
        begun = False
        for partition, fork in self._searches.found(self._standings):
            standing = self._standings[partition]
            if standing.over:
                continue  # another writer began the next one
            if fork is None:
                standing.trusts()
                continue
            self._commits.begin_history(partition, fork)
            self._tell(standing, fork)
            begun = True
        self._searches.begin(self._standings)
        return begun

    def _tell(self, standing: PartitionStanding, fork: SourceOffset) -> None:
        about, number = f"{standing.topic}-{standing.id.partition}", standing.id.history + 1
        facts = {"fork": fork, "archived": standing.archived_to, "history": number}
        self._say("partition.history_begun", facts, about, True)
        self.notes += (
            f"{about}: the source's log was cut, and has other records from offset {fork} on; they"
            f" are archived as history {number}, and what was archived up to offset"
            f" {standing.archived_to} is kept",
        )
