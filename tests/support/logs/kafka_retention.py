"""What Kafka deletes of a log by its retention, by brute force: segment by segment.

As in `UnifiedLog.deleteOldSegments` and `LogSegment.shouldRoll` of Kafka 4.4. Times are ms.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that lie in one batch.

    Attributes:
        offset: The first offset.
        count: The number of offsets.
        time: The timestamp of its records, -1 for none.
        size: Its bytes.
    """

    offset: int
    count: int
    time: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.count


@dataclass(slots=True)
class Segment:
    """A segment; `written` is the time of its file."""

    batches: list[Batch]
    written: int

    @property
    def size(self) -> int:
        return sum(batch.size for batch in self.batches)

    @property
    def largest(self) -> int:
        most = max(batch.time for batch in self.batches)
        return most if most >= 0 else self.written


@dataclass(slots=True)
class Log:
    """A log with its retention.

    Attributes:
        configs: The configs in effect.
        segments: Its segments, the oldest first.
        begin: The log start offset.
    """

    configs: Mapping[str, str]
    segments: list[Segment] = field(default_factory=list)
    begin: int = 0

    def append(self, batch: Batch, now: int) -> None:
        """Append a batch, to a new segment where Kafka would roll."""
        active = self.segments[-1] if self.segments else None
        if active is None or self._rolls(active, batch, now):
            self.segments.append(Segment([batch], now))
        else:
            active.batches.append(batch)
            active.written = now

    def _rolls(self, active: Segment, batch: Batch, now: int) -> bool:
        first = active.batches[0].time
        waited = batch.time - first if first >= 0 and batch.time >= 0 else now - active.written
        return (
            active.size + batch.size > int(self.configs["segment.bytes"])
            or waited > int(self.configs["segment.ms"])
        )  # fmt: skip

    def clean(self, now: int) -> None:
        """Delete what retention deletes when the broker's clock says `now`."""
        if "delete" not in self.configs["cleanup.policy"]:
            return
        most_bytes = int(self.configs["retention.bytes"])
        if most_bytes >= 0:
            over = self.size - most_bytes
            while self.segments and over - self.segments[0].size >= 0:
                over -= self._drop()
        most_ms = int(self.configs["retention.ms"])
        while most_ms >= 0 and self.segments and now - self.segments[0].largest > most_ms:
            self._drop()

    def compact(self, offsets: Collection[int]) -> None:
        """Remove the batches at these offsets, but for those in the active segment."""
        for segment in self.segments[:-1]:
            kept = [batch for batch in segment.batches if batch.offset not in offsets]
            segment.batches = kept or segment.batches[-1:]

    def _drop(self) -> int:
        gone = self.segments.pop(0)
        self.begin = gone.batches[-1].end
        return gone.size

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def batches(self) -> list[Batch]:
        return [batch for segment in self.segments for batch in segment.batches]

    @property
    def end(self) -> int:
        batches = self.batches
        return batches[-1].end if batches else self.begin

    def at_time(self, time: int) -> int:
        """Return the first offset with this timestamp or a later one, else the log end offset."""
        return next((batch.offset for batch in self.batches if batch.time >= time), self.end)

    def past(self, batch: Batch, now: int) -> bool:
        """Whether the log's own retention no longer keeps a batch, in whatever segment it lies."""
        if "delete" not in self.configs["cleanup.policy"]:
            return False
        most_ms = float(self.configs["retention.ms"])
        most_bytes = float(self.configs["retention.bytes"])
        behind = sum(each.size for each in self.batches if each.offset >= batch.offset)
        return (now - batch.time > (most_ms if most_ms >= 0 else math.inf)) or (
            behind > (most_bytes if most_bytes >= 0 else math.inf)
        )
