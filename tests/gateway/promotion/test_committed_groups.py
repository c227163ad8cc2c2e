from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, create_topic, produce
from towpath.cluster.admin import Admin
from towpath.gateway.promotion.committed_groups import committed_groups
from towpath.gateway.promotion.promotion_scope import offsets_partition
from towpath.gateway.promotion.reasons.producers import is_transactional
from towpath.model.nouns import ProducerId, Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

pytestmark = pytest.mark.broker


def test_the_log_of_offsets_tells_for_whom_a_transaction_committed(
    source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    topic, group, app = (
        create_topic(source.bootstrap, new_name("t")),
        new_name("g"),
        new_name("app"),
    )
    produce(source.bootstrap, topic, [Record(b"k", b"v")])
    reader = Consumer({"bootstrap.servers": source.bootstrap, "group.id": group})
    writer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": app})
    writer.init_transactions(30)
    writer.begin_transaction()
    writer.send_offsets_to_transaction([Place(topic, 0, 1)], reader.consumer_group_metadata(), 30)
    writer.commit_transaction(30)
    reader.close()
    config = ClusterConfig(bootstrap=source.addresses)
    with Admin(config, Side.SOURCE) as admin:
        known = admin.producers.transactional_ids()
        (writes,) = (number for number, name in known.items() if name == app)
        offsets = TopicName("__consumer_offsets")
        info = admin.topics.find(offsets)
        assert info is not None
        tp = TopicPartition(offsets, offsets_partition(group, len(info.partitions)))
        states = admin.producers.states([tp])[tp]
        assert writes in {each.id for each in states if is_transactional(each, known)}
        stranger = ProducerId(writes + 1_000_000)
        found = committed_groups(config, admin, {tp: {writes, stranger}})
        assert found[tp][writes] == {group}
        assert stranger not in found[tp]
        nowhere = TopicPartition(TopicName(new_name("none")), 0)
        assert committed_groups(config, admin, {nowhere: {writes}}) == {}
