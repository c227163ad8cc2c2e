"""Routing of requests of transactions while topics move, and afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
)

from towpath.gateway import transaction_answers
from towpath.gateway.apis import Api
from towpath.gateway.frames import FrameError, Head
from towpath.gateway.recoding import Change, recoded
from towpath.gateway.request_sending import Handler, RelayedClient, RequestSending
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.steering_answers import OLD_EPOCH
from towpath.gateway.transaction_answers import (
    INVALID_STATE,
    NOT_COORDINATOR,
    POLICY_VIOLATION,
    added,
)
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.gateway.unplaced_ids import PlaceVerdict, UnplacedId

_WITH_IDENTITY = 3
"""The first version of InitProducerId with the producer id and epoch of the client."""


class TransactionSteering:
    """Routes requests of transactions to the cluster that serves the transactional id.

    Args:
        send: Sends requests on.
        routes: What is held and promoted.

    Attributes:
        handlers: What decodes a request and what handles it, by its API key.
    """

    def __init__(self, send: RequestSending, routes: Routes) -> None:
        self._send, self._routes, self._ids = send, routes, routes.transactions
        self.handlers: Mapping[int, tuple[Any, Handler]] = {
            Api.INIT_PRODUCER_ID: (InitProducerIdRequest, self._init),
            Api.ADD_PARTITIONS_TO_TXN: (AddPartitionsToTxnRequest, self._add_partitions),
            Api.ADD_OFFSETS_TO_TXN: (AddOffsetsToTxnRequest, self._add_offsets),
            Api.TXN_OFFSET_COMMIT: (TxnOffsetCommitRequest, self._commit_offsets),
            Api.END_TXN: (EndTxnRequest, self._end),
        }

    def _init(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        name = asked.transactional_id
        if self._ids.is_sealed(name):
            return None
        if self._is_elsewhere(name, client):
            return RequestStep(own=transaction_answers.no_producer_id(head, NOT_COORDINATOR))

        is_there = client.home.cluster is Cluster.TARGET

        def began(answer: Any) -> None:
            if not answer.error_code:
                self._ids.saw(name, answer.producer_id).is_open = False
                if is_there:
                    self._ids.unplaced.settles(name)

        def identified(request: Any) -> None:
            of = name, request.producer_id, request.producer_epoch
            request.producer_id, request.producer_epoch = self._ids.identity(*of)

        if head.version >= _WITH_IDENTITY and name in self._ids.known:
            frame = bytearray(recoded(InitProducerIdRequest, identified, frame, head.version))
        return self._send.to(
            client.home, frame, head, partial(recoded, InitProducerIdResponse, began)
        )

    def _add_partitions(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        name, producer = asked.v3_and_below_transactional_id, asked.v3_and_below_producer_id
        topics = {topic.name for topic in asked.v3_and_below_topics}
        if self._ids.holds(name, topics):
            return None
        if self._is_elsewhere(name, client):
            own = transaction_answers.partitions_not_added(asked, head, NOT_COORDINATOR)
            return RequestStep(own=own)
        who = producer, asked.v3_and_below_producer_epoch
        promoted = self._routes.promoted(topics)
        movable, topic = promoted == topics, min(topics, default="")
        verdict = self._placed(name, who, client, f"topic {topic}", bool(promoted), movable=movable)
        if verdict is PlaceVerdict.WAIT:
            return None
        if verdict is PlaceVerdict.REFUSE:
            own = transaction_answers.partitions_not_added(asked, head, POLICY_VIOLATION)
            return RequestStep(own=own)
        seen = self._ids.saw(name, producer, topics)
        return self._send.to(
            client.home,
            self._identified(AddPartitionsToTxnRequest, name, frame, head, "v3_and_below_"),
            head,
            _opening(seen, AddPartitionsToTxnResponse),
        )

    def _add_offsets(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        name, group = asked.transactional_id, asked.group_id
        if self._ids.holds(name, groups=[group]):
            return None
        if self._is_elsewhere(name, client):
            return RequestStep(own=transaction_answers.offsets_not_added(head, NOT_COORDINATOR))
        who, moves = (asked.producer_id, asked.producer_epoch), self._routes.moves(group)
        verdict = self._placed(name, who, client, f"group {group}", moves, movable=moves)
        if verdict is PlaceVerdict.WAIT:
            return None
        if verdict is PlaceVerdict.REFUSE:
            return RequestStep(own=transaction_answers.offsets_not_added(head, POLICY_VIOLATION))
        seen = self._ids.saw(name, asked.producer_id, groups=[group])
        return self._send.to(
            client.home,
            self._identified(AddOffsetsToTxnRequest, name, frame, head),
            head,
            _opening(seen, AddOffsetsToTxnResponse),
        )

    def _commit_offsets(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        name, group = asked.transactional_id, asked.group_id
        if self._ids.holds(name, groups=[group]):
            return None
        code = 0
        if self._routes.moves(group) is (client.home.cluster is Cluster.SOURCE):
            code = NOT_COORDINATOR
        elif self._ids.is_fenced(name, asked.producer_id, asked.producer_epoch):
            code = OLD_EPOCH
        if code:
            own = transaction_answers.offsets_not_committed(asked, head, code)
            return RequestStep(own=own)
        self._require_group(name, group)
        self._ids.saw(name, asked.producer_id, groups=[group])
        sent = self._identified(TxnOffsetCommitRequest, name, frame, head)
        return self._send.to(client.home, sent, head)

    def _end(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        name = asked.transactional_id
        if self._is_elsewhere(name, client):
            return RequestStep(own=transaction_answers.not_ended(head, NOT_COORDINATOR))
        who = name, asked.producer_id, asked.producer_epoch
        was_before = self._ids.has_ended(*who, committed=asked.committed)
        was_before |= self._ids.unplaced.has_begun_nothing(name, committed=asked.committed)

        def ended(answer: Any) -> None:
            if answer.error_code == INVALID_STATE and was_before:
                # The source ended it, and its answer was lost; or nothing had begun.
                answer.error_code = 0
            if not answer.error_code:
                self._ids.ended([name])

        sent = self._identified(EndTxnRequest, name, frame, head)
        return self._send.to(client.home, sent, head, partial(recoded, EndTxnResponse, ended))

    def _is_elsewhere(self, name: str, client: RelayedClient) -> bool:
        """Whether the other cluster serves a transactional id."""
        return self._ids.is_moved(name) is (client.home.cluster is Cluster.SOURCE)

    def _placed(
        self,
        name: str,
        who: tuple[int, int],
        client: RelayedClient,
        wants: str,
        any_there: bool,
        *,
        movable: bool,
    ) -> PlaceVerdict:
        """Return what becomes of a request that begins a transaction.

        Args:
            name: The transactional id.
            who: Producer id and epoch that its client holds.
            client: The client, which asks the cluster of the id.
            wants: What it wants to write to.
            any_there: Whether any of that is on the target.
            movable: Whether all of it is.
        """
        is_moved = self._ids.is_moved(name)
        fits = movable if is_moved else not any_there
        verdict = PlaceVerdict.PASS
        if not fits or self._ids.is_strange(name):
            at_target = client.home.cluster is Cluster.TARGET
            wanted = UnplacedId(*who, wants, movable, at_target)
            verdict = self._ids.unplaced.verdict(name, wanted)
        if verdict is PlaceVerdict.PASS:
            self._ids.unplaced.begins(name)
        return verdict

    def _require_group(self, name: str, group: str) -> None:
        """Raise unless the cluster of a transactional id has a group.

        Raises:
            FrameError: A transaction would be one of two clusters.
        """
        is_there = self._routes.moves(group)
        if is_there is not self._ids.is_moved(name):
            where = "was promoted without it" if is_there else "is not promoted as it is"
            raise FrameError(f"a transaction of {name} for group {group}, which {where}")

    def _identified(
        self, message: Any, name: str, frame: bytearray, head: Head, prefix: str = ""
    ) -> bytearray:
        """Return a request with the producer id and epoch that the cluster knows."""
        if name not in self._ids.known:
            return frame
        number, epoch = f"{prefix}producer_id", f"{prefix}producer_epoch"

        def change(request: Any) -> None:
            held = getattr(request, number), getattr(request, epoch)
            known = self._ids.identity(name, *held)
            setattr(request, number, known[0])
            setattr(request, epoch, known[1])

        return bytearray(recoded(message, change, frame, head.version))


def _opening(seen: SeenTransactional, message: Any) -> Change:
    """Return what notes the answer to a request that begins a transaction, or goes on with it."""
    before, seen.is_open = seen.is_open, True

    def told(answer: Any) -> None:
        seen.is_open = before or added(answer)

    return partial(recoded, message, told)
