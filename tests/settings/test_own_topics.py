"""Topics that clusters and tools keep about themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from towpath.settings.sections.own_topics import NEVER_MIRRORED, TOOLS, is_own, of_tools

PAGE = Path(__file__).parents[2] / "docs/what-moves.md"


@pytest.mark.parametrize(
    "topic",
    [
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__remote_log_metadata",
        "__mirror_state",
        "__towpath_ledger",
        "__towpath_events",
        "__towpath_quarantine",
        "_confluent-tier-state",
        "_confluent-link-metadata",
        "_confluent_balancer_api_state",
        "_redpanda.audit_log",
        "_redpanda.transform_logs",
        "__redpanda.connectors_logs",
        "__auto_balancer_metrics",
    ],
)
def test_topics_of_brokers_are_known(topic: str) -> None:
    assert is_own(topic)


@pytest.mark.parametrize(
    "topic", ["orders", "__orders", "my__consumer_offsets", "dc1.__remote_log_metadata", "redpanda"]
)
def test_other_topics_are_no_topics_of_brokers(topic: str) -> None:
    assert not is_own(topic)


@pytest.mark.parametrize(
    ("topic", "tool"),
    [
        ("__CruiseControlMetrics", "Cruise Control"),
        ("__KafkaCruiseControlModelTrainingSamples", "Cruise Control"),
        ("strimzi.cruisecontrol.metrics", "Cruise Control"),
        ("__amazon_msk_canary", "canaries"),
        ("__amazon_msk_canary_state", "canaries"),
        ("__amazon_msk_connect_configs_one_1", "Kafka Connect"),
        ("connect-configs", "Kafka Connect"),
        ("my.connect-offsets", "Kafka Connect"),
        ("heartbeats", "MirrorMaker 2"),
        ("dc1.heartbeats", "MirrorMaker 2"),
        ("dc1.checkpoints.internal", "MirrorMaker 2"),
        ("mm2-offset-syncs.dc1.internal", "MirrorMaker 2"),
        ("mm2-configs.dc1.internal", "MirrorMaker 2"),
        ("_schemas", "the schema registry"),
        ("_confluent-metrics", "Confluent's monitoring"),
    ],
)
def test_topics_of_tools_are_known_by_their_usual_names(topic: str, tool: str) -> None:
    assert [each.tool for each in of_tools([topic, "orders"])] == [tool]
    assert not is_own(topic)


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text()
    for own in NEVER_MIRRORED:
        assert own.whose in page
    for tool in TOOLS:
        assert tool.tool in page


def test_expressions_are_those_of_python() -> None:
    for each in (*NEVER_MIRRORED, *TOOLS):
        re.compile(each.names)
