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
from towpath.model.errors import RefusedError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import LEDGER, Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
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
        refused = opened.target.groups.unwritable([fine, unread, hidden])
        # A failover tells it before it seals.
        assert refused.keys() == {unread, hidden}
        assert f"the login needs the ACL Read on group {unread.name}" in str(refused[unread])
        probe = opened.target.producers.transactions(f"{name}-id").refusal(Deadline.after(10))
        assert isinstance(probe, RefusedError)
        assert probe.name == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
        report = GroupSync(opened, GroupsConfig(include=(f"{name}-.*",))).once()
    with Admin(mirror.config.target, Side.TARGET) as admin:
        transactions = admin.producers.transactions(f"{name}-id")
        assert transactions.refusal(Deadline.after(10)) is None
        assert transactions.fence(Deadline.after(10)).epoch == 0, "asking has changed nothing"
    found = {position.group: position for position in report.positions}
    assert found.keys() == {fine, unread, hidden}, "brokers tell nothing of the other"
    assert found[fine].settled
    for each, right in ((unread, "Read on group"), (hidden, "Describe on group")):
        reason = found[each].reason
        assert reason is not None
        assert reason.code == "CLUSTER_REFUSED"
        assert f"the login needs the ACL {right} {each.name}" in str(reason)
