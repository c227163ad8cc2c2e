"""Brokers that throttle us are told of, and waited for as long as the caller has time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import Record, create_topic, produce
from towpath.cluster.admin import Admin
from towpath.cluster.connect.throttling import ThrottledError, Throttling
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.runtime.deadline import Deadline
from towpath.runtime.notices import led
from towpath.settings import ClusterConfig
from towpath.wire import plain
from towpath.wire.header import BatchHeader, split

RATE, SIZE = 3000, 2000


@pytest.fixture
def told() -> Iterator[list[str]]:
    said: list[str] = []
    before = led(said.append)
    yield said
    led(before)


def test_long_waits_are_told_and_then_at_twice_as_many_seconds(told: list[str]) -> None:
    throttling = Throttling("target")
    for _ in range(42):
        throttling.waits(1.0)
    assert [each.split("wait for ")[1].split(" so far")[0] for each in told] == [
        "5 s", "10 s", "20 s", "40 s",
    ]  # fmt: skip
    assert all("consumer_byte_rate" in each and each.startswith("target:") for each in told)


def test_one_wait_is_told_once_however_long_it_is(told: list[str]) -> None:
    throttling = Throttling("source")
    throttling.waits(100.0)
    throttling.waits(50.0)
    assert len(told) == 1


@pytest.mark.soak
@pytest.mark.broker
def test_all_is_read_however_small_the_quota_and_no_longer_than_there_is_time(
    tmp_path: Path, told: list[str]
) -> None:
    with LocalCluster(brokers=1, home=tmp_path / "only") as cluster:
        config = ClusterConfig(bootstrap=cluster.addresses, request_timeout="3s")
        tp = TopicPartition(TopicName(create_topic(cluster.bootstrap, "read", 1)), 0)
        records = [Record(b"%d" % number, bytes(SIZE)) for number in range(50)]
        produce(cluster.bootstrap, tp.topic, records, {"batch.num.messages": 1})
        with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
            entity = (Entity(EntityKind.CLIENT_ID, "towpath"),)
            admin.quotas.change(Quota(entity, QuotaKey.CONSUMER_BYTE_RATE), RATE)
            admin.quotas.change(Quota(entity, QuotaKey.PRODUCER_BYTE_RATE), RATE)
            at = 0
            while at < len(records):
                found = client.fetch(tp, at, max_bytes=8 << 20)
                heads = [BatchHeader.read(each) for each in split(found.batches)]
                assert heads, "nothing was there although the log goes on"
                at = heads[-1].base_offset + heads[-1].last_offset_delta + 1
            assert client.failures == 0, "to be throttled is no failure"
            assert told, "long waits are told"
            client.produce(tp, plain.encode([plain.Record(b"k", bytes(20 * RATE), (), 0)]))
            client.patience = Deadline.after(0.5)
            with pytest.raises(ThrottledError, match="producer_byte_rate"):
                client.produce(tp, plain.encode([plain.Record(b"k", b"late", (), 0)]))
            assert client.failures == 0
            assert admin.offsets.latest([tp]).sure(tp) == len(records) + 1, "it was not sent"
