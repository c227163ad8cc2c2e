"""Transactions that replay records: each holds records and the marks of their replay. Blocking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.cluster.data.client import Client
from towpath.ledger.link import OpenLink
from towpath.ledger.quarantine.format import ReplayMark
from towpath.ledger.quarantine.writer import PLACE
from towpath.model.errors import RefusedError
from towpath.model.nouns import LinkName, TopicPartition
from towpath.records.trouble import REFUSES_IDS
from towpath.runtime.deadline import Deadline
from towpath.wire import plain
from towpath.wire.codec import NONE, ZSTD

_SMALL = 1024
"""Bytes of records up to which a batch is not compressed."""


def transactional_id(link: LinkName) -> str:
    """Return the transactional id of the replays of a link.

    It begins as those of its partitions do, so one ACL covers all (docs/rights.md). No partition
    has it: their ids end with a number.
    """
    return f"towpath.{link}.:quarantine"


@dataclass(frozen=True, slots=True)
class Written:
    """A record, the partition that it is written to, and the mark that it was replayed."""

    target: TopicPartition
    record: plain.Record
    mark: ReplayMark


class ReplayWriter:
    """Writes transactions, after `begin` has fenced all earlier writers of the link."""

    def __init__(self, link: OpenLink, client: Client) -> None:
        self._client = client
        self._timeout = link.config.target.request_timeout
        name = transactional_id(link.config.link)
        self._transactions = link.target.producers.transactions(name)
        self._who = ProducerEpoch(-1, -1)
        self._sequences: defaultdict[TopicPartition, int] = defaultdict(int)
        self._is_open = False

    def begin(self) -> int:
        """Fence all earlier writers and end what they left open. Returns the producer id.

        Raises:
            ClusterError: The target refuses transactions, or did not answer.
        """
        self._who = self._transactions.fence(Deadline.after(self._timeout))
        self._sequences.clear()
        self._is_open = False
        return self._who.producer_id

    def write(self, records: Sequence[Written]) -> None:
        """Write records and their marks in one transaction, which is committed on return.

        Raises:
            RefusedError: The target refused it. Nothing of it will be committed once `abort` was
                called.
            UnreachableError: No answer came in time. It may be committed or not.
        """
        deadline = Deadline.after(self._timeout)
        parts: defaultdict[TopicPartition, list[plain.Record]] = defaultdict(list)
        for each in records:
            parts[each.target].append(each.record)
        parts[PLACE] = [each.mark.encode() for each in records]
        for tp, some in parts.items():
            self._transactions.add(self._who, tp, deadline)
            self._is_open = True
            self._append(tp, some)
        self._transactions.end(self._who, deadline, commit=True)
        self._is_open = False

    def abort(self) -> None:
        """End the transaction that was refused, so that another one can be written.

        It fences nobody: a replay that has begun meanwhile may have written the same records.

        Raises:
            RefusedError: Another replay of the link has begun (see `fenced_by`).
            UnreachableError: No answer came in time.
        """
        if self._is_open:
            deadline = Deadline.after(self._timeout)
            self._transactions.end(self._who, deadline, commit=False)
            self._is_open = False

    @staticmethod
    def fenced_by(error: RefusedError) -> bool:
        """Whether an error says that another replay of the link has begun."""
        return error.error in REFUSES_IDS

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
