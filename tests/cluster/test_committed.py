"""Reading the committed records of a small topic on the target."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.kafka import Record, create_topic, delete_before, produce
from towpath.cluster.admin import Admin
from towpath.cluster.data import committed as reading
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig


@pytest.mark.broker
def test_records_that_expire_while_they_are_read_stop_nothing(
    target: LocalCluster, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_FETCH_BYTES", 100)
    name = create_topic(target.bootstrap, new_name("expiring"))
    for number in range(10):  # each its own batch, of which a fetch brings few
        produce(target.bootstrap, name, [Record(b"k", b"%d" % number)])
    config = ClusterConfig(bootstrap=target.addresses)
    with Admin(config, Side.TARGET) as admin, Client(config, Side.TARGET, admin) as client:
        topic = CommittedReader(admin, client, TopicPartition(TopicName(name), 0))
        records = topic.read()
        first = next(records)
        delete_before(target.bootstrap, name, 8)
        values = [first.value, *(record.value for record in records)]
        assert values[0] == b"0"
        assert values[-2:] == [b"8", b"9"]
        assert topic.expired > 0
        assert topic.expired + topic.records == 10
        assert list(topic.read()) == []
        produce(target.bootstrap, name, [Record(b"k", b"news")])
        assert [record.value for record in topic.read()] == [b"news"]
