"""Quotas: a broker that throttles us is waited for, and not taken for one that does not answer."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.support.chaos import soak_only
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.data.nodes import Nodes
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.records.copy import copy

RATES = {Side.SOURCE: 30_000, Side.TARGET: 20_000}
"""Bytes a second; brokers let a burst of about ten seconds pass."""


@soak_only
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
            admin.set_quota(Quota((Entity(EntityKind.CLIENT_ID, "towpath"),), key), RATES[side])
        began = time.monotonic()
        [done] = copy(work)
        assert (done.records, done.error) == (9, "")
        assert time.monotonic() - began > 5
        assert lost == []
        assert consume(target.bootstrap, mirror.topic) == consume(source.bootstrap, mirror.topic)
