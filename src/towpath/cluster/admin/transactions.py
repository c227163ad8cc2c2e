"""Minimal transactional producer: ids, partitions and offsets of transactions, and their ends.

It uses old request versions, which every broker from 2.8 to 4.x accepts (KIP-98, KIP-896). With
them a fenced producer always gets INVALID_PRODUCER_EPOCH, and an epoch lasts for more than one
transaction (before KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from towpath.cluster.admin.leaders import by_topic
from towpath.cluster.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    refused,
)
from towpath.cluster.connect.control import Control, may_pass
from towpath.cluster.connect.retrying import retried
from towpath.cluster.metadata import Broker
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.groups import Commit
from towpath.model.nouns import TopicPartition
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

_TIMEOUT_MS = 60_000
_TIMEOUT = "INVALID_TRANSACTION_TIMEOUT"
_NEWEST = 1
_AGAIN = BackOff(first=0.02, longest=0.02)
_LEAST = 0.1
_NOT_ATTEMPTED = 55
"""What partitions get that nothing speaks against, where another one was refused."""
_MOVED = frozenset({COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR})
"""Errors after which the coordinator is looked up again."""


@dataclass(frozen=True, slots=True)
class ProducerEpoch:
    """Producer id and epoch from InitProducerId."""

    producer_id: int
    epoch: int


class Transactions:
    """The transactions of one transactional id; blocking, for one thread.

    `fence` keeps every earlier user of the id out, and ends what it left open.
    """

    def __init__(
        self, control: Control, transactional_id: str, timeout_ms: int = _TIMEOUT_MS
    ) -> None:
        self._control, self._timeout_ms = control, timeout_ms
        self.transactional_id = transactional_id
        self._coordinator: Broker | None = None

    def fence(self, deadline: Deadline) -> ProducerEpoch:
        """Fence other users of the transactional id, aborting an open transaction."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=self._timeout_ms
        )
        said = self._ask(request, "starting transactions", deadline, lambda a: a.error_code)
        return ProducerEpoch(said.producer_id, said.producer_epoch)

    def refusal(self, deadline: Deadline) -> ClusterError | None:
        """Return why this login could not fence the id, `None` if it could; nothing is changed.

        A broker looks at the rights on the id and whether it is the coordinator, then at the
        timeout, and only then at the id (`KafkaApis`, `TransactionCoordinator`). No timeout of 0 is
        taken (`validateTransactionTimeoutMs`), so the refusal of it tells that all else is fine.
        """
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=0
        )
        try:
            self._ask(request, "starting transactions", deadline, lambda a: a.error_code)
        except RefusedError as error:
            return None if error.name == _TIMEOUT else error
        except ClusterError as error:
            return error
        return None

    def add(self, who: ProducerEpoch, tps: Sequence[TopicPartition], deadline: Deadline) -> None:
        """Add partitions to the transaction; those that it has are refused if it has ended."""
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=who.producer_id,
            v3_and_below_producer_epoch=who.epoch,
            v3_and_below_topics=by_topic(tps, lambda name, p: topic(name=name, partitions=p)),
        )
        more = f" and {len(tps) - 1} others" if len(tps) > 1 else ""
        what = f"adding {tps[0]}{more} to a transaction"
        self._ask(request, what, deadline, lambda answer: _first_error(_of_partitions(answer)))

    def commit_offset(
        self, who: ProducerEpoch, group: str, tp: TopicPartition, commit: Commit, deadline: Deadline
    ) -> None:
        """Commit an offset of a group within the transaction (KIP-98)."""
        what = f"adding offsets of group {group} to a transaction"
        adding = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            group_id=group,
        )
        self._ask(adding, what, deadline, lambda answer: answer.error_code)
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        partition = topic.TxnOffsetCommitRequestPartition(
            partition_index=tp.partition,
            committed_offset=commit.offset,
            committed_leader_epoch=-1,
            committed_metadata=commit.metadata,
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            topics=[topic(name=tp.topic, partitions=[partition])],
        )

        def once() -> None:
            soon = Deadline.after(max(_LEAST, deadline.left()))
            coordinator = self._control.coordinator(group, soon)
            answer = self._control.ask(coordinator, request, soon, what, newest=_NEWEST)
            number = answer.topics[0].partitions[0].error_code
            if number:
                raise refused(self._control.side, what, number, acl=f"Read on group {group}")

        retried(once, deadline, _AGAIN, may_pass)

    def end(self, who: ProducerEpoch, deadline: Deadline, *, commit: bool) -> None:
        """Commit or abort the transaction; the marker reaches the partition soon after."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            committed=commit,
        )
        self._ask(request, "ending a transaction", deadline, lambda a: a.error_code)

    def _ask(
        self, request: Any, what: str, deadline: Deadline, error_of: Callable[[Any], int]
    ) -> Any:
        """Ask the coordinator until its answer is final."""

        def once() -> Any:
            try:
                return self._ask_once(request, what, deadline, error_of)
            except ClusterError as error:
                if not isinstance(error, RefusedError) or error.error in _MOVED:
                    self._coordinator = None
                raise

        return retried(once, deadline, _AGAIN, may_pass)

    def _ask_once(
        self, request: Any, what: str, deadline: Deadline, error_of: Callable[[Any], int]
    ) -> Any:
        if self._coordinator is None:
            self._coordinator = self._control.coordinator(
                self.transactional_id, deadline, CoordinatorType.TRANSACTION
            )
        # A request that began in time gets a minimum of time for its answer.
        soon = Deadline.after(max(_LEAST, deadline.left()))
        answer = self._control.ask(self._coordinator, request, soon, what, newest=_NEWEST)
        number = error_of(answer)
        if number:
            raise refused(self._control.side, what, number)
        return answer


def _of_partitions(answer: Any) -> Iterator[int]:
    for topic in answer.results_by_topic_v3_and_below:
        for each in topic.results_by_partition:
            yield each.partition_error_code


def _first_error(codes: Iterable[int]) -> int:
    """Return an error that is one, not what came of it to other partitions."""
    found = [code for code in codes if code]
    return next((code for code in found if code != _NOT_ATTEMPTED), found[0] if found else 0)
