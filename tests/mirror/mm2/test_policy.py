"""Names of topics under MirrorMaker 2's replication policies."""

from __future__ import annotations

import pytest

from towpath.mirror.mm2.policy import Policy, PolicyKind, connect_topic

IDENTITY = Policy(kind=PolicyKind.IDENTITY)
DASHED = Policy(separator="-")


def test_the_default_policy_puts_the_alias_before_the_name() -> None:
    assert Policy().remote_topic("us", "orders") == "us.orders"
    assert Policy(separator="__").remote_topic("us", "orders") == "us__orders"


@pytest.mark.parametrize(
    ("policy", "topic", "alias"),
    [
        (Policy(), "us.orders", "us"),
        (Policy(), "us.eu.orders", "us"),
        (Policy(), "orders", None),
        (Policy(), "orders.", None),
        (Policy(), "orders..", None),
        (Policy(), ".orders", ""),
        (DASHED, "us-orders", "us"),
        (DASHED, "us.orders", None),
        (IDENTITY, "us.orders", None),
        (IDENTITY, "us.heartbeats", "us"),
    ],
)
def test_names_of_mirror_topics_tell_an_alias(
    policy: Policy, topic: str, alias: str | None
) -> None:
    assert policy.source_alias(topic) == alias


def test_the_identity_policy_keeps_all_names_but_those_of_heartbeats() -> None:
    assert IDENTITY.remote_topic("us", "orders") == "orders"
    assert IDENTITY.remote_topic("us", "heartbeats") == "us.heartbeats"


@pytest.mark.parametrize(
    ("policy", "checkpoints", "syncs"),
    [
        (Policy(), "us.checkpoints.internal", "mm2-offset-syncs.us.internal"),
        (IDENTITY, "us.checkpoints.internal", "mm2-offset-syncs.us.internal"),
        (DASHED, "us-checkpoints-internal", "mm2-offset-syncs-us-internal"),
        (
            Policy(separator="-", internal_separator=False),
            "us.checkpoints.internal",
            "mm2-offset-syncs.us.internal",
        ),
    ],
)
def test_internal_topics_have_the_separator_unless_it_is_switched_off(
    policy: Policy, checkpoints: str, syncs: str
) -> None:
    assert policy.checkpoints("us") == checkpoints
    assert policy.offset_syncs("us") == syncs


def test_topics_of_kafka_connect_have_dots_always() -> None:
    assert connect_topic("offsets", "us") == "mm2-offsets.us.internal"
