"""Offsets that an open transaction may change, and who is told of them. No cluster."""

from __future__ import annotations

from types import SimpleNamespace as Answer
from typing import Any, cast

import pytest
from kafka.protocol.consumer import OffsetFetchRequest

from towpath.cluster.admin.groups.asking import Asking
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Broker
from towpath.model.errors import RefusedError
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import Side, TopicName, TopicPartition

BROKER = cast("Broker", "a broker")
OPEN, FREE = (ClientGroup(name, GroupKind.CONSUMER) for name in ("open", "free"))
TP = TopicPartition(TopicName("orders"), 0)


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
    partition = Answer(
        partition_index=0,
        error_code=88 if pending else 0,
        committed_offset=-1 if pending else 10,
        metadata="",
    )
    topic = Answer(name="orders", partitions=[partition])
    return Answer(group_id=group, error_code=0, topics=[topic])


@pytest.mark.parametrize("stable", [False, True])
def test_a_group_with_an_open_transaction_fails_where_stable_offsets_are_asked_for(
    stable: bool,
) -> None:
    asking = Asking(cast("Control", _Coordinator()), 1.0, stable=stable)
    said = asking.all({OPEN: BROKER, FREE: BROKER})
    assert said[FREE] == {TP: Commit(10)}
    if not stable:
        assert said[OPEN] == {TP: Commit(10)}
        return
    assert OPEN not in said
    error = said.failed[OPEN]
    assert isinstance(error, RefusedError)
    assert (error.name, error.retriable) == ("UNSTABLE_OFFSET_COMMIT", True)
    assert "a transaction of the group is open" in str(error)
