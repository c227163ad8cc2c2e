"""Runs live or not, and producers write or not, whatever clocks of machines say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clients.gateways import served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, a_run_elsewhere, wait_for_end
from tests.support.pages.scrape import Scrape
from towpath.gateway.promotion import promotion_scope
from towpath.ledger import alive
from towpath.ledger.ledger import SESSIONS
from towpath.ledger.link import open_link
from towpath.plan.lease import last_signs
from towpath.runtime.clock import now_ms
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.soak]
HOUR = 3_600_000


@pytest.mark.parametrize("wrong", [-HOUR, 0, HOUR])
@pytest.mark.parametrize("lives", [True, False])
def test_a_run_lives_whose_clock_is_another(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: int,
    lives: bool,
) -> None:
    made = Link(tmp_path, source, target, new_name("clocks"), timeout="10s")
    with ExitStack() as stack:
        link = stack.enter_context(open_link(load(made.file)))
        link.prepare()
        with a_run_elsewhere(made.file):
            if lives:
                for module in (alive, promotion_scope):
                    monkeypatch.setattr(module, "now_ms", lambda: now_ms() + wrong)
                assert promotion_scope.runs(link)
                return
        [last] = [each for each in last_signs(link.ledger.another(), link.name)[:1] if each]
        killed = replace(last, over=False, host="another", beat=now_ms())
        link.ledger.append([killed], SESSIONS)  # nobody knows here that its process has ended
        for module in (alive, promotion_scope):
            monkeypatch.setattr(module, "now_ms", lambda: now_ms() + wrong)
        assert promotion_scope.runs(link) is (wrong == 0), "it may live, as far as clocks tell"


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_who_writes_without_the_gateway_is_noticed_though_its_clock_is_ahead(
    gateway_link: Link,
) -> None:
    """By that clock each record is an hour old, so only sequences tell that somebody writes."""
    link = gateway_link
    link.gateway = link.gateway.replace("hold:", "promote: auto, hold:")
    topic = create_topic(link.source.bootstrap, f"{link.name}.ahead", PARTITIONS)
    run, gateway = link.run_inside(), served(link, "ahead=3600")
    metrics = link.gateway.split("'")[-2]
    inside = Traffic(link.gateway.split("'")[1], topic)
    direct = Traffic(link.source.bootstrap, topic, rate=1)

    def moves() -> float:
        got = Scrape(metrics)
        return got.get("towpath_gateway_moves_total", way="promote", outcome="done") or 0

    try:
        inside.write(0)
        direct.write(1)
        wait_for_end(link.target, topic, 20, run)
        told = lambda: "PROMOTE_DIRECT" in gateway.said or moves() > 0  # noqa: E731
        wait_until(told, lambda: f"it looks: {gateway.said}", 240)
        assert moves() == 0, gateway.said
        direct.end_writing()
        wait_until(lambda: moves() == 1, lambda: f"it promotes: {gateway.said}", 240)
        inside.end_writing()
    finally:
        inside.close()
        direct.close()
    assert inside.errors == direct.errors == []
    inside.sent |= direct.sent
    require_whole(inside, link.target.bootstrap)
