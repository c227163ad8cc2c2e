"""Rights that are missing on configs of groups: they are named with the ACL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import DESCRIBE, TOPIC, allow
from tests.support.clusters.secured import SecuredLink
from tests.support.copying.copier import BackDoor
from tests.support.kafka import commit
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.group_configs.apply import checked
from towpath.group_configs.observe import observe
from towpath.group_configs.steps import SetHolderConfig
from towpath.model.findings import Cause
from towpath.model.holders import ConfigHolder
from towpath.model.nouns import Side
from towpath.settings import ClusterConfig, GroupsConfig, TopicsConfig, load

pytestmark = pytest.mark.broker
KEY, VALUE = "consumer.session.timeout.ms", "50000"


def test_rights_that_are_missing_are_named(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = new_name("rights")
    group, kind = f"{name}-reader", ConfigHolder.GROUP
    BackDoor(tmp_path, secured_source, secured_target, name).create()
    commit(secured_source.back_door, group, name, 0, 0)
    with Admin(ClusterConfig(bootstrap=(secured_source.back_door,)), Side.SOURCE) as admin:
        admin.holders.change_all(kind, {group: {KEY: VALUE}}).sure(group)

    monkeypatch.setenv("SOURCE_PASSWORD", USERS["mirror"].reveal())
    link = load(SecuredLink(tmp_path, secured_source, secured_target, vault, name).file)
    allow(secured_source, TOPIC, name, (DESCRIBE,))
    allow(secured_source, ResourceType.GROUP, group, (DESCRIBE,))
    config, topics = GroupsConfig(include=(f"{name}.*",)), TopicsConfig(include=(name,))
    with Admin(link.source, Side.SOURCE) as source, Admin(link.target, Side.TARGET) as target:
        hidden = observe(source, target, config, topics, ())
        (problem,) = hidden.problems
        assert problem.cause is Cause.RIGHTS
        assert f"the login needs the ACL DescribeConfigs on group {group}" in problem.text
        assert "DescribeConfigs on the cluster" in hidden.unlisted

        allow(secured_source, ResourceType.GROUP, group, (AclOperation.DESCRIBE_CONFIGS,))
        unseen = observe(source, target, config, topics, ())
        assert unseen.groups is not None
        assert unseen.groups.source == {group: {KEY: VALUE}}
        (problem,) = unseen.problems
        assert "target: " in problem.text
        assert f"DescribeConfigs on group {group}" in problem.text

        found = checked([SetHolderConfig(kind, group, KEY, VALUE, None, group)], target)
        assert found.steps == ()
        (problem,) = found.problems
        assert problem.cause is Cause.RIGHTS
        assert f"the login needs the ACL AlterConfigs on group {group}" in problem.text
