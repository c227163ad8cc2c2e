"""The search for open transactions at the source, behind which nothing is copied yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ListedTransaction, ProducerState
from towpath.mirror.status.kept_answer import KeptAnswer
from towpath.mirror.status.open_transaction import HANGING, OpenTransaction, open_transaction
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.model.errors import ClusterError
from towpath.model.nouns import ProducerId, TopicPartition
from towpath.runtime.clock import now_ms

LONGEST_MS = 900_000
"""Kafka's default of `transaction.max.timeout.ms`."""
_LIMIT = "transaction.max.timeout.ms"


@dataclass(slots=True)
class TransactionWatch:
    """Finds open transactions; caches what producers they are of for frequent callers.

    Attributes:
        every: Seconds for which an answer is used again.
    """

    every: float = 0.0
    _found: KeptAnswer[dict[TopicPartition, OpenTransaction]] = field(default_factory=KeptAnswer)

    def told_in(
        self, rows: Iterable[PartitionStatus], source: Admin, patience: float | None = None
    ) -> tuple[PartitionStatus, ...]:
        """Return the rows with the transaction that holds back each, if there is one.

        Args:
            rows: The partitions. Only those with offsets behind the last stable one are asked for.
            source: Asked for producers and transactions. What it does not tell stays unknown.
            patience: As for `ask_leaders`.
        """
        known = tuple(rows)
        held = [row for row in known if _is_held(row)]
        found = self._found.get(lambda: _find(held, source, patience), self.every)
        return tuple(_with(row, found.get(row.tp)) for row in known)


def with_open_transactions(
    rows: Iterable[PartitionStatus], source: Admin, patience: float | None = None
) -> tuple[PartitionStatus, ...]:
    """Return the rows with the transaction that holds back each; see `TransactionWatch`."""
    return TransactionWatch().told_in(rows, source, patience)


def _is_held(row: PartitionStatus) -> bool:
    return row.unstable > 0 and row.state not in {*OVER, State.EXCLUDED}


def _with(row: PartitionStatus, found: OpenTransaction | None) -> PartitionStatus:
    if not _is_held(row):
        return row
    begins = row.source_log_end
    known = found is not None and found.first == begins
    told = found if found is not None and known else OpenTransaction(first=begins, offsets=0)
    code = [HANGING] if told.hangs else []
    return replace(row, open=replace(told, offsets=row.unstable), codes=(*row.codes, *code))


def _find(
    rows: Collection[PartitionStatus], source: Admin, patience: float | None
) -> dict[TopicPartition, OpenTransaction]:
    firsts = {row.tp: row.source_log_end for row in rows}
    holders = _holders(firsts, source, patience)
    if not holders:
        return {}
    listed, limit = _listed(source), _limit(source)
    return {tp: open_transaction(each, listed, limit, now_ms()) for tp, each in holders.items()}


def _holders(
    firsts: Mapping[TopicPartition, int], source: Admin, patience: float | None
) -> dict[TopicPartition, ProducerState]:
    """Return the producer whose open transaction begins at the last stable offset of each."""
    if not firsts:
        return {}
    try:
        states = source.producers.states(firsts, patience=patience)
    except ClusterError:  # brokers older than Kafka 2.8 do not tell (KIP-664)
        return {}
    return {
        tp: each for tp, some in states.items() for each in some if each.open_since == firsts[tp]
    }


def _listed(source: Admin) -> Mapping[ProducerId, ListedTransaction] | None:
    try:
        return source.producers.listed_transactions()
    except ClusterError:  # brokers older than Kafka 3.0 do not tell (KIP-664)
        return None


def _limit(source: Admin) -> int:
    """Return the longest time in ms that a broker of the source lets a transaction take."""
    try:
        told = source.cluster.each_broker([_LIMIT])
    except ClusterError:
        return LONGEST_MS
    return max((int(each[_LIMIT]) for each in told if _LIMIT in each), default=LONGEST_MS)
