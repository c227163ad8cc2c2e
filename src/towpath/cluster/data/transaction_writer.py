"""Writes records in transactions of one transactional id, whose earlier users it fences. Blocking.

Whoever writes what must be there once, also across a kill, begins by fencing, waits until no
transaction is open where it looks, and only then decides what is left to write.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from towpath.cluster.admin import Admin
from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.data.client import Client
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.wire import plain
from towpath.wire.codec import NONE, ZSTD

T = TypeVar("T")

_SMALL = 1024
"""Bytes of records up to which a batch is not compressed."""
_OPEN = 75.0
"""Seconds to wait for the end of open transactions. A coordinator ends ours after a minute."""
_NAP = 0.1


class TransactionWriter:
    """Writes transactions, after `begin` has fenced all earlier writers.

    Args:
        admin: The cluster to write to.
        client: A client of it.
        transactional_id: The id; all writers of the same work share it.
        timeout: Seconds that one transaction may take.
    """

    def __init__(self, admin: Admin, client: Client, transactional_id: str, timeout: float) -> None:
        self._client, self._timeout = client, timeout
        self._transactions = admin.producers.transactions(transactional_id)
        self._who = ProducerEpoch(-1, -1)
        self._sequences: defaultdict[TopicPartition, int] = defaultdict(int)
        self._is_open = False

    def begin(self) -> int:
        """Fence all earlier writers and end what they left open. Returns the producer id.

        Raises:
            ClusterError: The cluster refuses transactions, or did not answer.
        """
        self._who = self._transactions.fence(Deadline.after(self._timeout))
        self._sequences.clear()
        self._is_open = False
        return self._who.producer_id

    def commit(self, parts: Mapping[TopicPartition, Sequence[plain.Record]]) -> None:
        """Write records, by partition, in one transaction, which is committed on return.

        Raises:
            RefusedError: The cluster refused it. Nothing of it will be committed once `abort` was
                called.
            UnreachableError: No answer came in time. It may be committed or not.
        """
        deadline = Deadline.after(self._timeout)
        for tp, some in parts.items():
            self._transactions.add(self._who, [tp], deadline)
            self._is_open = True
            self._append(tp, some)
        self._transactions.end(self._who, deadline, commit=True)
        self._is_open = False

    def abort(self) -> None:
        """End the transaction that was refused, so that another one can be written.

        It fences nobody: a writer that has begun meanwhile may have written the same records.

        Raises:
            RefusedError: Another writer has begun.
            UnreachableError: No answer came in time.
        """
        if self._is_open:
            deadline = Deadline.after(self._timeout)
            self._transactions.end(self._who, deadline, commit=False)
            self._is_open = False

    def _append(self, tp: TopicPartition, records: Sequence[plain.Record]) -> None:
        batch = plain.encode(
            records,
            ZSTD if sum(each.size for each in records) > _SMALL else NONE,
            producer_id=self._who.producer_id,
            producer_epoch=self._who.epoch,
            base_sequence=self._sequences[tp],
            transactional=True,
        )
        self._client.produce(tp, batch, self._transactions.transactional_id)
        self._sequences[tp] += len(records)


def settle(admin: Admin, side: Side, tps: Iterable[TopicPartition]) -> None:
    """Wait until no transaction is open in these partitions, so that all that ended is visible.

    Raises:
        UnreachableError: A transaction stays open.
        ClusterError: A partition cannot be asked.
    """
    offsets, deadline = admin.offsets, Deadline.after(_OPEN)
    left = list(tps)
    ends = offsets.latest(left)
    while left:
        stable = offsets.latest(left, committed=True)
        left = [tp for tp in left if stable.sure(tp) < ends.sure(tp)]
        if left and deadline.over:
            raise UnreachableError(
                side,
                f"reading {left[0]}",
                f"a transaction has been open there for more than {_OPEN:.0f} s",
                "look with kafka-transactions.sh who holds it",
            )
        if left:
            time.sleep(_NAP)


def portions(
    items: Iterable[T], size: Callable[[T], int], *, most: int, most_bytes: int
) -> Iterator[list[T]]:
    """Yield items in portions that go into one transaction each.

    Args:
        items: The items, such as records; they are taken as the portions are.
        size: Returns the approximate bytes of one.
        most: Most items of a portion.
        most_bytes: Most bytes of a portion, if it has more than one item.
    """
    some: list[T] = []
    total = 0
    for each in items:
        if some and (total + size(each) > most_bytes or len(some) >= most):
            yield some
            some, total = [], 0
        some.append(each)
        total += size(each)
    if some:
        yield some
