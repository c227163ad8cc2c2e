"""A target that falls silent is noticed within two seconds, and each broker that goes or comes."""

from __future__ import annotations

import time

import pytest

from tests.support.kafka import wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Broker
from towpath.dev.broker import LocalCluster
from towpath.mirror.run.pulse import Brokers, Pulse
from towpath.model.nouns import LinkName, Side
from towpath.runtime import log
from towpath.settings import ClusterConfig
from towpath.settings.units import Duration

ONE, TWO = Broker(1, "a", 9092), Broker(2, "b", 9092)


def test_one_line_when_a_broker_goes_and_one_when_it_comes_back() -> None:
    said: list[tuple[str, str, bool]] = []
    brokers = Brokers(lambda *each: said.append(each))
    for listed in [(ONE, TWO), (ONE, TWO), (ONE,), (ONE,), (ONE, TWO), (ONE, TWO)]:
        brokers.listed(listed)
    brokers.silent("no broker answered")
    brokers.silent("no broker answered")
    brokers.listed((ONE, TWO))
    assert said == [
        ("broker.away", "broker 2 (b:9092)", True), ("broker.back", "broker 2 (b:9092)", False),
        ("cluster.silent", "no broker answered", True), ("cluster.back", "", False),
    ]  # fmt: skip


@pytest.mark.broker
def test_a_target_that_falls_silent_is_noticed(
    lone: LocalCluster, source: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[tuple[str, dict[str, str]]] = []

    def event(what: str, _link: str, _about: str, facts: dict[str, str], **_: object) -> None:
        logged.append((what, facts))

    monkeypatch.setattr(log, "event", event)
    timeout = Duration.parse("30s")
    with (
        Admin(ClusterConfig(bootstrap=source.addresses, request_timeout=timeout), Side.SOURCE) as a,
        Admin(ClusterConfig(bootstrap=lone.addresses, request_timeout=timeout), Side.TARGET) as b,
        Pulse(LinkName("shop"), a, b) as pulse,
    ):
        wait_until(lambda: a.answering.silence() is None, "the source answers")
        b.cluster.id()
        lone.pause(1)
        try:
            frozen = time.monotonic()
            wait_until(lambda: bool(pulse.silences()), "the silence is seen")
            took = time.monotonic() - frozen
            [silence] = pulse.silences()
            wait_until(lambda: bool(logged), "the silence is logged")
        finally:
            lone.resume(1)
        wait_until(lambda: len(logged) > 1, "the target is back")
        assert pulse.silences() == ()
    assert took < 10, "it takes two seconds where the machine is not busy"
    assert silence.side is Side.TARGET
    assert lone.bootstrap in silence.broker
    assert [what for what, _ in logged] == ["cluster.silent", "cluster.back"]
    assert {facts["side"] for _, facts in logged} == {"target"}
