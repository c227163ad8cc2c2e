"""Routing of all requests while topics move.

While nothing is promoted, and nobody asked for it, every request goes to the broker that the client
means, unopened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from towpath.gateway import produce_requests, steering_answers
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.client_software import holds_ids
from towpath.gateway.frames import FrameError, Head, acks_of, with_acks
from towpath.gateway.group_steering import GroupSteering
from towpath.gateway.heartbeat_steering import HeartbeatSteering
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.passing_requests import NOTHING, PassingRule
from towpath.gateway.produce_requests import taken
from towpath.gateway.produce_steering import ProduceSteering
from towpath.gateway.recoding import decoded, recoded
from towpath.gateway.request_sending import Handler, RelayedClient, RequestSending, of_cluster
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.routes import BrokerPlace, Cluster, Routes
from towpath.gateway.transaction_steering import TransactionSteering

_GROUP, _TRANSACTION = 0, 1
_TOPIC = 2


class Steering:
    """Routes requests to a cluster, or lets the gateway answer them.

    Args:
        own: Gives the gateway's own answers.
        answers: Changes answers, by the cluster that gives them.
        routes: What is held and promoted.
        wake: Called when requests that wait may go on.
        leaving: Which clients are shown the target's own brokers.
        logins: Whether clients log in.
        adopts: Whether clients may come from the source itself.
    """

    def __init__(
        self,
        own: OwnAnswers,
        answers: Mapping[Cluster, AnswerChanges],
        routes: Routes,
        wake: Callable[[], None],
        leaving: LeavingClients | None = None,
        *,
        logins: bool = False,
        adopts: bool = False,
    ) -> None:
        self._adopts = adopts
        self._own, self._answers, self._routes = own, answers, routes
        # Topics that went back keep their ids only for who read their mirrors.
        returned = routes.returned_ids if routes.mirror is not None else None
        self._send = RequestSending(answers, routes.ids, returned)
        self._leaving = leaving or LeavingClients(routes, lambda: 0.0)
        self._logins = logins
        self._producing = ProduceSteering(
            routes, wake, self._leaving, crosses=not logins, adopts=adopts
        )
        self._handlers: dict[int, tuple[Any, Handler]]
        decoded_by: Mapping[int, tuple[Any, Handler]] = {
            Api.FETCH: (FetchRequest, self._fetch),
            Api.LIST_OFFSETS: (ListOffsetsRequest, self._list),
            Api.METADATA: (MetadataRequest, self._metadata),
            Api.FIND_COORDINATOR: (FindCoordinatorRequest, self._coordinator),
            Api.DESCRIBE_CLUSTER: (DescribeClusterRequest, self._cluster),
            Api.DELETE_TOPICS: (DeleteTopicsRequest, self._topics),
            Api.CREATE_PARTITIONS: (CreatePartitionsRequest, self._topics),
            Api.INCREMENTAL_ALTER_CONFIGS: (IncrementalAlterConfigsRequest, self._topics),
            Api.DESCRIBE_CONFIGS: (DescribeConfigsRequest, self._configs),
        }
        self._handlers = {
            **decoded_by,
            **GroupSteering(self._send, routes).handlers,
            **HeartbeatSteering(self._send, routes).handlers,
            **TransactionSteering(self._send, routes).handlers,
        }

    def step(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        """Return the next step for a request, `None` if the request has to wait.

        Raises:
            FrameError: It is not relayed, or is no request.
        """
        own = self._own.answer(frame, asked)
        if asked.key == Api.API_VERSIONS and holds_ids(frame, asked):
            self._leaving.holds_ids(client.name)
        if own is not None:
            return RequestStep(own=own)
        if not self._own.takes(asked):
            raise FrameError(f"request {asked.key} of version {asked.version} is not relayed")
        if self._routes.lease.is_lapsed:
            return None
        if asked.key == Api.PRODUCE:
            return self._produce(frame, asked, client)
        handler = self._handlers.get(asked.key)
        if handler is not None and self._opens(asked.key):
            message, handle = handler
            step = handle(decoded(message, frame, asked.version), frame, asked, client)
            if step is not None and step.own is not None and asked.key in _OF_TRANSACTIONS:
                return self._elsewhere(step.own, client)
            return step
        return self._send.to(self._usual(asked.key, client), frame, asked)

    def passing(self, client: RelayedClient) -> PassingRule:
        """Return which Produce requests pass as they are to the client's own broker now."""
        routes = self._routes
        if routes.held or routes.noted is not None or routes.lease.is_lapsed:
            return NOTHING
        if routes.mirror is not None and not routes.eras:  # the source's leader gets most of it
            return NOTHING
        moved = routes.eras or routes.of_others
        part = partial(self._producing.passes, home=client.home) if moved else None
        return PassingRule(self._own.versions(Api.PRODUCE), part)

    def _opens(self, key: int) -> bool:
        """Whether a request of this kind is looked into now."""
        return self._routes.moving or key in _SEEN

    def _usual(self, key: int, client: RelayedClient) -> BrokerPlace:
        """Return where a request goes that is not looked into."""
        del key
        return client.home

    # Records

    def _produce(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        routes, silent = self._routes, acks_of(frame, asked) == 0
        if silent:
            # The answer to it is kept from the client, and tells that the broker has done it. What
            # waits comes here once more, as it was.
            frame = with_acks(bytearray(frame) if routes.held or routes.eras else frame, asked, 1)
        if routes.noted is not None:
            routes.noted |= produce_requests.producers(frame, asked.version)
        if routes.held or routes.eras or routes.of_others or routes.mirror is not None:
            step, passes = self._producing.step(frame, asked, client, silent=silent)
            if not passes:
                return step
        change = taken if silent else None
        return RequestStep(sends=(Sent(client.home, frame, change, writes=True),), silent=silent)

    def _fetch(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes, cluster = self._routes, client.home.cluster
        if any(
            routes.is_elsewhere(topic.topic, cluster)
            if head.version < _FETCH_IDS
            else routes.is_id_elsewhere(topic.topic_id, cluster)
            for topic in asked.topics
        ):
            return self._elsewhere(steering_answers.elsewhere(asked, head), client)
        goes_on = head.version >= FETCH_SESSIONS and asked.session_epoch > 0
        if goes_on and client.whole_at != routes.turns:
            return RequestStep(own=steering_answers.no_session(head))
        client.whole_at = routes.turns
        return self._send.to(client.home, frame, head)

    def _list(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        cluster = client.home.cluster
        if any(self._routes.is_elsewhere(topic.name, cluster) for topic in asked.topics):
            return self._elsewhere(steering_answers.offsets_elsewhere(asked, head), client)
        return self._send.to(client.home, frame, head)

    def _elsewhere(self, own: bytes, client: RelayedClient) -> RequestStep:
        """Say that partitions, or a coordinator, are elsewhere.

        A client that was adopted may know this broker by the id that it has on the source, which a
        broker of the target has as well. Java stays on a connection although the address of its
        broker is another one now, so the connection ends.
        """
        is_last = self._adopts and client.home.cluster is Cluster.SOURCE
        return RequestStep(own=own, last=is_last)

    # Where things are

    def _metadata(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes = self._routes
        named = asked.topics or ()
        every = asked.topics is None and routes.source_away
        # Who is logged in to the source hears from it what it may see, so nothing of the target.
        may_go = not self._logins or client.home.cluster is Cluster.TARGET
        asked_for = routes.topics if every else self._names(named)
        if may_go and self._leaving.goes(client.name, asked_for):
            change = self._answers[Cluster.TARGET].direct(head.key)
            return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head, change)
        if routes.source_away:
            return self._metadata_alone(asked, frame, head, client)
        if named and all(
            topic.name in routes.topics
            if topic.name is not None
            else routes.name_of(topic.topic_id)
            for topic in named
        ):
            return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head)
        return self._send.to(of_cluster(Cluster.SOURCE, client.home), frame, head)

    def _names(self, topics: Iterable[Any]) -> Iterable[str]:
        """Return the names of topics in a Metadata request; "" for an id that is not promoted."""
        name_of = self._routes.name_of
        return [topic.name or name_of(topic.topic_id) for topic in topics]

    def _metadata_alone(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Let the target tell of what is promoted, as the source is away."""
        routes, answers = self._routes, self._answers[Cluster.TARGET]
        place = of_cluster(Cluster.TARGET, client.home)
        if asked.topics is None:
            change = answers.alone(None, routes.topics)
            return self._send.to(place, frame, head, change)
        names = [*self._names(asked.topics)]
        known = {*routes.promoted(names)}
        theirs = [topic for topic, name in zip(asked.topics, names, strict=True) if name in known]

        def fewer(request: Any) -> None:
            request.topics = theirs

        sent = bytearray(recoded(MetadataRequest, fewer, frame, head.version))
        rest = [name for name in names if name and name not in known]
        return self._send.to(place, sent, head, answers.alone(rest, routes.topics))

    def _coordinator(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes = self._routes
        keys = [asked.key] if head.version < _SEVERAL_KEYS else [*asked.coordinator_keys]
        moved = [*filter(_moved_of(asked.key_type, routes), keys)]
        if asked.key_type == _TRANSACTION:
            self._leaving.transacts(client.name)
        if moved and len(moved) == len(keys):
            direct = self._leaving.is_shown(client.name)
            change = self._answers[Cluster.TARGET].direct(head.key) if direct else None
            return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head, change)
        rest = [key for key in keys if key not in moved]
        if routes.source_away and not moved:
            return RequestStep(own=steering_answers.no_coordinator(keys, head))
        cluster = Cluster.TARGET if routes.source_away else Cluster.SOURCE
        place = of_cluster(cluster, client.home)
        if not moved:
            return self._send.to(place, frame, head)
        served, others = (moved, rest) if routes.source_away else (rest, moved)

        def fewer(request: Any) -> None:
            request.coordinator_keys = served

        sent = bytearray(recoded(FindCoordinatorRequest, fewer, frame, head.version))
        return self._send.to(place, sent, head, self._answers[cluster].away(others))

    def _cluster(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        del asked
        cluster = Cluster.TARGET if self._routes.source_away else client.home.cluster
        return self._send.to(of_cluster(cluster, client.home), frame, head)

    def _topics(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Relay changes of topics to the cluster that has them."""
        names = [*_topics_of(asked, head, self._routes)]
        moved = self._routes.promoted(names)
        if not moved:
            return self._send.to(of_cluster(Cluster.SOURCE, client.home), frame, head)
        if len(moved) < len(set(names)):
            raise FrameError(f"request {head.key} for topics of both clusters is not relayed")
        return self._send.to(of_cluster(Cluster.TARGET, client.home), frame, head)

    def _configs(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Ask the cluster that has the topics for their configs: there they are changed, too."""
        routes, names = self._routes, {*_topics_of(asked, head, self._routes)}
        alone = bool(names) and len(names) == len({*map(_resource, asked.resources)})
        moved = routes.promoted(names)
        # Where mirrors are read, it is the target that has topics of both kinds.
        has_both = routes.mirror is not None and 0 < len(moved) < len(names)
        if not alone or has_both or self._logins:
            return self._send.to(self._usual(head.key, client), frame, head)
        is_there = routes.source_away or moved == names
        cluster = Cluster.TARGET if is_there else Cluster.SOURCE
        return self._send.to(of_cluster(cluster, client.home), frame, head)


_SEEN = frozenset(
    {
        Api.HEARTBEAT,
        Api.CONSUMER_GROUP_HEARTBEAT,
        Api.SHARE_GROUP_HEARTBEAT,
        Api.STREAMS_GROUP_HEARTBEAT,
        Api.INIT_PRODUCER_ID,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_OFFSETS_TO_TXN,
        Api.FIND_COORDINATOR,
        Api.TXN_OFFSET_COMMIT,
        Api.END_TXN,
    }
)
"""Requests that are always looked into: they tell who is connected, and what for."""
_OF_TRANSACTIONS = frozenset(
    {
        Api.INIT_PRODUCER_ID,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_OFFSETS_TO_TXN,
        Api.TXN_OFFSET_COMMIT,
        Api.END_TXN,
    }
)
"""Requests that the gateway answers itself where their coordinator is elsewhere."""
FETCH_SESSIONS = 7
"""The first version of Fetch with sessions."""
_FETCH_IDS, _SEVERAL_KEYS, _TOPICS_BY_ID = 13, 4, 6


def _moved_of(kind: int | None, routes: Routes) -> Callable[[str], bool]:
    """Return what tells whether the target serves a key of FindCoordinator, by its type."""
    if kind in {None, _GROUP}:
        return routes.moves
    if kind == _TRANSACTION:
        return routes.transactions.is_moved
    return lambda _: False


def _resource(of: Any) -> tuple[int, str]:
    return of.resource_type, of.resource_name


def _topics_of(asked: Any, head: Head, routes: Routes) -> Iterable[str]:
    if head.key in {Api.DESCRIBE_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS}:
        return [each.resource_name for each in asked.resources if each.resource_type == _TOPIC]
    if head.key == Api.DELETE_TOPICS and head.version < _TOPICS_BY_ID:
        return [*asked.topic_names]
    return [
        each.name if each.name is not None else routes.name_of(each.topic_id)
        for each in asked.topics
    ]
