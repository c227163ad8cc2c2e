"""What clients use at a source that does not move, on real brokers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.kafka import Record, commit, create_topic, produce, wait_until
from tests.support.messages import share_group, streams_group
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups import ClientGroup, GroupKind
from towpath.cluster.connect.connection import Connected
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.exchange import Address
from towpath.dev.broker import LocalCluster
from towpath.mirror.plan.link_plan import detailed
from towpath.mirror.staying.source_clients import look_at_clients
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

pytestmark = pytest.mark.broker
LIST_TRANSACTIONS, OFFSET_FETCH = 66, 9
WITH_SCHEMA = b"\0\0\0\0\7" + b"payload"


def test_everything_that_stays_is_named(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    name = TopicName(new_name("stays"))
    other, apart = (create_topic(source.bootstrap, new_name("apart")) for _ in range(2))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create(2)
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        before = look_at_clients(mirror.config, admin, [name])
    assert (before.of_groups, before.notes) == ((), ())

    for topic in (name, other):
        produce(
            source.bootstrap, topic, [Record(b"k", WITH_SCHEMA)], {"transactional.id": f"{name}-t"}
        )
    produce(source.bootstrap, apart, [Record(b"k", b"v")], {"transactional.id": f"{name}-u"})
    for group, topic in (("both", name), ("both", other), ("apart", apart)):
        commit(source.bootstrap, f"{name}-{group}", topic, 0, 1)
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        found = look_at_clients(mirror.config, admin, [name])
    assert (found.groups, found.unseen_groups, found.unknown) == ((f"{name}-both",), "", ())
    assert found.schemas == {name: 7}
    assert found.transactional == (f"{name}-t",)
    assert found.left_out == {TopicName(other): (f"group {name}-both", f"producer {name}-t")}

    notes = {each.about: each.text for each in detailed(mirror.config).notes}
    assert f"({name}-both): the file has no section `groups`" in notes["groups"]
    assert notes.keys() >= {"schemas", "transactions", other}
    assert apart not in notes


def test_share_groups_and_streams_groups_are_named_with_their_kind(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    name = TopicName(new_name("kinds"))
    other = TopicName(create_topic(source.bootstrap, new_name("apart")))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")] * 5)
    shared, apart, streams = (f"{name}-{kind}" for kind in ("shared", "apart", "streams"))
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        share_group(admin, shared, name, 3)
        share_group(admin, apart, other, 0)
        streams_group(admin, streams, name)
        commit(source.bootstrap, streams, name, 0, 2)
        place = TopicPartition(name, 0)
        wanted = {
            ClientGroup(shared, GroupKind.SHARE): {place: 3},
            ClientGroup(streams, GroupKind.STREAMS): {place: 2},
        }
        wait_until(lambda: wanted.items() <= admin.groups.commits().items(), "both are there")
        found = look_at_clients(mirror.config, admin, [name])
    assert (found.groups, found.unseen_groups) == ((), "")
    assert (found.share_groups, found.streams_groups) == ((shared,), (streams,))
    told = " ".join(found.of_groups)
    assert f"1 share group with start offsets on mirrored topics ({shared})" in told
    assert f"1 streams group with commits on mirrored topics ({streams})" in told


def test_brokers_before_kafka_3(
    source: LocalCluster,
    target: LocalCluster,
    tmp_path: Path,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They answer about one group at a time, and do not list transactional ids."""
    name = TopicName(new_name("old"))
    mirror = Mirror(tmp_path, source, target, name)
    mirror.create()
    produce(source.bootstrap, name, [Record(b"k", b"v")], {"transactional.id": f"{name}-t"})
    groups = tuple(f"{name}-{number}" for number in range(3))
    for group in groups:
        commit(source.bootstrap, group, name, 0, 1)
    connect = Control._connect

    def older(control: Control, address: Address, deadline: Deadline) -> Connected:
        made = connect(control, address, deadline)
        kept = {key: each for key, each in made.api_versions.items() if key != LIST_TRANSACTIONS}
        return replace(made, api_versions={**kept, OFFSET_FETCH: (0, 7)})

    monkeypatch.setattr(Control, "_connect", older)
    with Admin(mirror.config.source, Side.SOURCE) as admin:
        found = look_at_clients(mirror.config, admin, [name])
    assert (found.groups, found.unseen_groups, found.transactional) == (groups, "", ())
    assert found.unknown == ("for transactional ids: brokers before Kafka 3.0 do not list them",)
