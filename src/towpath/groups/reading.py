"""Read single records of a partition, as consumers see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.model.nouns import TopicPartition
from towpath.wire.plain import Record, decode

_BYTES = 1 << 18
"""Bytes of a fetch."""
_FURTHER = 8
"""How much further back each look goes where consumers see none of the records before."""


@dataclass(frozen=True, slots=True)
class Log:
    """A partition on one side, as consumers with isolation.level=read_committed see it.

    Attributes:
        admin: The cluster.
        client: Fetches from it.
        tp: The partition.
        until: The offset at which it is taken to end, `None` for its own end.
    """

    admin: Admin
    client: Client
    tp: TopicPartition
    until: int | None = None

    @property
    def start(self) -> int:
        """The log start offset."""
        return self.admin.offsets.earliest([self.tp]).sure(self.tp)

    @property
    def end(self) -> int:
        """The last stable offset."""
        return self._within(self.admin.offsets.latest([self.tp], committed=True).sure(self.tp))

    def at_time(self, ms: int) -> int:
        """Return the offset of the first record at or after a time, else the log end offset."""
        return self._within(self.admin.offsets.at_time([self.tp], ms).sure(self.tp))

    def _within(self, offset: int) -> int:
        return offset if self.until is None else min(offset, self.until)

    def last_before(self, offset: int, start: int) -> Record | None:
        """Return the last record in [start, offset)."""
        end, step = offset, 1
        while end > start:
            first = max(start, end - step)
            found = [each for each, _ in self.records(first, end) if each.offset < end]
            if found:
                return found[-1]
            end, step = first, step * _FURTHER
        return None

    def records(self, first: int, end: int) -> Iterator[tuple[Record, bool]]:
        """Yield records, beginning with the batch of offset `first`, at least up to offset `end`.

        With each comes whether the broker has set its timestamp (LogAppendTime).
        """
        # Most commands read no record, and numba takes most of a second.
        from towpath.wire import batch as wire  # noqa: PLC0415
        from towpath.wire.legacy import modernise  # noqa: PLC0415

        at = first
        while at < end:
            chunk = self.client.fetch(self.tp, at, max_bytes=_BYTES, committed=True)
            buffer, start, stop = chunk.buffer, chunk.start, chunk.end
            if stop > start and buffer[start + 16] < wire.MAGIC:
                buffer = np.frombuffer(modernise(buffer[start:stop].data), np.uint8)
                start, stop = 0, len(buffer)
            table = wire.scan(buffer, start, stop)
            if not len(table):
                return
            for row in table[wire.visible(table, chunk.said.aborted)].tolist():
                stamped = bool(row[wire.ATTRIBUTES] & wire.LOG_APPEND_TIME)
                position = row[wire.POSITION]
                for record in decode(buffer[position : position + row[wire.LENGTH]].data):
                    yield record, stamped
            at = int(table[-1, wire.LAST]) + 1
