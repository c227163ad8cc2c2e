"""A run ends at once where its ledger is deleted, or an address leads to another cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, end_offsets, produce, wait_until
from tests.support.links import Link
from tests.support.network.proxy import Proxy
from towpath.cluster.admin import Admin
from towpath.ledger import topic as ledger_topic
from towpath.model.errors import ClusterReplacedError, LedgerGoneError
from towpath.model.nouns import LEDGER, Side, TopicName
from towpath.settings import ClusterConfig

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
        delete_ledger(lone, again=again)
        produce(source.bootstrap, link.name, [Record(None, b"after")] * 20)
        wait_until(lambda: not run.running, "the run ends", SOON)
    finally:
        run.close()
    with pytest.raises(LedgerGoneError) as caught:
        run.stop()
    assert "was deleted while it was in use" in str(caught.value)
    assert "`towpath repair FILE --ledger`" in str(caught.value)


def test_what_a_lost_ledger_knew_is_found_in_the_logs_and_proven(
    tmp_path: Path,
    source: SharedCluster,
    lone: SharedCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> None:
    link = Link(tmp_path, source, lone, new_name("found"))
    same, mapped = link.name, f"{link.name}-mapped"
    create_topic(lone.bootstrap, mapped)
    produce(lone.bootstrap, mapped, [Record(None, b"of others")])
    for topic in (same, mapped):
        create_topic(source.bootstrap, topic, 2)
        produce(source.bootstrap, topic, [Record(None, b"%d" % n) for n in range(50)])
    file = str(link.file)
    assert here.run(file, "--until-caught-up").code == 0
    delete_ledger(lone)
    for topic in (same, mapped):
        produce(source.bootstrap, topic, [Record(None, b"later %d" % n) for n in range(10)])

    shown = here.on_spark("repair", file, "--ledger", "--dry-run", "--output", "json")
    assert (shown.code, shown.json["written"]) == (3, False)
    assert [(e["topic"], e["end"], e["sequence"]) for e in shown.json["found"]] == [(same, 50, 50)]
    assert [(e["topic"], e["cause"]) for e in shown.json["left"]] == [(mapped, "different")]
    assert here("status", file).code == 3, "the dry run wrote nothing"

    done = here.on_spark("repair", file, "--ledger", "--yes")
    assert done.code == 3
    assert "1 partition brought back" in done.out
    refused = here.run(file, "--until-caught-up")
    assert (refused.code, "such as" in refused.said or mapped in refused.said) == (4, True)
    with Admin(ClusterConfig(bootstrap=lone.addresses), Side.TARGET) as target:
        copy = target.topics.find(TopicName(mapped))
        assert copy is not None
        target.topics.delete(copy.name, copy.id)
    assert here.run(file, "--until-caught-up").code == 0
    assert [link.assert_same(topic, 2) for topic in (same, mapped)] == [60, 60]
    assert here.on_spark("verify", file).code == 0


def delete_ledger(cluster: SharedCluster, *, again: bool = False) -> None:
    """Delete the ledger of a target; create an empty one, if asked."""
    with Admin(ClusterConfig(bootstrap=cluster.addresses), Side.TARGET) as target:
        found = target.topics.find(LEDGER)
        assert found is not None
        target.topics.delete(LEDGER, found.id)
        if again:
            ledger_topic.create(target, 1)


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
