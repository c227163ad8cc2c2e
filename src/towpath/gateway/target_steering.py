"""Routing of requests where clients read mirror topics on the target, and write to the source.

Clients know the brokers of the target from their first request on, and the target's ids of topics.
So they learn nothing new when their topics are promoted. What they write to a topic that is not
promoted goes to its leader at the source, on a connection of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from kafka.protocol.admin import CreateTopicsRequest, DeleteRecordsRequest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import MetadataRequest

from towpath.gateway import steering_answers
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.fetch_requests import FLEXIBLE, WITH_IDS, without_leader_epochs
from towpath.gateway.frames import FrameError, Head, uvarint
from towpath.gateway.group_fence import GroupFence
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.recoding import decoded, recoded
from towpath.gateway.request_sending import RelayedClient, of_cluster
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.routes import BrokerPlace, Cluster, Routes
from towpath.gateway.steering import FETCH_SESSIONS, Steering

_SIZE = 2
"""Bytes of the size before a name."""
_OF_COORDINATORS = frozenset(
    {
        Api.INIT_PRODUCER_ID,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_OFFSETS_TO_TXN,
        Api.TXN_OFFSET_COMMIT,
        Api.END_TXN,
        Api.DESCRIBE_TRANSACTIONS,
        Api.LIST_TRANSACTIONS,
    }
)
"""Requests for the coordinator that a client found, which may be one of the source."""


class TargetSteering(Steering):
    """Routes requests where clients read from the target.

    Args:
        own: Gives the gateway's own answers.
        answers: Changes answers, by the cluster that gives them.
        routes: What is held and promoted.
        wake: Called when requests that wait may go on.
        leaving: Which clients are shown the target's own brokers.
        mirror: What is known of mirror topics.
    """

    def __init__(
        self,
        own: OwnAnswers,
        answers: Mapping[Cluster, AnswerChanges],
        routes: Routes,
        wake: Callable[[], None],
        leaving: LeavingClients,
        mirror: MirrorReads,
    ) -> None:
        super().__init__(own, answers, routes, wake, leaving)
        self._mirror = mirror
        self._groups = GroupFence({**self._handlers}, routes, mirror).handlers
        self._handlers |= {
            **self._groups,
            Api.CREATE_TOPICS: (CreateTopicsRequest, self._topics),
            Api.DELETE_RECORDS: (DeleteRecordsRequest, self._deletes),
        }

    def step(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        """Return the next step for a request, `None` if the request has to wait.

        Raises:
            FrameError: It is not relayed, or is no request.
        """
        is_read = asked.key == Api.FETCH and self._own.takes(asked)
        if is_read and not self._routes.lease.is_lapsed:
            return self._reads(frame, asked, client)
        return super().step(frame, asked, client)

    def _opens(self, key: int) -> bool:
        return key != Api.LIST_OFFSETS or bool(self._mirror.returned)

    def _usual(self, key: int, client: RelayedClient) -> BrokerPlace:
        if key in _OF_COORDINATORS or self._mirror.returned:
            return client.home
        return of_cluster(Cluster.TARGET, client.home)

    def _reads(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep:
        """Relay a Fetch to the target, which may not have what a client asks for yet."""
        if self._mirror.returned:
            step = self._returned(frame, asked, client)
            if step is not None:
                return step
        positions = client.positions

        def ahead(topic: bytes, partition: int) -> bool:
            name = self._name(topic, asked.version)
            offset = positions.get((topic, partition))
            if offset is None or (name is not None and self._routes.promoted([name])):
                return False
            if name is None:
                self._mirror.ask()
                return True
            return self._mirror.is_ahead(name, partition, offset)

        sent = without_leader_epochs(frame, asked.version, positions)
        change = self._answers[Cluster.TARGET].fetched(ahead)
        return RequestStep(sends=(Sent(self._usual(asked.key, client), sent, change),))

    def _returned(self, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep | None:
        """Relay a Fetch to the source where all of it went back; `None` if none of it did."""
        asked, at_source = decoded(FetchRequest, frame, head.version), self._mirror.returned
        names = self._mirror.names
        found = {
            (topic.topic if head.version < WITH_IDS else names.get(topic.topic_id)) in at_source
            for topic in asked.topics
        }
        is_source = client.home.cluster is Cluster.SOURCE
        if (not is_source) in found:
            return RequestStep(own=steering_answers.elsewhere(asked, head))
        goes_on = head.version >= FETCH_SESSIONS and asked.session_epoch > 0
        if goes_on and client.whole_at != self._routes.turns:
            return RequestStep(own=steering_answers.no_session(head))
        client.whole_at = self._routes.turns
        return self._send.to(client.home, frame, head) if is_source else None

    def _name(self, topic: bytes, version: int) -> str | None:
        if version >= WITH_IDS:
            return self._mirror.names.get(UUID(bytes=topic))
        begin = uvarint(topic, 0)[1] if version >= FLEXIBLE else _SIZE
        return topic[begin:].decode(errors="replace")

    def _metadata(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes, place = self._routes, of_cluster(Cluster.TARGET, client.home)
        named = [topic.name for topic in asked.topics or () if topic.name is not None]
        change = None
        if self._leaving.goes(client.name, self._names(asked.topics or ())):
            change = self._answers[Cluster.TARGET].direct(head.key)
        if asked.allow_auto_topic_creation and len(routes.promoted(named)) < len({*named}):
            # The link makes mirror topics, as they are at the source.
            frame = bytearray(recoded(MetadataRequest, _without_creation, frame, head.version))
        return self._send.to(place, frame, head, change)

    def _cluster(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        del asked
        return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head)

    def _deletes(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        names = {topic.name for topic in asked.topics}
        if names and names <= self._mirror.returned.keys():
            return self._send.to(of_cluster(Cluster.SOURCE, client.home), frame, head)
        self._require_own(names, head)
        return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head)

    def _require_own(self, names: Iterable[str], head: Head) -> None:
        """Raise where records of a mirror topic would be deleted by others than its link.

        Raises:
            FrameError: They would.
        """
        mirrors = {*names} - self._routes.promoted(names)
        if mirrors:
            raise FrameError(
                f"request {head.key} for {min(mirrors)}, which is a mirror topic: delete its"
                " records at the source"
            )


def _without_creation(asked: Any) -> None:
    asked.allow_auto_topic_creation = False
