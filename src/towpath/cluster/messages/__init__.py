"""Kafka messages that kafka-python lacks, as JSON files from which it makes classes.

The files beside this one describe them in the form of Kafka's own (KIP-932, KIP-630, KIP-848,
KIP-1071).
"""

from __future__ import annotations

from types import new_class
from typing import Any

from kafka.protocol.api_message import ApiMessage


def _message(name: str) -> Any:
    return new_class(name, (ApiMessage,), {"load_json": __name__})


DescribeShareGroupOffsetsRequest = _message("DescribeShareGroupOffsetsRequest")
"""Asks for the start offsets of share groups."""
DescribeShareGroupOffsetsResponse = _message("DescribeShareGroupOffsetsResponse")
"""The start offsets of share groups; -1 where none was set yet."""
AlterShareGroupOffsetsRequest = _message("AlterShareGroupOffsetsRequest")
"""Sets start offsets of a share group that has no members."""
AlterShareGroupOffsetsResponse = _message("AlterShareGroupOffsetsResponse")
"""What became of each partition's start offset."""
ConsumerGroupHeartbeatRequest = _message("ConsumerGroupHeartbeatRequest")
"""Lets a member join, stay in, or leave a group of the consumer protocol."""
ConsumerGroupHeartbeatResponse = _message("ConsumerGroupHeartbeatResponse")
"""The epoch that a member has then."""
ConsumerGroupDescribeRequest = _message("ConsumerGroupDescribeRequest")
"""Asks for the members of groups of KIP-848."""
ConsumerGroupDescribeResponse = _message("ConsumerGroupDescribeResponse")
"""The members of groups of KIP-848, and what they read."""
ShareGroupDescribeRequest = _message("ShareGroupDescribeRequest")
"""Asks for the members and the epoch of share groups."""
ShareGroupDescribeResponse = _message("ShareGroupDescribeResponse")
"""The members and the epoch of share groups."""
FetchSnapshotRequest = _message("FetchSnapshotRequest")
"""Asks the leader of a quorum of controllers for a part of a snapshot of its log."""
FetchSnapshotResponse = _message("FetchSnapshotResponse")
"""A part of a snapshot; it may begin and end within a record batch."""
ShareGroupHeartbeatRequest = _message("ShareGroupHeartbeatRequest")
"""Lets a member join, stay in, or leave a share group."""
ShareGroupHeartbeatResponse = _message("ShareGroupHeartbeatResponse")
"""The epoch that a member of a share group has then, and what it reads."""
StreamsGroupHeartbeatRequest = _message("StreamsGroupHeartbeatRequest")
"""Lets an application join, stay in, or leave a Streams group, and tells its topology."""
StreamsGroupHeartbeatResponse = _message("StreamsGroupHeartbeatResponse")
"""The epoch that a member of a Streams group has then, and its tasks."""
StreamsGroupDescribeRequest = _message("StreamsGroupDescribeRequest")
"""Asks for the members and the topology of Streams groups."""
StreamsGroupDescribeResponse = _message("StreamsGroupDescribeResponse")
"""The members of Streams groups with their tasks, and the topics of their applications."""
