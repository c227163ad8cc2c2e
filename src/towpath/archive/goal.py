"""Up to where a run archives that ends once it has caught up. Pure."""

from __future__ import annotations

from towpath.archive.standing import PartitionStanding
from towpath.archive.standings import Standings
from towpath.model.nouns import SourceOffset

_GIVEN_UP = 4
"""Failures in a row after which a run that ends leaves a partition behind."""


class ArchiveGoal:
    """The ends that partitions have at the source when a run begins.

    Args:
        standings: The partitions, after the first look at the source.
    """

    def __init__(self, standings: Standings) -> None:
        self._standings = standings
        self._ends = {each.id.source: each.ends.stable_end for each in standings.present}

    @property
    def reached(self) -> bool:
        """Whether all is archived and committed that was there, or as much as can be had."""
        left = [each for each in self._left() if each.failures < _GIVEN_UP]
        return not left and not any(each.ready() for each in self._standings)

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Sentences about partitions that are left behind and tell no trouble of their own."""
        return tuple(
            f"{each.topic}-{each.id.partition}: archived up to offset {each.archived_to} of"
            f" {self._end(each)}"
            for each in self._left()
            if each.trouble is None
        )

    def _left(self) -> list[PartitionStanding]:
        standings = (self._standings.newest(each) for each in self._ends)
        return [
            each
            for each in standings
            if not each.gone and (each.archived_to < self._end(each) or each.doubt is not None)
        ]

    def _end(self, standing: PartitionStanding) -> SourceOffset:
        """Return up to where a partition is to be archived; its log may be cut meanwhile."""
        return min(self._ends[standing.id.source], standing.ends.stable_end)
