"""What a gateway asks of producers does not need a right on the target's configs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from towpath.cluster.metadata import Answers
from towpath.gateway.promotion.known_producers import KnownProducers
from towpath.gateway.routes import Routes
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import TopicName, TopicPartition

TP = TopicPartition(TopicName("moved"), 0)
HIDDEN = RefusedError("target", "asking for a config", 31, "CLUSTER_AUTHORIZATION_FAILED")
AWAY = UnreachableError("target", "asking for a config", "no answer")


def resources(error: ClusterError) -> Any:
    def refuse(_: str) -> str:
        raise error

    routes = Routes()
    routes.topics.add(TP.topic)
    routes.early.add((TP.topic, TP.partition))
    target = SimpleNamespace(
        cluster=SimpleNamespace(broker_config=refuse),
        producers=SimpleNamespace(states=lambda places: Answers(dict.fromkeys(places, ()), {})),
    )
    return SimpleNamespace(
        gateway=SimpleNamespace(routes=routes, wake=lambda: None),
        link=SimpleNamespace(target=target),
        book=SimpleNamespace(last_moves=dict),
        call=lambda what: what(),
    )


def test_a_gateway_that_may_not_see_the_target_s_configs_learns_producers() -> None:
    at = resources(HIDDEN)
    known = KnownProducers(at)
    known.unasked = {TP}
    known.ask(source_away=False)
    assert not known.unasked
    assert not at.gateway.routes.early, "the target judges this partition"


def test_a_target_that_is_away_is_asked_again() -> None:
    at = resources(AWAY)
    known = KnownProducers(at)
    known.unasked = {TP}
    with pytest.raises(UnreachableError):
        known.ask(source_away=False)
    assert known.unasked == {TP}
