"""Transactional producers, which no gateway takes over with the source's addresses, are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic
from towpath.cluster.admin import Admin
from towpath.mirror.plan.adopted_clients import not_adopted
from towpath.model.errors import RefusedError
from towpath.model.nouns import Side, TopicName
from towpath.settings import ClusterConfig


@pytest.mark.broker
def test_a_transactional_id_that_writes_to_topics_of_the_link_is_named(
    source: SharedCluster, new_name: Callable[[str], str]
) -> None:
    name = new_name("adopts")
    topic, other = (create_topic(source.bootstrap, f"{name}.{each}") for each in ("a", "b"))
    for who, where in ((f"{name}-one", topic), (f"{name}-two", other)):
        producer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": who})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(where, b"v")
        producer.commit_transaction(30)
    config = ClusterConfig.model_validate({"bootstrap": source.bootstrap})
    with Admin(config, Side.SOURCE) as admin:
        (told,) = not_adopted(admin, [TopicName(topic)])
        assert [*not_adopted(admin, [])] == []
    assert told.startswith(
        f"transactional id {name}-one, which wrote to {topic}, is not taken over"
    )


def test_it_is_said_where_nobody_knows() -> None:
    class Producers:
        def transactional_ids(self) -> Any:
            raise RefusedError("source", "listing transactional ids", 31, "DENIED", "")

    class Cluster:
        producers = Producers()

    cluster: Any = Cluster()
    (told,) = not_adopted(cluster, [TopicName("t")])
    assert told.startswith("which transactional producers `adopt` cannot take over is unknown")
