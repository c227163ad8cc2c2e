"""The consumer group whose offsets show the archive's progress to other tools."""

from __future__ import annotations

from collections.abc import Collection

from towpath.archive.model import PartitionId
from towpath.archive.write.standings import Standings
from towpath.cluster.admin import Admin
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import TopicPartition


class ArchivePositions:
    """Commits the archive's progress as offsets of a consumer group without members.

    Args:
        source: The source.
        group: The group; nothing is written without one.

    Attributes:
        trouble: Why the last offsets were not written, "" if they were.
    """

    def __init__(self, source: Admin, group: str | None) -> None:
        self._source = source
        self._group = ClientGroup(group) if group else None
        self._left: set[PartitionId] = set()
        self.trouble = ""

    def commit(self, partitions: Collection[PartitionId], standings: Standings) -> None:
        """Commit the archived ends of these partitions, and retry those that failed before.

        The archive does not depend on it, so nothing is raised.
        """
        if self._group is None:
            return
        self._left |= {each for each in partitions if not standings[each].gone}
        wanted = {
            TopicPartition(standings[each].topic, each.partition): Commit(
                standings[each].archived_to
            )
            for each in self._left
            if not standings[each].gone
        }
        if not wanted:
            return
        try:
            failed = self._source.groups.write({self._group: wanted})[self._group].failed
        except ClusterError as error:
            self.trouble = str(error)
            return
        self.trouble = str(next(iter(failed.values()))) if failed else ""
        self._left = {
            each
            for each in self._left
            if TopicPartition(standings[each].topic, each.partition) in failed
        }
