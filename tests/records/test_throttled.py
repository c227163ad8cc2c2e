"""Quotas: a broker that throttles us is waited for, and not taken for one that does not answer."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.nodes import Nodes
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.records.copy import copy
from towpath.settings import ClusterConfig

RATES = {Side.SOURCE: 30_000, Side.TARGET: 20_000}
"""Bytes a second; brokers let a burst of about ten seconds pass."""


@pytest.mark.soak
@pytest.mark.broker
@pytest.mark.parametrize("side", [Side.SOURCE, Side.TARGET])
def test_a_muted_broker_is_no_silent_one(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    lost: list[str] = []
    monkeypatch.setattr(Nodes, "_lost", lambda _self, _node, why: lost.append(why))
    with (
        LocalCluster(brokers=1, home=tmp_path / "source") as source,
        LocalCluster(brokers=1, home=tmp_path / "target") as target,
    ):
        mirror = Mirror(tmp_path, source, target, "throttled", timeout="3s")
        mirror.create()
        records = [Record(b"%d" % i, rng.randbytes(50_000)) for i in range(9)]
        produce(source.bootstrap, mirror.topic, records, {"batch.num.messages": 1})
        config = mirror.config.source if side is Side.SOURCE else mirror.config.target
        key = QuotaKey.CONSUMER_BYTE_RATE if side is Side.SOURCE else QuotaKey.PRODUCER_BYTE_RATE
        [work] = mirror.slices()
        with Admin(config, side) as admin:
            admin.quotas.change(Quota((Entity(EntityKind.CLIENT_ID, "towpath"),), key), RATES[side])
        began = time.monotonic()
        [done] = copy(work)
        assert (done.records, done.error) == (9, "")
        assert time.monotonic() - began > 5
        assert lost == []
        assert consume(target.bootstrap, mirror.topic) == consume(source.bootstrap, mirror.topic)


@pytest.mark.soak
@pytest.mark.broker
def test_the_control_plane_waits_as_long_as_it_is_asked_to(tmp_path: Path) -> None:
    """A broker that throttles reads nothing from the connection, for longer than we would wait."""
    with LocalCluster(brokers=1, home=tmp_path / "only") as cluster:
        config = ClusterConfig(bootstrap=cluster.addresses, request_timeout="3s")
        quota = Quota((Entity(EntityKind.CLIENT_ID, "towpath"),), QuotaKey.CONTROLLER_MUTATION_RATE)
        with Admin(config, Side.TARGET) as admin:
            admin.quotas.change(quota, 0.7)
            create_topic(cluster.bootstrap, "made-by-others", 1)
            assert not admin.throttled
            admin.topics.create(TopicName("large"), 15, 1, {})
            admin.topics.create(TopicName("second"), 1, 1, {})
            assert admin.throttled > 3, "the broker refused the second one and asked us to wait"
            found = admin.topics.describe([TopicName("large"), TopicName("second")])
            assert sorted(len(info.partitions) for info in found.values()) == [1, 15]
