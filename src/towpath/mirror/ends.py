"""Where a run until caught up is done, however many rounds that takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.model.nouns import SourceOffset, TopicId, TopicPartition
from towpath.records.work import UNKNOWN, Assignment


@dataclass(slots=True)
class Ends:
    """The ends of partitions as the first round saw them that could.

    A later round, for other slices or after trouble, ends there as well: else a run whose source
    is written to all the time would never end.
    """

    _seen: dict[tuple[TopicPartition, TopicId], SourceOffset] = field(default_factory=dict)

    def of(self, work: Assignment, latest: Mapping[TopicPartition, int]) -> SourceOffset:
        """Return the source offset up to which a partition is to be mirrored.

        Args:
            work: The partition, with the id of its topic.
            latest: Where partitions end now; those whose leader did not tell are absent. A log
                that was cut since is done where it ends now.
        """
        key, now = (work.source, work.source_id), latest.get(work.source)
        if now is None:
            return self._seen.get(key, UNKNOWN)
        end = SourceOffset(now)
        return min(end, self._seen.setdefault(key, end))
