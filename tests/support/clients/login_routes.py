"""What routes requests of clients that log in, on both clusters."""

from __future__ import annotations

from tests.support.clients.promoted_routes import KINDS
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.login_steering import LoginSteering
from towpath.gateway.metadata_merging import MetadataMerging
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.steering import Steering
from towpath.model.nouns import ClusterId


def login_steering(routes: Routes, leaving: LeavingClients | None = None) -> LoginSteering:
    """Return it, where both clusters ask for a login."""
    nodes = RelayedNodes("h", 1, {}, lambda *_: None)
    merging = MetadataMerging(routes, nodes)
    answers = {
        Cluster.SOURCE: AnswerChanges(nodes, ClusterId("c"), merging),
        Cluster.TARGET: AnswerChanges(nodes, ClusterId("c")),
    }
    plain = Steering(OwnAnswers(KINDS), answers, routes, lambda: None, leaving, logins=True)
    return LoginSteering(plain, answers, routes, {*Cluster})
