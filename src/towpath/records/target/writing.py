"""Transactional writing to targets that refuse derived producer ids. Blocking.

Only one writer at a time can commit, because opening a partition fences all others. Records that it
committed after its last receipt are found again by `written`. So nothing is lost or doubled, and
the ledger need not be part of the transaction (docs/decisions/0009).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from towpath.cluster.admin.transactions import ProducerEpoch, Transactions
from towpath.cluster.codes import TOO_LARGE
from towpath.cluster.data.client import Client
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import TargetOffset, TopicPartition
from towpath.records.items import Batch
from towpath.records.target.error_codes import BAD_RECORDS
from towpath.records.trouble import REFUSES_IDS
from towpath.runtime.deadline import Deadline
from towpath.wire import batch as wire

_WAIT = 0.1
_PEEK_BYTES = 64 << 10
_ABORT = 5.0
"""Seconds to try to abort. If that fails, the next writer does it, or the broker after a minute."""


class TooLargeError(ClusterError):
    """A batch is larger than the target topic's `config` allows."""

    def __init__(self, batch: Batch, config: str) -> None:
        super().__init__(batch.size, config)
        self.batch, self.config = batch, config


class DamagedError(ClusterError):
    """A batch has a wrong checksum, so every target would refuse it."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch.base)
        self.batch = batch


class BadRecordsError(ClusterError):
    """The target permanently rejects records of a batch, with the error `refusal`."""

    def __init__(self, batch: Batch, refusal: RefusedError) -> None:
        super().__init__(batch.base, refusal)
        self.batch, self.refusal = batch, refusal


@dataclass(slots=True)
class PartitionWriter:
    """Writes one target partition in transactions, from a fence to the first error."""

    tp: TopicPartition
    transactions: Transactions
    who: ProducerEpoch
    timeout: float
    _sequence: int = 0

    def write(self, client: Client, batches: Sequence[Batch]) -> list[TargetOffset]:
        """Write batches in one transaction. Returns the base offset of each.

        The batches are stamped. When this returns, they are visible to every consumer.

        Raises:
            TooLargeError: A batch is too large; nothing was written.
            DamagedError: A batch is damaged; nothing was written.
            BadRecordsError: A batch has records that are refused for good; nothing was written.
            ClusterError: The target refused, for example because another writer took over, or did
                not answer. The transaction may be committed nevertheless.
        """
        deadline = Deadline.after(self.timeout)
        try:
            self.transactions.add(self.who, [self.tp], deadline)
            bases = [TargetOffset(self._append(client, batch)) for batch in batches]
            self.transactions.end(self.who, deadline, commit=True)
            self._await_marker(client, bases[-1] + batches[-1].count, deadline)
        except ClusterError as error:
            self._abandon(error)
            raise
        return bases

    def _append(self, client: Client, batch: Batch) -> int:
        if not wire.sound(batch.data):
            raise DamagedError(batch)
        buffer = np.frombuffer(batch.data, np.uint8)
        table = wire.scan(buffer, 0, len(buffer))
        wire.stamp(
            buffer,
            table,
            self.who.producer_id,
            self._sequence,
            epoch=self.who.epoch,
            transactional=True,
        )
        batch.crc = int(table[0, wire.CRC])
        try:
            base = client.produce(self.tp, batch.data, self.transactions.transactional_id)
        except RefusedError as error:
            if error.error in TOO_LARGE:
                raise TooLargeError(batch, TOO_LARGE[error.error]) from error
            if error.error in BAD_RECORDS:
                raise BadRecordsError(batch, error) from error
            raise
        self._sequence = (self._sequence + batch.count) % wire.SEQUENCES
        return base

    def _await_marker(self, client: Client, at: int, deadline: Deadline) -> None:
        while not deadline.over:
            chunk = client.fetch(self.tp, at, max_bytes=_PEEK_BYTES, wait=_WAIT)
            table = wire.scan(chunk.buffer, chunk.start, chunk.end)
            markers = table[:, wire.ATTRIBUTES] & wire.CONTROL != 0
            if (markers & (table[:, wire.PRODUCER] == self.who.producer_id)).any():
                return
            at = int(table[-1, wire.LAST]) + 1 if len(table) else at
        raise ClusterError(f"target: a transaction in {self.tp} did not become visible in time")

    def _abandon(self, error: Exception) -> None:
        """Abort the open transaction, so that nobody waits for it, unless another writer did.

        Aborting raises the epoch, so the target refuses a request that is still under way.
        """
        fenced = isinstance(error, RefusedError) and error.error in REFUSES_IDS
        if not fenced:
            with suppress(ClusterError):
                self.transactions.fence(Deadline.after(min(self.timeout, _ABORT)))
