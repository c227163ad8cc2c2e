"""Rights that a promotion needs are missed before anybody is held, and named with their ACL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import DESCRIBE, READ, TOPIC, WRITE, allow
from tests.support.clusters.secured import SecuredLink
from tests.support.kafka import create_topic
from towpath.gateway.promotion.link_rights import hidden_groups, lacking_rights
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.ledger.link import OpenLink, open_link
from towpath.model.groups import ClientGroup
from towpath.model.nouns import TopicName
from towpath.settings import load

pytestmark = pytest.mark.broker


def missing(link: OpenLink, topic: TopicName) -> list[str]:
    groups = [ClientGroup(f"{link.name}-{each}") for each in ("one", "two")]
    found = [*lacking_rights(link, link, [topic], groups)]
    assert {each.codes for each in found} <= {("CLUSTER_REFUSED",)}
    return [str(each).rpartition("the login needs the ACL ")[2] for each in found]


def test_each_right_that_is_missing_is_named(
    tmp_path: Path,
    secured_source: SharedCluster,
    secured_target: SharedCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOURCE_PASSWORD", USERS["mirror"].reveal())
    made = SecuredLink(tmp_path, secured_source, secured_target, vault, new_name("lacking"))
    target, name = made.target, made.name
    topic = TopicName(create_topic(target.back_door, f"{name}.moved"))
    groups, ids = ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    allow(target, TOPIC, name, [DESCRIBE])
    allow(target, groups, f"{name}-two", [DESCRIBE])
    with open_link(load(made.file)) as link:
        assert missing(link, topic) == [
            f"Read and Write on topic {topic}",
            f"Describe on group {name}-one",
            f"Read on group {name}-two",
            f"Describe on transactional id towpath.{name}.:gateway",
        ]
        allow(target, TOPIC, name, [READ, WRITE])
        allow(target, groups, name, [READ])
        allow(target, ids, f"towpath.{name}.", [DESCRIBE, WRITE])
        assert missing(link, topic) == []
        scope = PromotionScope({}, others=frozenset({"shown"}))
        allow(made.source, groups, f"{name}-may", [DESCRIBE])
        seen = {"shown", f"{name}-may", f"{name}-hidden"}
        (why,) = hidden_groups(link, seen, scope)
        assert str(why).endswith(f"the login needs the ACL Describe on group {name}-hidden")
