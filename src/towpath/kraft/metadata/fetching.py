"""The two requests that read the metadata log: Fetch and FetchSnapshot.

Facts from Kafka 3.9 (`KafkaRaftClient`): the topic is named by its id, so Fetch is version 13 or
newer. Who asks as replica -1 is no observer of the quorum. Both need ClusterAction on the cluster.
A fetch at offset 0 is answered with the newest snapshot, if there is one, even if the log still
begins at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kafka.protocol.consumer import FetchRequest

from towpath.cluster.codes import refused
from towpath.cluster.messages import FetchSnapshotRequest
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import QuorumSeen
from towpath.kraft.metadata.controllers import SIDE, Controllers
from towpath.kraft.metadata.quorum import TOPIC
from towpath.runtime.deadline import Deadline

_TOPIC_ID = UUID(int=1)
_FETCH_VERSION = 13
_NOBODY = -1
_FENCED_LEADER_EPOCH = 74
_BYTES = 8 << 20
_WAIT_MS = 100
_ACL = "ClusterAction on the cluster"


@dataclass(frozen=True, slots=True)
class SnapshotId:
    """A snapshot: the offset after its last record, and the epoch of that record."""

    end: int
    epoch: int


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of the metadata log in a fetch response.

    Attributes:
        data: Batches from the offset on, also such that are not committed.
        high_watermark: The offset below which all is committed; -1 if that is not known.
        start: Where the log begins.
        snapshot: To be read instead, as it holds what the log holds no more.
        diverging: Whether the log never had the offset and epoch that were asked for.
    """

    data: bytes
    high_watermark: int
    start: int
    snapshot: SnapshotId | None
    diverging: bool


def fetch(
    controllers: Controllers, quorum: QuorumSeen, at: SnapshotId, deadline: Deadline
) -> LogPart:
    """Fetch a part of the metadata log from the leader.

    Args:
        controllers: Whom to ask.
        quorum: Who leads, in which epoch.
        at: The offset to fetch from, and the epoch of the batch before it.
        deadline: How long to wait.

    Raises:
        ClusterError: The leader does not answer, leads no more, or does not let us read.
    """
    what = f"fetching the metadata log at offset {at.end}"
    answer = controllers.ask(
        quorum.leader, _fetch_request(quorum, at), deadline, what, _FETCH_VERSION
    )
    if answer.error_code:
        raise refused(SIDE, what, answer.error_code, acl=_ACL)
    said = answer.responses[0].partitions[0]
    if said.error_code:
        raise refused(SIDE, what, said.error_code, acl=_ACL)
    other = said.snapshot_id
    return LogPart(
        bytes(said.records or b""),
        said.high_watermark,
        said.log_start_offset,
        SnapshotId(other.end_offset, other.epoch) if other is not None else None,
        said.diverging_epoch is not None,
    )


def knows_newer_epoch(
    controllers: Controllers, quorum: QuorumSeen, node: NodeId, deadline: Deadline
) -> bool:
    """Return whether a controller knows a leader newer than the one of `quorum`.

    A controller compares epochs before it says that it does not lead (`validateLeaderOnlyRequest`).

    Raises:
        ClusterError: It does not answer.
    """
    what = "asking for the epoch of the quorum"
    request = _fetch_request(quorum, SnapshotId(0, 0))
    answer = controllers.ask(node, request, deadline, what, _FETCH_VERSION)
    if answer.error_code:
        raise refused(SIDE, what, answer.error_code, acl=_ACL)
    return bool(answer.responses[0].partitions[0].error_code == _FENCED_LEADER_EPOCH)


def fetch_snapshot(
    controllers: Controllers, quorum: QuorumSeen, snapshot: SnapshotId, deadline: Deadline
) -> bytes:
    """Return a whole snapshot as batches, like those of the log.

    Raises:
        ClusterError: The leader does not answer, leads no more, has no such snapshot any more, or
            does not let us read.
    """
    what = f"fetching the snapshot that ends at offset {snapshot.end}"
    data = bytearray()
    while True:
        request = _snapshot_request(quorum, snapshot, len(data))
        answer = controllers.ask(quorum.leader, request, deadline, what)
        if answer.error_code:
            raise refused(SIDE, what, answer.error_code, acl=_ACL)
        said = answer.topics[0].partitions[0]
        if said.error_code:
            raise refused(SIDE, what, said.error_code, acl=_ACL)
        data += said.unaligned_records or b""
        if len(data) >= said.size or not said.unaligned_records:
            return bytes(data)


def _fetch_request(quorum: QuorumSeen, at: SnapshotId) -> Any:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        partition=0,
        current_leader_epoch=quorum.epoch,
        fetch_offset=at.end,
        last_fetched_epoch=at.epoch,
        log_start_offset=-1,
        partition_max_bytes=_BYTES,
    )
    return FetchRequest(
        replica_id=_NOBODY,
        max_wait_ms=_WAIT_MS,
        min_bytes=0,
        max_bytes=_BYTES,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[topic(topic_id=_TOPIC_ID, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
    )


def _snapshot_request(quorum: QuorumSeen, snapshot: SnapshotId, position: int) -> Any:
    topic = FetchSnapshotRequest.TopicSnapshot
    part = topic.PartitionSnapshot
    partition = part(
        partition=0,
        current_leader_epoch=quorum.epoch,
        snapshot_id=part.SnapshotId(end_offset=snapshot.end, epoch=snapshot.epoch),
        position=position,
    )
    return FetchSnapshotRequest(
        replica_id=_NOBODY,
        max_bytes=_BYTES,
        topics=[topic(name=TOPIC, partitions=[partition])],
    )
