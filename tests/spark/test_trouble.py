"""A run ends at once where its ledger is deleted, or an address leads to another cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.brokers import SharedCluster
from tests.support.kafka import Record, create_topic, end_offsets, produce, wait_until
from tests.support.links import Link
from tests.support.proxy import Proxy
from towpath.cluster.admin import Admin
from towpath.config import ClusterConfig
from towpath.ledger import topic as ledger_topic
from towpath.model.errors import ClusterReplacedError, LedgerGoneError
from towpath.model.nouns import LEDGER, Side

pytestmark = [pytest.mark.spark, pytest.mark.broker]
SOON = 20.0
"""Seconds within which a run has ended, on a busy machine; it took a minute and more."""


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made again"])
def test_a_run_ends_within_seconds_once_its_ledger_is_gone(
    tmp_path: Path,
    source: SharedCluster,
    lone: SharedCluster,
    new_name: Callable[[str], str],
    *,
    again: bool,
) -> None:
    link = Link(tmp_path, source, lone, new_name("bookless"))
    create_topic(source.bootstrap, link.name)
    produce(source.bootstrap, link.name, [Record(None, b"before")] * 20)
    run = link.run_inside()
    try:
        link.wait_for(run, link.name)
        with Admin(ClusterConfig(bootstrap=lone.addresses), Side.TARGET) as target:
            found = target.topics.find(LEDGER)
            assert found is not None
            target.topics.delete(LEDGER, found.id)
            if again:
                ledger_topic.create(target, 1)
        produce(source.bootstrap, link.name, [Record(None, b"after")] * 20)
        wait_until(lambda: not run.running, "the run ends", SOON)
    finally:
        run.close()
    with pytest.raises(LedgerGoneError) as caught:
        run.stop()
    assert "was deleted while it was in use" in str(caught.value)


@pytest.mark.parametrize("side", [*Side])
def test_a_run_ends_with_both_ids_once_an_address_leads_to_another_cluster(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    lone: SharedCluster,
    new_name: Callable[[str], str],
    side: Side,
) -> None:
    moved, other = (source, target) if side is Side.SOURCE else (target, source)
    name, proxy = new_name("moved"), Proxy(moved)
    through = moved.through("PROXIED")
    sides = (through, other) if side is Side.SOURCE else (other, through)
    for cluster in (source, lone):
        create_topic(cluster.bootstrap, name)
    produce(source.bootstrap, name, [Record(None, b"1")] * 20)
    link = Link(tmp_path, *sides, name, timeout="5s")
    run = link.run_inside()
    try:
        link.wait_for(run, name)
        proxy.lead_to(lone)
        wait_until(lambda: not run.running, "the run ends", SOON)
    finally:
        run.close()
        proxy.close()
    with pytest.raises(ClusterReplacedError) as caught:
        run.stop()
    assert (caught.value.side, caught.value.before, caught.value.now) == (
        side, moved.cluster_id, lone.cluster_id,
    )  # fmt: skip
    assert end_offsets(lone.bootstrap, name) == (0, 0)
