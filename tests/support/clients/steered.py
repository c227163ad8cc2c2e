"""Requests of clients, and what a gateway does with them."""

from __future__ import annotations

from typing import Any

from tests.support.clients.promoted_routes import AT_SOURCE, KINDS, LEADER, framed
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_sending import RelayedClient
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import BrokerPlace, Cluster, Routes
from towpath.gateway.steering import Steering
from towpath.model.nouns import ClusterId


class SourceClient:
    """A connection to the source's broker 1."""

    home = AT_SOURCE
    whole_at = 0
    name = "h", "c"

    def __init__(self) -> None:
        self.positions: Positions = {}


def steering(routes: Routes) -> Steering:
    """Return what routes requests by these routes."""
    nodes = RelayedNodes("h", 1, {}, lambda *_: None)
    answers = dict.fromkeys(Cluster, AnswerChanges(nodes, ClusterId("c")))
    leaving = LeavingClients(routes, lambda: 0.0)
    return Steering(OwnAnswers(KINDS), answers, routes, lambda: None, leaving)


class TargetClient:
    """A connection to the target's broker 7."""

    home = LEADER
    whole_at = 0
    name = "h", "c"

    def __init__(self) -> None:
        self.positions: Positions = {}


def step(
    routes: Routes, message: Any, version: int, client: RelayedClient | None = None
) -> RequestStep | None:
    """Return what becomes of a request, of a client at the source if none is given."""
    frame = framed(message, version)
    return steering(routes).step(frame, head(frame), client or SourceClient())


def places(found: RequestStep | None) -> list[BrokerPlace]:
    """Return where the requests of a step go."""
    assert found is not None
    return [each.place for each in found.sends]


def changed(found: RequestStep | None, answer: Any, version: int) -> Any:
    """Return the answer of a broker to the only request of a step, as the client gets it."""
    assert found is not None
    (sent,) = found.sends
    assert sent.change is not None
    told = bytes(sent.change(framed(answer, version), version))
    return type(answer).decode(memoryview(told)[4:], version=version, header=True)
