"""The goal of a run with `--until-caught-up`: the source's ends when it began. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from towpath.archive.write.source_look import held_sentence
from towpath.archive.write.standing import PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.model.nouns import SourceOffset

_GIVEN_UP = 4
"""Failures in a row after which a run that ends leaves a partition behind."""
_HELD = 90.0
"""Seconds after which a run that ends waits for a transaction no longer.

Brokers end one that was begun and left after a minute, where its producer asks for no other time.
"""


class ArchiveGoal:
    """The log ends of partitions when a run begins.

    Args:
        standings: The partitions, after the first look at the source.
        clock: Returns seconds.
    """

    def __init__(self, standings: Standings, clock: Callable[[], float] = time.monotonic) -> None:
        self._standings, self._clock = standings, clock
        self._ends = {
            each.id.source: SourceOffset(max(each.ends.stable_end, each.ends.high_watermark))
            for each in standings.present
        }
        self._until = clock() + _HELD

    @property
    def reached(self) -> bool:
        """Whether everything up to the goal is archived and committed, or cannot be."""
        left = [each for each in self._left() if each.failures < _GIVEN_UP]
        if left or any(each.ready() for each in self._standings):
            return False
        return not self._held() or self._clock() >= self._until

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Sentences about partitions that miss the goal without a reported trouble."""
        left = (
            f"{each.topic}-{each.id.partition}: archived up to offset {each.archived_to} of"
            f" {self._end(each)}"
            for each in self._left()
            if each.trouble is None
        )
        held = (held_sentence(each.topic, each.id.partition, each.ends) for each in self._held())
        return (*left, *held, *self._gone())

    def _gone(self) -> Iterator[str]:
        """Yield a sentence for each partition whose topic was deleted before it was archived."""
        for source, end in self._ends.items():
            each = self._standings.newest(source)
            if each.gone and each.archived_to < end:
                yield (
                    f"{each.topic}-{each.id.partition}: its topic was deleted at the source when it"
                    f" was archived up to offset {each.archived_to} of {end}"
                )

    def _held(self) -> list[PartitionStanding]:
        """Return the partitions of which a part is behind a transaction that was open then."""
        standings = (self._standings.newest(each) for each in self._ends)
        return [
            each
            for each in standings
            if not each.gone
            and each.ends.held
            and each.ends.stable_end < self._ends[each.id.source]
        ]

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
