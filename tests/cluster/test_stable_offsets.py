"""Offsets that an open transaction may change, and who is told of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Answer
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from kafka.protocol.consumer import OffsetFetchRequest

from tests.support.kafka import Record, create_topic, produce
from towpath.cluster.admin import Admin
from towpath.cluster.admin.groups.asking import Asking, Stable
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Broker
from towpath.dev.broker import LocalCluster
from towpath.model.errors import RefusedError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import ClusterConfig

BROKER = cast("Broker", "a broker")
OPEN, FREE = (ClientGroup(name, GroupKind.CONSUMER) for name in ("open", "free"))
TP, MAIL = (TopicPartition(TopicName(name), 0) for name in ("orders", "mail"))
BEFORE = {TP: Commit(10), MAIL: Commit(3)}


class _Coordinator:
    """Answers as a group coordinator does while a transaction of `open` commits an offset.

    `GroupCoordinator.fetchOffsets` gives the offset of before, or an error by partition where the
    request wants stable offsets (KIP-447).
    """

    side = Side.SOURCE

    def ask(self, _: Broker, request: Any, *__: Any, **___: Any) -> Any:
        assert isinstance(request, OffsetFetchRequest)
        return Answer(
            groups=[
                _said(each.group_id, pending=each.group_id == "open" and request.require_stable)
                for each in request.groups
            ]
        )


def _said(group: str, *, pending: bool) -> Any:
    orders = Answer(
        partition_index=0,
        error_code=88 if pending else 0,
        committed_offset=-1 if pending else 10,
        metadata="",
    )
    mail = Answer(partition_index=0, error_code=0, committed_offset=3, metadata="")
    topics = [Answer(name=TP.topic, partitions=[orders]), Answer(name="mail", partitions=[mail])]
    return Answer(group_id=group, error_code=0, topics=topics)


@pytest.mark.parametrize("stable", [None, lambda tp: tp == TP])
def test_a_group_with_an_open_transaction_fails_where_stable_offsets_are_asked_for(
    stable: Stable | None,
) -> None:
    asking = Asking(cast("Control", _Coordinator()), 1.0, stable=stable)
    said = asking.all({OPEN: BROKER, FREE: BROKER})
    assert said[FREE] == BEFORE
    if stable is None:
        assert said[OPEN] == BEFORE
        return
    assert OPEN not in said
    error = said.failed[OPEN]
    assert isinstance(error, RefusedError)
    assert (error.name, error.retriable) == ("UNSTABLE_OFFSET_COMMIT", True)
    assert "a transaction of the group is open" in str(error)


def test_offsets_that_a_transaction_may_change_are_marked() -> None:
    asking = Asking(cast("Control", _Coordinator()), 1.0, telling=True)
    said = asking.all({OPEN: BROKER, FREE: BROKER})
    assert said == {OPEN: {**BEFORE, TP: Commit(10, pending=True)}, FREE: BEFORE}
    assert not said.failed


def test_a_transaction_on_other_partitions_fails_nobody() -> None:
    """Its offsets are those of before, so that no commit seems to be gone."""
    asking = Asking(cast("Control", _Coordinator()), 1.0, stable=lambda tp: tp == MAIL)
    said = asking.all({OPEN: BROKER, FREE: BROKER})
    assert not said.failed
    assert said == {OPEN: {**BEFORE, TP: Commit(10, pending=True)}, FREE: BEFORE}


@pytest.mark.broker
def test_brokers_tell_that_a_transaction_of_the_group_is_open(
    source: LocalCluster, new_name: Callable[[str], str]
) -> None:
    topic, group = create_topic(source.bootstrap, new_name("stable")), new_name("group")
    tp = TopicPartition(TopicName(topic), 0)
    client = ClientGroup(group, GroupKind.CONSUMER)
    reader = Consumer({"bootstrap.servers": source.bootstrap, "group.id": group})
    reader.commit(offsets=[Place(topic, 0, 0)], asynchronous=False)
    writer = Producer({"bootstrap.servers": source.bootstrap, "transactional.id": group})
    writer.init_transactions(30)
    writer.begin_transaction()
    produce(source.bootstrap, topic, [Record(b"k", b"v")])
    writer.send_offsets_to_transaction([Place(topic, 0, 1)], reader.consumer_group_metadata(), 30)
    config = ClusterConfig.model_validate({"bootstrap": source.bootstrap})
    with Admin(config, Side.SOURCE) as admin:
        assert admin.groups.offsets([client])[client] == {tp: Commit(0)}
        told = admin.groups.offsets([client], telling=True)[client]
        assert told == {tp: Commit(0, pending=True)}
        said = admin.groups.offsets([client], stable=tp.__eq__)
        assert client not in said
        assert "a transaction of the group is open" in str(said.failed[client])
        others = admin.groups.offsets([client], stable=tp.__ne__)
        assert others[client] == {tp: Commit(0, pending=True)}
        writer.commit_transaction(30)
        assert admin.groups.offsets([client], stable=tp.__eq__)[client] == {tp: Commit(1)}
    reader.close()
