"""A reader of the committed records of one partition, up to its end. Blocking.

Records are decoded in plain Python, so this is for few records: topics that keep state, and what
one of two clusters has alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client, Records
from towpath.model.errors import RefusedError, UnreachableError
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.wire import plain
from towpath.wire.aborted import AbortedTransactions
from towpath.wire.header import BatchHeader, split

_FETCH_BYTES = 1 << 20
_WAIT = 0.5
_PATIENCE = 30.0
"""Seconds to wait for records that a partition must have, as its end tells."""


class CommittedReader:
    """Reads a partition; each call of `read` yields the records added since the last.

    Records may expire while they are read: reading then goes on where the log begins now, and what
    was read before still counts, as it was the last word when it was read.

    Args:
        admin: The cluster.
        client: Fetches from it.
        tp: The partition.
        at: The offset to begin at, by default where the log begins.
        side: Which cluster it is, for errors.

    Attributes:
        expired: Offsets that were deleted between two fetches, before they were read.
        records: Committed records that were read.
    """

    def __init__(
        self,
        admin: Admin,
        client: Client,
        tp: TopicPartition,
        *,
        at: int | None = None,
        side: Side = Side.TARGET,
    ) -> None:
        self._admin, self._client, self._tp, self._side = admin, client, tp, side
        self._at = at
        self.expired = self.records = 0

    def read(self) -> Iterator[plain.Record]:
        """Yield the committed records since the last call, up to the present end.

        Raises:
            ClusterError: The partition cannot be read, or has no leader.
            CorruptBatchError: It holds a damaged batch.
        """
        for batch, before in self.batches():
            for record in plain.decode(batch):
                if record.offset >= before:
                    self.records += 1
                    yield record

    def batches(self) -> Iterator[tuple[memoryview, int]]:
        """Yield the batches with committed records, each with the first wanted offset.

        Raises:
            ClusterError: The partition cannot be read, or has no leader.
        """
        offsets = self._admin.offsets
        if self._at is None:
            self._at = offsets.earliest([self._tp]).sure(self._tp)
        end = offsets.latest([self._tp], committed=True).sure(self._tp)
        deadline = Deadline.after(_PATIENCE)
        while self._at < end:
            chunk = self._fetched(self._at)
            if chunk is None:
                continue
            before = self._at
            for batch in visible(chunk):
                yield batch, before
            self._at = max(before, _end(chunk))
            if self._at > before:
                deadline = Deadline.after(_PATIENCE)
            elif deadline.over:
                what = f"fetching {self._tp} at {before}"
                why = f"no records came within {_PATIENCE:.0f} s, although it ends at {end}"
                raise UnreachableError(self._side, what, why, "look at the partition's leader")

    def _fetched(self, at: int) -> Records | None:
        """Fetch from an offset; `None` where the log begins behind it now."""
        try:
            return self._client.fetch(
                self._tp, at, max_bytes=_FETCH_BYTES, wait=_WAIT, committed=True
            )
        except RefusedError as error:
            if error.error != OFFSET_OUT_OF_RANGE:
                raise
            start = self._admin.offsets.earliest([self._tp]).sure(self._tp)
            if start <= at:
                raise  # the log was cut or made again
            self.expired += start - at
            self._at = start
            return None


def committed(chunk: Records) -> Iterator[plain.Record]:
    """Yield the records in a fetch response that committed readers see (KIP-98)."""
    for batch in visible(chunk):
        yield from plain.decode(batch)


def visible(chunk: Records) -> Iterator[memoryview]:
    """Yield the batches of a fetch response whose records such consumers see."""
    transactions = AbortedTransactions(chunk.said.aborted)
    for batch in split(chunk.batches):
        header = BatchHeader.read(batch)
        last = header.base_offset + header.last_offset_delta
        if not transactions.void(last, header.attributes, header.producer_id):
            yield batch


def _end(chunk: Records) -> int:
    """Return the offset behind the last whole batch of a response, 0 if there is none."""
    headers = map(BatchHeader.read, split(chunk.batches))
    return max((each.base_offset + each.last_offset_delta + 1 for each in headers), default=0)
