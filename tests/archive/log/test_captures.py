"""What an archive keeps besides records comes back as it was, from each version."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.archive.archives import CLUSTER, WRITER
from towpath.archive.errors import BrokenLogError
from towpath.archive.log import Capture, LogEntry
from towpath.archive.log.captures import (
    AclsCapture,
    CapturedAccess,
    CapturedOffset,
    GroupCapture,
    QuotasCapture,
    TopicCapture,
    UsersCapture,
    captured_access,
    captured_groups,
    captured_topics,
)
from towpath.archive.log.coding import decode, encode
from towpath.archive.log.state import ArchiveState
from towpath.model.acl import Acl, Operation, Pattern, Permission, Resource
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.model.quota import Entity, EntityKind, Quota, QuotaKey
from towpath.model.scram import Credential, Mechanism

ORDERS = TopicCapture(
    cluster=CLUSTER,
    id=TopicId("one"),
    name=TopicName("orders"),
    partitions=3,
    replication_factor=2,
    own={"cleanup.policy": "compact"},
    configs={"cleanup.policy": "compact", "retention.ms": "604800000"},
)
GROUP = GroupCapture(
    cluster=CLUSTER,
    group=ClientGroup("billing:eu", GroupKind.STREAMS),
    offsets=(
        CapturedOffset(
            topic_id=TopicId("one"),
            topic=TopicName("orders"),
            partition=2,
            offset=1 << 62,
            metadata="β",
        ),
    ),
)


def committed(*captures: Capture) -> ArchiveState:
    """Return the state behind one entry for each capture, as the store would give it back."""
    state = ArchiveState()
    for each in captures:
        version = state.version + 1
        entry = LogEntry(version=version, time=version, writer=WRITER, captures=(each,))
        state = state.after([(decode(encode(entry), "here"), "")])
    return state


def test_captures_come_back_as_they_were() -> None:
    state = committed(ORDERS.capture(), GROUP.capture())
    assert captured_topics(state, "here") == {ORDERS.id: ORDERS}
    assert captured_groups(state, "here") == {"billing:eu": GROUP}


def test_a_topic_that_was_made_again_keeps_its_first_description() -> None:
    again = replace(ORDERS, id=TopicId("two"), partitions=1)
    grown = replace(ORDERS, partitions=5)
    state = committed(ORDERS.capture(), again.capture(), grown.capture())
    assert captured_topics(state, "here") == {"one": grown, "two": again}


def test_a_group_that_is_gone_is_not_there() -> None:
    gone = replace(GROUP.capture(), value=None)
    assert captured_groups(committed(GROUP.capture(), gone), "here") == {}


def test_what_is_no_capture_is_refused() -> None:
    wrong = committed(replace(ORDERS.capture(), value={"id": 7}))
    with pytest.raises(BrokenLogError, match="the topic one in version 1 cannot be read"):
        captured_topics(wrong, "s3://archive/eu/_log/")


def test_access_comes_back_as_it_was_and_of_several_clusters_the_latest() -> None:
    acl = Acl(
        resource=Resource.TOPIC,
        name="orders",
        pattern=Pattern.PREFIXED,
        principal="User:ann",
        host="*",
        operation=Operation.READ,
        permission=Permission.ALLOW,
    )
    users = ((Credential("ann", Mechanism.SHA_512), 4096),)
    quota = Quota((Entity(EntityKind.USER, None),), QuotaKey.REQUEST_PERCENTAGE)
    one, two = ClusterId("one"), ClusterId("two")
    acls = AclsCapture(cluster=two, acls=(acl,))
    told = UsersCapture(cluster=two, users=users)
    quotas = QuotasCapture(cluster=two, quotas=((quota, 12.5),))
    captures = AclsCapture(cluster=one, acls=()), acls, told, quotas
    state = committed(*(each.capture() for each in captures))
    assert captured_access(state, "here") == CapturedAccess(acls=acls, users=told, quotas=quotas)
    assert captured_access(ArchiveState(), "here") == CapturedAccess()
