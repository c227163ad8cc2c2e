"""The offsets at which `run --until-caught-up` ends, over all of its rounds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.model.nouns import SourceOffset, TopicId, TopicPartition
from towpath.records.work import UNKNOWN, Assignment


@dataclass(slots=True)
class Ends:
    """The end offset of each partition, from the first round that could ask its leader.

    Later rounds end at the same offset. Otherwise a run whose source is written to all the time
    would never end.
    """

    _seen: dict[tuple[TopicPartition, TopicId], SourceOffset] = field(default_factory=dict)

    def of(self, work: Assignment, latest: Mapping[TopicPartition, int]) -> SourceOffset:
        """Return the source offset up to which to mirror a partition.

        Args:
            work: The partition, with the id of its topic.
            latest: The current log end offsets; partitions whose leader did not answer are absent.
                A log that has become shorter since is done at its current end.
        """
        key, now = (work.source, work.source_id), latest.get(work.source)
        if now is None:
            return self._seen.get(key, UNKNOWN)
        end = SourceOffset(now)
        return min(end, self._seen.setdefault(key, end))
