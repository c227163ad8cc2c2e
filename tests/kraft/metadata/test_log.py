"""The log of controllers that tests share: of the newest Kafka, whatever others do there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic, set_config
from tests.support.kraft.quorums import kraft_config
from towpath.kraft.facts.image import ConfigOf
from towpath.kraft.facts.nouns import BrokerMode
from towpath.kraft.metadata.answers import ask_node
from towpath.kraft.metadata.log import LogReader
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig


@pytest.mark.broker
def test_a_reader_goes_on_where_it_ended(
    source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    config, deadline = kraft_config({1: source.controllers[0]}), Deadline.after(60)
    reader = LogReader(config)
    first = reader.read(reader.read_quorum(deadline), deadline)
    topic = create_topic(source.bootstrap, new_name("orders"), 2)
    set_config(source.bootstrap, topic, "retention.ms", "86400000")
    seen = reader.read(reader.read_quorum(deadline), deadline)
    reader.close()
    assert seen.unread == {}
    # Kafka 4 knows nothing of a migration.
    assert (first.state, list(first.ready)) == (None, [1])
    assert topic not in first.image.topics
    partitions = seen.image.topics[topic].partitions
    assert {place: each.replicas for place, each in partitions.items()} == {0: (1,), 1: (1,)}
    assert seen.image.configs[ConfigOf.TOPIC, topic]["retention.ms"] == "86400000"
    assert seen.end > first.end
    # Unless the cluster has just made a snapshot, nothing was read twice.
    assert reader.begun <= 2
    told = ask_node(source.addresses[0], ClusterConfig(bootstrap=source.addresses), deadline)
    assert (told.mode, told.flag, told.software) == (BrokerMode.KRAFT, False, "4.4")
    assert told.features["metadata.version"] == seen.features["metadata.version"]
