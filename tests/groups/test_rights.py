"""Rights that are missing on some groups: those are named with the ACL, the others are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import DESCRIBE, READ, TOPIC, WRITE, allow
from tests.support.clusters.secured import SecuredLink
from tests.support.copying.copier import BackDoor
from tests.support.kafka import Record, produce
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.groups.sync import GroupSync
from towpath.ledger.link import open_link
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import LEDGER, Side, TopicName, TopicPartition
from towpath.settings import GroupsConfig, load

pytestmark = pytest.mark.broker


def test_rights_that_are_missing_are_named_and_other_groups_go_on(
    tmp_path: Path,
    secured_source: LocalCluster,
    secured_target: LocalCluster,
    vault: Vault,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = TopicName(new_name("rights"))
    mirror = BackDoor(tmp_path, secured_source, secured_target, name)
    mirror.create()
    produce(secured_source.back_door, name, [Record(b"k", b"v")] * 10)
    mirror.catch_up()
    place = TopicPartition(name, 0)
    fine, unread, hidden, unseen = (
        ClientGroup(f"{name}-{each}") for each in ("fine", "unread", "hidden", "unseen")
    )
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        wanted = {each: {place: Commit(4)} for each in (fine, unread, hidden, unseen)}
        assert not any(each.failed for each in admin.groups.write(wanted).values())

    group = ResourceType.GROUP
    allow(secured_source, TOPIC, name, (READ, AclOperation.DESCRIBE_CONFIGS))
    allow(secured_target, TOPIC, name, (READ, WRITE))
    allow(secured_target, TOPIC, LEDGER, (READ, WRITE))
    for each in (fine, unread, hidden):
        allow(secured_source, group, each.name, (DESCRIBE,))
    allow(secured_target, group, fine.name, (READ,))
    allow(secured_target, group, unread.name, (DESCRIBE,))
    monkeypatch.setenv("SOURCE_PASSWORD", USERS["mirror"].reveal())
    link = SecuredLink(tmp_path, secured_source, secured_target, vault, name)
    with open_link(load(link.file)) as opened:
        report = GroupSync(opened, GroupsConfig(include=(f"{name}-.*",))).once()
    found = {position.group: position for position in report.positions}
    assert found.keys() == {fine, unread, hidden}, "brokers tell nothing of the other"
    assert found[fine].settled
    for each, right in ((unread, "Read on group"), (hidden, "Describe on group")):
        reason = found[each].reason
        assert reason is not None
        assert reason.code == "CLUSTER_REFUSED"
        assert f"the login needs the ACL {right} {each.name}" in str(reason)
