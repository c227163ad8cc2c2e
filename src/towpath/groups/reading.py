"""Reader of single records of a partition, as consumers see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.model.nouns import TopicPartition
from towpath.wire.aborted import AbortedTransactions
from towpath.wire.header import LOG_APPEND_TIME, MAGIC, BatchHeader, split
from towpath.wire.legacy import modernise
from towpath.wire.plain import Record, decode

_BYTES = 1 << 18
"""Bytes of a fetch."""
_MAGIC_AT = 16
"""Where the magic of a batch is, in all formats."""
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
        """The log start offset of the partition."""
        return self.admin.offsets.earliest([self.tp]).sure(self.tp)

    @property
    def end(self) -> int:
        """The last stable offset of the partition."""
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
        at = first
        while at < end:
            chunk = self.client.fetch(self.tp, at, max_bytes=_BYTES, committed=True)
            data = chunk.batches
            if len(data) > _MAGIC_AT and data[_MAGIC_AT] < MAGIC:
                data = memoryview(modernise(data))
            transactions = AbortedTransactions(chunk.said.aborted)
            last = None
            for batch in split(data):
                header = BatchHeader.read(batch)
                last = header.base_offset + header.last_offset_delta
                if not transactions.void(last, header.attributes, header.producer_id):
                    stamped = bool(header.attributes & LOG_APPEND_TIME)
                    yield from ((record, stamped) for record in decode(batch))
            if last is None:
                return
            at = last + 1
