"""Offsets that really expire, on a target that keeps them for a minute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.groups import member, standing
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.clusters import Clusters
from tests.support.kafka import Record, commit, produce, wait_until
from tests.support.mirror import Mirror
from towpath.groups.keeping import holds_until
from towpath.groups.settle import settle
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import GroupsConfig

pytestmark = [pytest.mark.broker, pytest.mark.soak]
_HALF, _MINUTE = 30_000, 60_000


@pytest.mark.parametrize("version", ["3.9.2", "4.1.2", "4.3.1", "4.4.0"])
def test_offsets_hold_from_the_cutover_on(
    tmp_path: Path,
    version: str,
    source: SharedCluster,
    clusters: Clusters,
    new_name: Callable[[str], str],
) -> None:
    keeps = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}
    target = clusters.get(f"forgets-{version}", version, properties=keeps)
    mirror = Mirror(tmp_path, source, target, new_name("kept"))
    name, canary = mirror.topic, f"{mirror.topic}-canary"
    idle, tried = f"{name}-idle", f"{name}-tried"
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 10)
    mirror.catch_up()
    for group in (idle, tried):
        commit(source.bootstrap, group, name, 0, 5)
    only = GroupsConfig.model_validate({"include": [idle, tried]})
    with open_link(mirror.config) as link:
        sync = GroupSync(link, only)
        sync.once()
        commit(target.bootstrap, canary, name, 0, 5)
        with member(target, tried, name):
            pass
        left = now_ms()
        wait_until(lambda: now_ms() > left + _HALF, "half of the retention is over")
        report = settle(sync)
        until = {each.group.name: holds_until(each, report.retention) for each in report.groups}
        assert report.retention == _MINUTE
        assert all(at is not None and at > left + _HALF + _MINUTE for at in until.values())
        wait_until(lambda: standing(target, canary, name) is None, "the canary expires", 90)
        now = now_ms()
        assert now < min(at for at in until.values() if at is not None), "this machine is too slow"
        assert [standing(target, each, name) for each in (idle, tried)] == [(5, "")] * 2

        gone = [idle, tried]
        wait_until(
            lambda: all(standing(target, each, name) is None for each in gone), "all expire", 120
        )
        late = {each.group.name: each for each in sync.once(write=False).groups}
        codes = [why.code for why in late[idle].remarks]
        assert codes == [ReasonCode.GROUP_OVERDUE]
        assert late[idle].positions[0].gone == 5
        assert {each.outcome for each in sync.once().positions} == {"CONFIRMED"}, "written again"
