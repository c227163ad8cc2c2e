"""Where a request goes while topics move, or what the gateway answers itself.

While nothing is promoted, and nobody asked for it, every request goes to the broker that the client
means, unopened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    DeleteTopicsRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    TxnOffsetCommitRequest,
)

from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.gateway import crafted
from towpath.gateway.answers import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.asked import CHANGES
from towpath.gateway.frames import FrameError, Head, acks_of, with_acks
from towpath.gateway.own import OwnAnswers
from towpath.gateway.produced import taken
from towpath.gateway.producing import Producing
from towpath.gateway.recoding import Change, decoded, recoded
from towpath.gateway.routes import SOURCE, TARGET, BrokerPlace, Cluster, Routes
from towpath.gateway.steps import RequestStep, Sent

_GROUP = 0
_TOPIC = 2


class RelayedClient(Protocol):
    """A client's connection, as far as steering needs it.

    Attributes:
        home: Where its requests go by default.
        whole_at: How many promotions there were when it last named all partitions of a Fetch.
    """

    home: BrokerPlace
    whole_at: int


_Handler = Callable[[Any, bytearray, Head, RelayedClient], RequestStep | None]


class Steering:
    """Steers requests.

    Args:
        own: Gives the gateway's own answers.
        answers: Changes answers, by the cluster that gives them.
        routes: What is held and promoted.
        wake: Called when requests that wait may go on.
    """

    def __init__(
        self,
        own: OwnAnswers,
        answers: Mapping[Cluster, AnswerChanges],
        routes: Routes,
        wake: Callable[[], None],
    ) -> None:
        self._own, self._answers, self._routes = own, answers, routes
        self._producing = Producing(routes, wake)
        decoded_by: Mapping[int, tuple[Any, _Handler]] = {
            Api.FETCH: (FetchRequest, self._fetch),
            Api.LIST_OFFSETS: (ListOffsetsRequest, self._list),
            Api.METADATA: (MetadataRequest, self._metadata),
            Api.FIND_COORDINATOR: (FindCoordinatorRequest, self._coordinator),
            Api.DELETE_TOPICS: (DeleteTopicsRequest, self._topics),
            Api.CREATE_PARTITIONS: (CreatePartitionsRequest, self._topics),
            Api.INCREMENTAL_ALTER_CONFIGS: (IncrementalAlterConfigsRequest, self._topics),
        }
        of_groups: Mapping[int, tuple[Any, _Handler]] = {
            Api.OFFSET_COMMIT: (OffsetCommitRequest, self._commit),
            Api.OFFSET_FETCH: (OffsetFetchRequest, self._of_group),
            Api.JOIN_GROUP: (JoinGroupRequest, self._join),
            Api.HEARTBEAT: (HeartbeatRequest, self._heartbeat),
            Api.LEAVE_GROUP: (LeaveGroupRequest, self._of_group),
            Api.SYNC_GROUP: (SyncGroupRequest, self._sync),
            Api.OFFSET_DELETE: (OffsetDeleteRequest, self._of_group),
            Api.CONSUMER_GROUP_HEARTBEAT: (ConsumerGroupHeartbeatRequest, self._beat),
        }
        of_transactions: Mapping[int, tuple[Any, _Handler]] = {
            Api.ADD_PARTITIONS_TO_TXN: (AddPartitionsToTxnRequest, self._add_partitions),
            Api.ADD_OFFSETS_TO_TXN: (AddOffsetsToTxnRequest, self._add_offsets),
            Api.TXN_OFFSET_COMMIT: (TxnOffsetCommitRequest, self._add_offsets),
        }
        self._handlers = {**decoded_by, **of_groups, **of_transactions}
        self._of_groups = frozenset(of_groups)

    def step(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        """Return what to do with a request, `None` if it has to wait.

        Raises:
            FrameError: It is not relayed, or is no request.
        """
        own = self._own.answer(frame, asked)
        if own is not None:
            return RequestStep(own=own)
        if not self._own.takes(asked):
            raise FrameError(f"request {asked.key} of version {asked.version} is not relayed")
        if asked.key == Api.PRODUCE:
            return self._produce(frame, asked, client)
        handler = self._handlers.get(asked.key)
        if asked.key in _OF_SOURCE and client.home.cluster is Cluster.TARGET:
            handler = None
        routes = self._routes
        moving = bool(routes.topics or routes.gathering or routes.rejoining or routes.held)
        if handler is not None and (moving or asked.key in _SEEN):
            message, handle = handler
            return handle(decoded(message, frame, asked.version), frame, asked, client)
        return self._to(client.home, frame, asked)

    def _to(
        self, place: BrokerPlace, frame: bytearray, asked: Head, change: Change | None = None
    ) -> RequestStep:
        """Relay a request; its answer is changed as always."""
        alter = CHANGES.get(asked.key)
        sent = frame if alter is None else alter(frame, asked.version)
        change = change or self._answers[place.cluster].change_of(asked.key)
        writes = asked.key in _WRITES
        return RequestStep(sends=(Sent(place, sent, change, writes=writes),))

    # Records

    def _produce(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        silent = acks_of(frame, asked) == 0
        if silent:
            # The answer to it is kept from the client, and tells that the broker has done it.
            frame = with_acks(frame, asked, 1)
        routes = self._routes
        if routes.held or routes.topics:
            step, passes = self._producing.step(frame, asked, client.home, silent=silent)
            if not passes:
                return step
        change = taken if silent else None
        return RequestStep(sends=(Sent(client.home, frame, change, writes=True),), silent=silent)

    def _fetch(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes = self._routes
        if client.home.cluster is Cluster.SOURCE and routes.topics:
            if any(
                topic.topic in routes.topics
                if head.version < _FETCH_IDS
                else topic.topic_id in routes.source_ids or topic.topic_id in routes.target_ids
                for topic in asked.topics
            ):
                return RequestStep(own=crafted.elsewhere(asked, head))
            goes_on = head.version >= _FETCH_SESSIONS and asked.session_epoch > 0
            if goes_on and client.whole_at != routes.turns:
                return RequestStep(own=crafted.no_session(head))
            client.whole_at = routes.turns
        return self._to(client.home, frame, head)

    def _list(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        is_source = client.home.cluster is Cluster.SOURCE
        if is_source and self._routes.promoted(topic.name for topic in asked.topics):
            return RequestStep(own=crafted.offsets_elsewhere(asked, head))
        return self._to(client.home, frame, head)

    # Where things are

    def _metadata(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes = self._routes
        named = asked.topics or ()
        if named and all(
            topic.name in routes.topics
            if topic.name is not None
            else topic.topic_id in routes.target_ids
            for topic in named
        ):
            return self._to(_of(Cluster.TARGET, client.home), frame, head)
        return self._to(_of(Cluster.SOURCE, client.home), frame, head)

    def _coordinator(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        routes = self._routes
        keys = [asked.key] if head.version < _SEVERAL_KEYS else [*asked.coordinator_keys]
        moved = [key for key in keys if asked.key_type in {None, _GROUP} and routes.moves(key)]
        if moved and len(moved) == len(keys):
            return self._to(_of(Cluster.TARGET, client.home), frame, head)
        place = _of(Cluster.SOURCE, client.home)
        if not moved:
            return self._to(place, frame, head)
        rest = [key for key in keys if key not in moved]

        def fewer(request: Any) -> None:
            request.coordinator_keys = rest

        sent = bytearray(recoded(FindCoordinatorRequest, fewer, frame, head.version))
        return self._to(place, sent, head, self._answers[place.cluster].away(moved))

    def _topics(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Relay changes of topics to the cluster that has them."""
        names = [*_topics_of(asked, head, self._routes)]
        moved = self._routes.promoted(names)
        if not moved:
            return self._to(_of(Cluster.SOURCE, client.home), frame, head)
        if len(moved) < len(set(names)):
            raise FrameError(f"request {head.key} for topics of both clusters is not relayed")
        return self._to(_of(Cluster.TARGET, client.home), frame, head)

    # Transactions

    def _add_partitions(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        names = {topic.name for topic in asked.v3_and_below_topics}
        if self._routes.promoted(names):
            some = min(self._routes.promoted(names))
            raise FrameError(f"a transaction for topic {some}, which was promoted without it")
        if not self._routes.held.isdisjoint(names):
            return None
        return self._to(client.home, frame, head)

    def _add_offsets(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        routes, group = self._routes, asked.group_id
        if routes.moves(group):
            raise FrameError(f"a transaction for group {group}, which was promoted without it")
        gathering = routes.gathers(group)
        if gathering is not None and gathering.closed:
            return None
        routes.transacting.add(group)
        return self._to(client.home, frame, head)

    # Groups

    def _of_group(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        """Relay what a member or a client asks of its group."""
        groups = {*_groups_of(asked)}
        moved = {group for group in groups if self._routes.moves(group)}
        if moved and moved != groups:
            raise FrameError(f"request {head.key} for groups of both clusters is not relayed")
        if moved:
            return self._to(_of(Cluster.TARGET, client.home), frame, head)
        return self._to(_of(Cluster.SOURCE, client.home), frame, head)

    def _commit(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        gathering = self._routes.gathers(asked.group_id)
        if gathering is not None and gathering.closed:
            return None
        return self._of_group(asked, frame, head, client)

    def _join(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep | None:
        gathering = self._routes.gathers(asked.group_id)
        if gathering is not None:
            gathering.joins(asked.group_id, asked.member_id)
            return None
        return self._of_group(asked, frame, head, client)

    def _heartbeat(
        self, asked: Any, frame: bytearray, head: Head, client: RelayedClient
    ) -> RequestStep:
        self._routes.saw(asked.group_id, asked.member_id)
        if self._routes.gathers(asked.group_id) is not None:
            return RequestStep(own=crafted.rebalancing(head))
        return self._of_group(asked, frame, head, client)

    def _sync(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        if self._routes.gathers(asked.group_id) is not None:
            return RequestStep(own=crafted.not_synced(head))
        return self._of_group(asked, frame, head, client)

    def _beat(self, asked: Any, frame: bytearray, head: Head, client: RelayedClient) -> RequestStep:
        """Answer or relay a heartbeat of KIP-848."""
        routes, group, member = self._routes, asked.group_id, asked.member_id
        routes.saw(group, member)
        gathering, epoch = routes.gathers(group), asked.member_epoch
        if gathering is not None and epoch == 0:
            return RequestStep(own=crafted.beat_refused(head, member, crafted.LOADING))
        if gathering is not None and epoch > 0:
            gathering.beats(group, member, asked.topic_partitions)
            return RequestStep(own=crafted.nothing_assigned(head, member, epoch))
        if (group, member) in routes.rejoining:
            routes.rejoining.discard((group, member))
            if epoch > 0 and not routes.moves(group):
                return RequestStep(own=crafted.beat_refused(head, member, crafted.FENCED_EPOCH))
        return self._of_group(asked, frame, head, client)


_SEEN = frozenset(
    {
        Api.HEARTBEAT,
        Api.CONSUMER_GROUP_HEARTBEAT,
        Api.ADD_OFFSETS_TO_TXN,
        Api.TXN_OFFSET_COMMIT,
    }
)
"""Requests that are always looked into: they tell who is connected, and what for."""
_WRITES = frozenset({Api.OFFSET_COMMIT, Api.TXN_OFFSET_COMMIT, Api.ADD_OFFSETS_TO_TXN})
"""Requests that a promotion waits for, besides Produce."""
_OF_SOURCE = frozenset({Api.FETCH, Api.LIST_OFFSETS})
"""Requests that brokers of the target answer as they are."""
_FETCH_SESSIONS, _FETCH_IDS, _SEVERAL_KEYS, _TOPICS_BY_ID, _GROUPS = 7, 13, 4, 6, 8


def _of(cluster: Cluster, home: BrokerPlace) -> BrokerPlace:
    """Return the client's own broker, if it is of a cluster; else any broker of that."""
    if home.cluster is cluster:
        return home
    return SOURCE if cluster is Cluster.SOURCE else TARGET


def _groups_of(asked: Any) -> Iterable[str]:
    several = getattr(asked, "groups", None)
    return [each.group_id for each in several] if several else [asked.group_id]


def _topics_of(asked: Any, head: Head, routes: Routes) -> Iterable[str]:
    if head.key == Api.INCREMENTAL_ALTER_CONFIGS:
        return [each.resource_name for each in asked.resources if each.resource_type == _TOPIC]
    if head.key == Api.DELETE_TOPICS and head.version < _TOPICS_BY_ID:
        return [*asked.topic_names]
    return [
        each.name if each.name is not None else routes.target_ids.get(each.topic_id, "")
        for each in asked.topics
    ]
