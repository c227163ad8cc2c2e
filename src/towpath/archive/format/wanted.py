"""Selections of the records of a segment by offset and time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from towpath.archive.format.footer import SegmentPart
from towpath.archive.format.schema import OFFSET, to_millis
from towpath.wire.batch import NO_END, Mask

_NEVER = -NO_END - 1
_NO_TIME = -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """A range of offsets and timestamps to read.

    Attributes:
        first: The first offset.
        end: The offset after the last one.
        since: The earliest timestamp in ms.
        until: The timestamp in ms after the latest one.
    """

    first: int = 0
    end: int = NO_END
    since: int = _NEVER
    until: int = NO_END

    @property
    def at_any_time(self) -> bool:
        """Whether every timestamp is selected."""
        return self.since == _NEVER and self.until == NO_END

    def meets(self, part: SegmentPart) -> bool:
        """Return whether a part can contain selected records."""
        if part.last < self.first or part.first >= self.end:
            return False
        if self.at_any_time:
            return True
        if part.min_time is None or part.max_time is None:
            return False
        return part.max_time >= self.since and part.min_time < self.until

    def holds(self, part: SegmentPart) -> bool:
        """Return whether all records of a part are selected."""
        return self.at_any_time and self.first <= part.first and self.end > part.last

    def mask(self, rows: pa.RecordBatch) -> Mask:
        """Return the mask of selected rows; rows without a timestamp match no time range."""
        offsets = np.asarray(rows.column(OFFSET))
        mask: Mask = (offsets >= self.first) & (offsets < self.end)
        if not self.at_any_time:
            times = to_millis(rows)
            mask &= (times >= self.since) & (times < self.until) & (times != _NO_TIME)
        return mask


ALL = Wanted()
