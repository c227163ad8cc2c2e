"""Routing of requests of clients that log in. A login is good for one cluster alone.

Each connection of a client has one broker that its login passed to. What such a client writes, and
what it does in its groups, goes to that broker's cluster; of what has moved it is told that it is
elsewhere, so it connects and logs in there. Where topics and coordinators of the other cluster are
is asked with the link's own login (decision 113).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol

from kafka.protocol.consumer import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataRequest, MetadataResponse

from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.gateway.answer_changes import AWAY, NO_LEADER, AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.client_logins import LoginState
from towpath.gateway.coordinator_answers import NOT_HERE
from towpath.gateway.frames import FrameError, Head
from towpath.gateway.passing_requests import NOTHING, PassingRule
from towpath.gateway.recoding import decoded, recoded
from towpath.gateway.request_sending import RelayedClient, RequestSending
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.routes import BrokerPlace, Cluster, Routes

FORBIDDEN_TOPIC, FORBIDDEN_GROUP, FORBIDDEN_ID = 29, 30, 53
"""Kafka's codes for rights that are missing: on a topic, a group, a transactional id."""
_LOGINS = frozenset({Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE})
_PROOF_VERSION, _PROOF = 4, 0x746F7770
_GROUPS: Mapping[int, Any] = {
    Api.JOIN_GROUP: JoinGroupRequest,
    Api.SYNC_GROUP: SyncGroupRequest,
    Api.HEARTBEAT: HeartbeatRequest,
    Api.LEAVE_GROUP: LeaveGroupRequest,
    Api.OFFSET_COMMIT: OffsetCommitRequest,
    Api.OFFSET_FETCH: OffsetFetchRequest,
    Api.OFFSET_DELETE: OffsetDeleteRequest,
    Api.CONSUMER_GROUP_HEARTBEAT: ConsumerGroupHeartbeatRequest,
}


class LoggedInClient(RelayedClient, Protocol):
    """Protocol of a client's connection, as the routing of logins uses it.

    Attributes:
        login: Its login.
    """

    login: LoginState

    def prove(self, frame: bytes, correlation: int) -> None:
        """Send its broker a request that only logged-in clients are answered."""


class Steers(Protocol):
    """Protocol of what routes requests."""

    def step(self, frame: bytearray, asked: Head, client: RelayedClient) -> RequestStep | None:
        """Return the next step for a request, `None` if the request has to wait."""

    def passing(self, client: RelayedClient) -> PassingRule:
        """Return which Produce requests pass as they are to the client's own broker now."""


class LoginSteering:
    """Routes requests of clients that log in to one of the clusters, or to both.

    Args:
        steering: Routes requests of clients that do not.
        answers: Changes answers, by the cluster that gives them.
        routes: What is held and promoted.
        asking: The clusters that ask for a login.
    """

    def __init__(
        self,
        steering: Steers,
        answers: Mapping[Cluster, AnswerChanges],
        routes: Routes,
        asking: Set[Cluster],
    ) -> None:
        self._steering, self._answers, self._routes = steering, answers, routes
        self._asking, self._send = asking, RequestSending(answers, routes.ids)

    def step(self, frame: bytearray, asked: Head, client: LoggedInClient) -> RequestStep | None:
        """Return the next step for a request, `None` if the request has to wait.

        Nothing but a login is looked at before the broker has accepted it.

        Raises:
            FrameError: It is not relayed, or is no request.
        """
        login = client.login
        if asked.key in _LOGINS:
            login.saw(frame, asked)
        elif asked.key != Api.API_VERSIONS and not login.is_proven:
            if client.home.cluster in self._asking:
                if not login.is_asked:
                    login.is_asked = True
                    client.prove(_proof(), _PROOF)
                return None
        elif login.login is not None and not login.is_noted:
            login.is_noted = True
            self._routes.logins.saw(login.login)
        step = self._steering.step(frame, asked, client)
        here = client.home.cluster
        if step is None or all(sent.place.cluster is here for sent in step.sends):
            return step
        return self._crossing(step, frame, asked, client)

    def passing(self, client: LoggedInClient) -> PassingRule:
        """Return which Produce requests pass as they are to the client's own broker now."""
        login = client.login
        is_known = login.is_proven and (login.login is None or login.is_noted)
        return self._steering.passing(client) if is_known else NOTHING

    def _crossing(
        self, step: RequestStep, frame: bytearray, asked: Head, client: LoggedInClient
    ) -> RequestStep:
        """Return what is done with a request that is for the other cluster."""
        if asked.key == Api.METADATA and client.home.cluster is Cluster.TARGET:
            return self._metadata(step, frame, asked, client)
        if asked.key == Api.METADATA and not self._routes.source_away:
            # What is promoted is put into the source's answer, which tells what the client may see.
            return self._send.to(client.home, frame, asked)
        if asked.key == Api.FIND_COORDINATOR:
            sends = (self._as_link(sent, FindCoordinatorResponse, _no_right) for sent in step.sends)
            return step._replace(sends=tuple(sends))
        if asked.key in _GROUPS:
            request = decoded(_GROUPS[asked.key], frame, asked.version)
            return RequestStep(own=NOT_HERE[asked.key](request, asked))
        raise FrameError(
            f"request {asked.key} is for the other cluster than the client is logged in to"
        )

    def _metadata(
        self, step: RequestStep, frame: bytearray, asked: Head, client: LoggedInClient
    ) -> RequestStep:
        """Let the source tell of its topics; of all topics only those that the client may see."""
        request = decoded(MetadataRequest, frame, asked.version)
        (sent,) = step.sends
        bare = bytes(recoded(MetadataRequest, _without_rights, frame, asked.version))
        theirs = self._as_link(sent._replace(frame=bare), MetadataResponse, _no_leader)
        if request.topics:
            return step._replace(sends=(theirs,))
        own = self._send.to(client.home, frame, asked).sends

        def join(answers: Sequence[bytes | bytearray | None]) -> bytes:
            return _visible(answers, asked.version)

        return RequestStep(sends=(*own, theirs), join=join)

    def _as_link(self, sent: Sent, message: Any, soften: Callable[[Any], None]) -> Sent:
        """Return a request that is sent with the link's login; what that may not see comes later.

        The client's rights are checked by the brokers that it turns to then.
        """
        change = sent.change

        def softened(frame: bytearray, version: int) -> bytes:
            changed = frame if change is None else bytearray(change(frame, version))
            return recoded(message, soften, changed, version)

        place = BrokerPlace(sent.place.cluster, sent.place.broker, as_link=True)
        return sent._replace(place=place, change=softened)


def _proof() -> bytes:
    """Return a Metadata request for no topic, which brokers answer only after a login."""
    made = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    made.API_VERSION = _PROOF_VERSION
    made.with_header(correlation_id=_PROOF, client_id="towpath")
    return bytes(made.encode(header=True, framed=True))


def _without_rights(asked: Any) -> None:
    """Neither create topics by the rights of the link, nor tell them."""
    asked.allow_auto_topic_creation = False
    asked.include_topic_authorized_operations = False
    asked.include_cluster_authorized_operations = False


def _no_leader(answer: Any) -> None:
    for topic in answer.topics:
        if topic.error_code == FORBIDDEN_TOPIC:
            topic.error_code = NO_LEADER


def _no_right(answer: Any) -> None:
    for each in answer.coordinators or [answer]:
        if each.error_code in {FORBIDDEN_GROUP, FORBIDDEN_ID}:
            each.error_code = AWAY


def _visible(answers: Sequence[bytes | bytearray | None], version: int) -> bytes:
    """Return the source's answer of all topics, with those that the target's answer has as well.

    Raises:
        FrameError: A cluster gave no answer.
    """
    if any(each is None for each in answers):
        raise FrameError("a cluster gave no answer of its topics")
    mine, theirs = (decoded(MetadataResponse, each or b"", version) for each in answers)
    seen = {topic.name for topic in mine.topics if not topic.error_code}
    theirs.topics = [topic for topic in theirs.topics if topic.name in seen]
    return bytes(theirs.encode(header=True, framed=True))
