"""What an archive keeps besides records comes back as it was, from each version."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.archives import CLUSTER, WRITER
from towpath.model.errors import BrokenLogError
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import TopicId, TopicName
from towpath.segments.captures import (
    CapturedOffset,
    GroupCapture,
    TopicCapture,
    captured_groups,
    captured_topics,
)
from towpath.segments.log import Capture, LogEntry
from towpath.segments.log.coding import decode, encode
from towpath.segments.log.state import ArchiveState

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
