"""Groups of the newer kinds, made by the requests of their members, as no client here knows them.

The files beside this one describe these requests as far as the tests need them: lists that are
always empty have simple elements (KIP-932, KIP-1071).
"""

from __future__ import annotations

from types import new_class
from typing import Any

from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import JoinGroupRequest, SyncGroupRequest

from tests.support.kafka import wait_until
from towpath.cluster.admin import Admin
from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.messages import ConsumerGroupHeartbeatRequest
from towpath.runtime.deadline import Deadline

JOIN, LEAVE = 0, -1
_MEMBER_ID_REQUIRED = 79
"""The answer to the first join, which gives a member its id."""
_ERROR = slice(9, 11)
"""Where all answers have the error: behind correlation id, tags and throttle time."""


def _message(name: str) -> Any:
    return new_class(name, (ApiMessage,), {"load_json": __name__})


_ShareHeartbeat = _message("ShareGroupHeartbeatRequest")
_Alter = _message("AlterShareGroupOffsetsRequest")
_StreamsHeartbeat = _message("StreamsGroupHeartbeatRequest")


def share_group(admin: Admin, group: str, topic: str, offset: int) -> None:
    """Make a share group whose only member has left, and which begins at an offset."""
    for epoch in (JOIN, LEAVE):
        request = _ShareHeartbeat(
            group_id=group,
            member_id="a" * 22,
            member_epoch=epoch,
            rack_id=None,
            subscribed_topic_names=[topic],
        )
        _done(admin, group, lambda request=request: request)
    topics = _Alter.AlterShareGroupOffsetsRequestTopic
    parts = topics.AlterShareGroupOffsetsRequestPartition
    start = topics(topic_name=topic, partitions=[parts(partition_index=0, start_offset=offset)])
    _done(admin, group, lambda: _Alter(group_id=group, topics=[start]))


def beat(admin: Admin, group: str, epoch: int) -> int:
    """Return the code that a member of the consumer protocol gets which the coordinator lacks."""
    request = ConsumerGroupHeartbeatRequest(group_id=group, member_id="b" * 22, member_epoch=epoch)

    def once(deadline: Deadline) -> int:
        control: Control = admin.groups._control
        broker = control.coordinator(group, deadline)
        return int(control.ask(broker, request, deadline, "a heartbeat").error_code)

    return admin.groups._control.retried(once)


def streams_group(admin: Admin, group: str, topic: str) -> None:
    """Make a group of the Streams protocol whose only member has left."""
    topology = _StreamsHeartbeat.Topology
    reads = topology.Subtopology(
        subtopology_id="0",
        source_topics=[topic],
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_sink_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    for epoch in (JOIN, LEAVE):
        joins = epoch == JOIN
        request = _StreamsHeartbeat(
            group_id=group,
            member_id="a" * 22,
            member_epoch=epoch,
            endpoint_information_epoch=0,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=1000 if joins else -1,
            topology=topology(epoch=0, subtopologies=[reads]) if joins else None,
            active_tasks=[] if joins else None,
            standby_tasks=[] if joins else None,
            warmup_tasks=[] if joins else None,
            process_id="p" if joins else None,
            user_endpoint=-1,  # no struct
            client_tags=[] if joins else None,
            task_offsets=None,
            task_end_offsets=None,
            shutdown_application=False,
        )
        _done(admin, group, lambda request=request: request)


def _done(admin: Admin, group: str, make: Any) -> None:
    """Ask the coordinator of a group until it has done what is asked for."""
    control: Control = admin.groups._control
    said: list[bytes] = []

    def once(deadline: Deadline) -> None:
        broker = control.coordinator(group, deadline)
        at, what = (broker.host, broker.port), "making a group"
        # The answers are not described here, so they are not decoded.
        said.append(
            control._ask_at(at, str(broker), make(), deadline, what, None, lambda _, data: data)
        )

    def done() -> bool:
        control.retried(once)
        return not any(said[-1][_ERROR])

    try:
        wait_until(done, f"{group} is there")
    except AssertionError as error:
        raise AssertionError(said[-1]) from error


def closed_streams(admin: Admin, group: str, topic: str) -> None:
    """Leave a member of Kafka Streams' classic protocol in a group, as a closed application does.

    It stays for the session timeout, 15 s here.
    """
    name = topic.encode()
    subscription = b"".join(
        (bytes(2), (1).to_bytes(4, "big"), len(name).to_bytes(2, "big"), name, b"\xff" * 4)
    )
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="stream", metadata=subscription)
    control: Control = admin.groups._control

    def join(member: str) -> Any:
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=15_000,
            rebalance_timeout_ms=6000,
            member_id=member,
            group_instance_id=None,
            protocol_type="consumer",
            protocols=[protocol],
            reason=None,
        )
        return control.retried(lambda deadline: _asked(control, group, request, deadline))

    joined = join(join("").member_id)
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocol_name="stream",
        assignments=[],
    )
    control.retried(lambda deadline: _asked(control, group, request, deadline))


def _asked(control: Control, group: str, request: Any, deadline: Deadline) -> Any:
    broker = control.coordinator(group, deadline)
    answer = control.ask(broker, request, deadline, "joining")
    if answer.error_code not in {0, _MEMBER_ID_REQUIRED}:
        raise refused(control.side, "joining", answer.error_code)
    return answer
