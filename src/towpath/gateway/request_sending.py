"""Relaying of single requests to brokers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import ClientName, Head
from towpath.gateway.recoding import Change
from towpath.gateway.request_changes import CHANGES, exchanging
from towpath.gateway.request_steps import RequestStep, Sent
from towpath.gateway.routes import SOURCE, TARGET, BrokerPlace, Cluster
from towpath.gateway.topic_ids import TopicIds

_WRITES = frozenset(
    {
        Api.OFFSET_COMMIT,
        Api.INIT_PRODUCER_ID,
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_OFFSETS_TO_TXN,
        Api.TXN_OFFSET_COMMIT,
        Api.END_TXN,
    }
)
"""Requests that a promotion waits for, besides Produce."""


class RelayedClient(Protocol):
    """Protocol of a client's connection, as the routing code uses it.

    Attributes:
        home: Where its requests go by default.
        whole_at: How many promotions there were when it last named all partitions of a Fetch.
        name: The host that the client connects from, and its client id.
        positions: The offsets that it asked for last, where it reads mirror topics.
    """

    home: BrokerPlace
    whole_at: int
    name: ClientName
    positions: Positions


Handler = Callable[[Any, bytearray, Head, RelayedClient], RequestStep | None]
"""Handles a decoded request; `None` where it has to wait."""


class RequestSending:
    """Relays requests to brokers.

    Args:
        answers: Changes answers, by the cluster that gives them.
        ids: The ids of promoted topics.
        returned: The ids of topics that went back to the source, where clients know the target's.
    """

    def __init__(
        self,
        answers: Mapping[Cluster, AnswerChanges],
        ids: TopicIds,
        returned: TopicIds | None = None,
    ) -> None:
        self._answers = answers
        at_source = CHANGES if returned is None else exchanging(returned.own)
        self._changes = {Cluster.SOURCE: at_source, Cluster.TARGET: exchanging(ids.own)}

    def to(
        self, place: BrokerPlace, frame: bytearray, asked: Head, change: Change | None = None
    ) -> RequestStep:
        """Relay a request; its answer is changed in the usual way, or by `change`."""
        alter = self._changes[place.cluster].get(asked.key)
        sent = frame if alter is None else alter(frame, asked.version)
        change = change or self._answers[place.cluster].change_of(asked.key)
        writes = asked.key in _WRITES
        return RequestStep(sends=(Sent(place, sent, change, writes=writes),))


def of_cluster(cluster: Cluster, home: BrokerPlace) -> BrokerPlace:
    """Return the client's own broker if it belongs to a cluster, else any broker of that."""
    if home.cluster is cluster:
        return home
    return SOURCE if cluster is Cluster.SOURCE else TARGET
