"""The check that the source is drained: no producer writes, and all records are copied. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.mirror.failover.partitions import PartitionPlan
from towpath.model.nouns import TopicPartition
from towpath.runtime.clock import Moment

QUIET = 5.0
"""Seconds during which no source log may have grown."""
_MOST = 20


class Drain:
    """The progress of a drain, from repeated looks at the partitions.

    Args:
        quiet: Seconds during which no source log may have grown.
    """

    def __init__(self, quiet: float = QUIET) -> None:
        self._quiet, self._ends = quiet, dict[TopicPartition, int]()
        self._since = Moment.now()
        self._rows: Sequence[PartitionPlan] = ()

    def look(self, rows: Sequence[PartitionPlan]) -> None:
        """Take in the present offsets of all partitions."""
        ends = {each.tp: each.source_end + max(0, each.missing) for each in rows}
        if ends != self._ends:
            self._ends, self._since = ends, Moment.now()
        self._rows = rows

    @property
    def over(self) -> bool:
        """Whether everything is copied, and no source log has grown for long enough."""
        copied, of = self.done
        return copied == of and self._since.age >= self._quiet

    @property
    def done(self) -> tuple[int, int]:
        """The number of partitions that are fully copied, and of all partitions."""
        return sum(not each.missing for each in self._rows), len(self._rows)

    @property
    def left(self) -> list[str]:
        """Sentences about the records that are not copied yet."""
        behind = [each.sentence for each in self._rows if each.missing]
        if not behind:
            return ["somebody still writes to the source; stop the producers, then fail over again"]
        more = len(behind) - _MOST
        return behind[:_MOST] + ([f"and {more} partitions more"] if more > 0 else [])
