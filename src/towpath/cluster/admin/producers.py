"""Producers of partitions, their transactions, and markers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kafka.protocol.admin import DescribeProducersRequest, ListTransactionsRequest
from kafka.protocol.producer import InitProducerIdRequest

from towpath.cluster.admin.described_transactions import describe_transactions
from towpath.cluster.admin.leaders import (
    KnownLeaders,
    Question,
    ask_leaders,
    by_topic,
    each_partition,
)
from towpath.cluster.admin.markers import MarkersOf, refusal, write_markers
from towpath.cluster.admin.transactions import ProducerEpoch, Transactions
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import (
    Answers,
    DescribedTransaction,
    ListedTransaction,
    ProducerState,
)
from towpath.model.errors import RefusedError
from towpath.model.nouns import ProducerId, TopicPartition
from towpath.runtime.deadline import Deadline

T = TypeVar("T")


class ProducerAdmin:
    """Queries producer states and transactions, and writes markers."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def sequences(
        self, tps: Iterable[TopicPartition], *, patience: float | None = None
    ) -> Answers[TopicPartition, dict[ProducerId, int]]:
        """Return the last sequence of each producer id in the leader's producer state."""
        return self._describe(tps, _sequences, patience)

    def states(
        self,
        tps: Iterable[TopicPartition],
        *,
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        """Return the leader's producer state (KIP-664)."""
        return self._describe(tps, _states, patience, leaders)

    def write_markers(
        self, markers: MarkersOf, *, patience: float, leaders: KnownLeaders | None = None
    ) -> Answers[TopicPartition, None]:
        """Ask each leader once to write transaction markers for its partitions."""
        return write_markers(self._control, markers, patience, leaders)

    def marker_refusal(self) -> RefusedError | None:
        """Return why the target refuses markers, `None` if it accepts them."""
        return refusal(self._control)

    def transactions(self, transactional_id: str, timeout: float = 60.0) -> Transactions:
        """Return the transactions of a transactional id, without a request.

        Args:
            transactional_id: The id.
            timeout: Seconds after which a coordinator aborts a transaction that is open.
        """
        return Transactions(self._control, transactional_id, int(timeout * 1000))

    def new_id(self) -> ProducerEpoch:
        """Return a new producer id, for idempotent writes without transactions."""
        what = "asking for a producer id"

        def ask(deadline: Deadline) -> ProducerEpoch:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            said = self._control.ask_any(request, deadline, what, newest=1)
            if said.error_code:
                raise refused(self._control.side, what, said.error_code)
            return ProducerEpoch(said.producer_id, said.producer_epoch)

        return self._control.retried(ask)

    def transactional_ids(self) -> dict[ProducerId, str]:
        """Return the transactional ids that the login may describe, by producer id (KIP-664).

        Brokers silently leave out ids on which the login lacks Describe.

        Raises:
            ClusterError: A broker does not answer, or is older than Kafka 3.0.
        """
        return {each: said.transactional_id for each, said in self.listed_transactions().items()}

    def listed_transactions(self) -> dict[ProducerId, ListedTransaction]:
        """Return the state of each transactional id, by producer id; see `transactional_ids`."""
        return self._control.retried(self._listed)

    def _listed(self, deadline: Deadline) -> dict[ProducerId, ListedTransaction]:
        """Ask every broker, because each lists only the ids that it coordinates."""
        what = "listing transactional ids"
        found: dict[ProducerId, ListedTransaction] = {}
        for broker in self._control.metadata(deadline).brokers.values():
            request = ListTransactionsRequest(
                state_filters=[], producer_id_filters=[], duration_filter=-1
            )
            answer = self._control.ask(broker, request, deadline, what, newest=1)
            if answer.error_code:
                raise refused(self._control.side, what, answer.error_code)
            for state in answer.transaction_states:
                found[ProducerId(state.producer_id)] = ListedTransaction(
                    state.transactional_id, state.transaction_state
                )
        return found

    def described_transactions(self, names: Iterable[str]) -> dict[str, DescribedTransaction]:
        """Return what coordinators tell of transactional ids; ids that no broker knows are missing.

        Raises:
            ClusterError: A broker does not answer, refuses, or is older than Kafka 3.0.
        """
        wanted = sorted({*names})
        if not wanted:
            return {}
        return self._control.retried(lambda d: describe_transactions(self._control, wanted, d))

    def _describe(
        self,
        tps: Iterable[TopicPartition],
        read: Callable[[Any], T],
        patience: float | None = None,
        leaders: KnownLeaders | None = None,
    ) -> Answers[TopicPartition, T]:
        kind = DescribeProducersRequest.TopicRequest
        question = Question(
            "asking for the producers of",
            lambda theirs: DescribeProducersRequest(
                topics=by_topic(theirs, lambda name, p: kind(name=name, partition_indexes=p))
            ),
            lambda answer: each_partition(answer, read),
            acl="Read",
        )
        return ask_leaders(self._control, question, tps, patience, leaders)


def _sequences(said: Any) -> dict[ProducerId, int]:
    return {ProducerId(state.producer_id): state.last_sequence for state in said.active_producers}


def _states(said: Any) -> tuple[ProducerState, ...]:
    return tuple(map(_state, said.active_producers))


def _state(said: Any) -> ProducerState:
    return ProducerState(
        ProducerId(said.producer_id),
        said.last_sequence,
        said.last_timestamp,
        said.current_txn_start_offset,
        said.producer_epoch,
        said.coordinator_epoch,
    )
