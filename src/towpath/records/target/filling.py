"""Filling of a target partition's gaps with aborted transactions. Blocking.

An empty committed transaction takes one offset, its marker. An aborted transaction of n - 1 filler
records takes n offsets. Neither leaves a transaction open (docs/decisions/0003).
"""

from __future__ import annotations

from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch, Transactions
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Client
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import TopicPartition
from towpath.runtime.clock import now_ms
from towpath.runtime.deadline import Deadline
from towpath.wire.filler import LARGEST, filler

_WAIT = 0.1


@dataclass(slots=True)
class PartitionFiller:
    """Fills gaps of one target partition, after fencing all earlier fillers."""

    tp: TopicPartition
    transactions: Transactions
    timeout: float
    keyed: bool
    _who: ProducerEpoch | None = None
    _sequence: int = 0

    def fill(self, admin: Admin, client: Client, base: int, end: int) -> None:
        """Occupy the offsets [base, end) with aborted transactions; occupied ones stay.

        A log that ends after `end` is fine: another copier was faster, or another writer has
        written, and then the next records show that because they are appended elsewhere.

        Raises:
            ClusterError: The target refused, for example because another filler took over, or its
                log ends before `base`.
        """
        deadline = Deadline.after(self.timeout)
        try:
            if self._who is None:
                self._who = self.transactions.fence(deadline)
                self._sequence = 0
            # A new leader may return an old high watermark in a fetch, but not here (KIP-207).
            at = admin.offsets.latest([self.tp])[self.tp]
            while base <= at < end:
                at = self._take(client, at, min(end - at, LARGEST), deadline)
        except ClusterError:
            self._who = None
            raise
        if at < end:
            text = (
                f"target: the log of {self.tp} ends at offset {at}, before the gap at offset {base}"
            )
            raise ClusterError(text)

    def _take(self, client: Client, at: int, count: int, deadline: Deadline) -> int:
        """Take `count` offsets from `at` on in one transaction. Returns the new log end offset."""
        who = self._who
        assert who is not None  # noqa: S101  # by `fill`
        self.transactions.add(who, [self.tp], deadline)
        if count > 1:
            records = filler(
                count - 1,
                now_ms=now_ms(),
                producer_id=who.producer_id,
                epoch=who.epoch,
                sequence=self._sequence,
                transactional=True,
                keyed=self.keyed,
            )
            client.produce(self.tp, records, self.transactions.transactional_id)
            self._sequence += count - 1
        self.transactions.end(who, deadline, commit=count == 1)
        end = at
        while end < at + count and not deadline.over:
            end = max(end, self._visible(client, at + count - 1))
        if end < at + count:
            raise ClusterError(
                f"target: filler of {self.tp} at offset {at} did not become visible in time"
            )
        return end

    def _visible(self, client: Client, at: int) -> int:
        try:
            return client.fetch(self.tp, at, max_bytes=1, wait=_WAIT).said.high_watermark
        except RefusedError as error:
            if error.error != OFFSET_OUT_OF_RANGE:
                raise
            return -1
