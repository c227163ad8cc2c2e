"""No answer that reaches a client tells of one cluster alone: whatever it asks, in each version.

Every request that the gateway offers is asked in each version, of a real broker behind it. Answers
are searched as bytes and field by field.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient
from kafka.protocol.metadata import ApiVersionsResponse

from tests.support.clients.promoted_routes import framed, produce
from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import Record, create_topic, wait_until
from tests.support.kafka import produce as fill
from tests.support.messages.asking import version_question
from tests.support.messages.kinds import kinds
from tests.support.program import Program
from towpath.dev import ports
from towpath.gateway.apis import Api
from towpath.gateway.relayed_nodes import SHIFT

pytestmark = pytest.mark.broker
NODES = {
    "node_id", "broker_id", "leader_id", "leader", "controller_id", "replica_nodes", "isr_nodes",
    "offline_replicas", "preferred_read_replica",
}  # fmt: skip
EPOCHS = {"leader_epoch", "committed_leader_epoch"}
ALLOWED = {
    "a broker's own configs": (Api.DESCRIBE_CONFIGS, "broker"),
}
"""What may tell of the source, and where docs/gateway.md says so."""


HINTED, NOT_LEADER = {Api.PRODUCE, Api.FETCH}, b"\x00\x06"
"""Requests whose answers may name the leader of a partition, and the code with which they do."""
REQUESTS, RESPONSES = kinds("Request"), kinds("Response")


@dataclass(frozen=True)
class Behind:
    """A gateway, and what must not be seen through it."""

    topic: str
    topic_id: UUID
    group: str
    source: SharedCluster
    shown: tuple[int, ...]
    ids: frozenset[int]
    cluster_id: str

    def ask(self, frame: bytes, port: int = 0) -> bytes:
        """Return the frame of an answer, "" where the connection ends."""
        with socket.create_connection(("127.0.0.1", port or self.shown[1]), 30) as connection:
            connection.sendall(frame)
            head = _read(connection, 4)
            return head + _read(connection, struct.unpack(">i", head)[0]) if head else b""


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        if not piece:
            return b""
        found += piece
    return found


OTHERS = ("oldest", "three")
"""Fixtures of clusters that only a soak asks: one of Kafka 3.9, and one of three brokers."""


@pytest.fixture(params=["source", *(pytest.param(each, marks=pytest.mark.soak) for each in OTHERS)])
def behind(
    request: pytest.FixtureRequest,
    target: SharedCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> Iterator[Behind]:
    of: SharedCluster = request.getfixturevalue(request.param)
    name = new_name("shown")
    topic = create_topic(of.bootstrap, f"{name}.t", replication=1)  # so that one broker leads alone
    fill(of.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(3)])
    seen = AdminClient({"bootstrap.servers": of.bootstrap}).list_topics(timeout=30)
    numbers = ports.reserve(1 + len(seen.brokers))
    nodes = dict(zip(seen.brokers, numbers[1:], strict=True))
    text = ", ".join(f"{number}: '127.0.0.1:{port}'" for number, port in nodes.items())
    file = tmp_path / "link.yaml"
    file.write_text(
        f"source: {{bootstrap: '{of.bootstrap}'}}\ntarget: {{bootstrap: '{target.bootstrap}'}}\n"
        f"link: {name}\ntopics: {{include: ['{name}.*']}}\n"
        f"gateway: {{listen: '127.0.0.1:{numbers[0]}', nodes: {{{text}}}}}\n"
    )
    program = Program(tmp_path, "gateway", str(file), name="gateway")
    try:
        wait_until(
            lambda: "listening on" in program.said, lambda: f"it listens: {program.said}", 60
        )
        ident = _topic_id(of.bootstrap, topic)
        yield Behind(
            topic, ident, new_name("g"), of, tuple(numbers), frozenset(nodes),
            str(seen.cluster_id),
        )  # fmt: skip
    finally:
        program.stop()
        assert program.wait() == 0, program.said


def _topic_id(bootstrap: str, topic: str) -> UUID:
    topics = AdminClient({"bootstrap.servers": bootstrap}).describe_topics

    found = topics(TopicCollection([topic]))[topic].result(30).topic_id
    high, low = found.get_most_significant_bits(), found.get_least_significant_bits()
    return UUID(int=((high & (1 << 64) - 1) << 64) | (low & (1 << 64) - 1))


def test_no_answer_tells_of_the_source(behind: Behind) -> None:
    offered = ApiVersionsResponse.decode(
        memoryview(behind.ask(version_question(3, 1)))[4:], version=3, header=True
    )
    counted, silent, elsewhere = 0, set[str](), set[tuple[int, int]]()
    for each in offered.api_keys:
        for version in range(each.min_version, each.max_version + 1):
            for name, asked in _asked(each.api_key, version, behind):
                # One that does not lead the topic would tell where its leader is.
                for port in behind.shown[1:] if each.api_key in HINTED else behind.shown[1:2]:
                    answer = behind.ask(bytes(framed(asked, version)), port)
                    assert answer, f"{name} of version {version} is answered"
                    counted += 1
                    if NOT_LEADER in answer:
                        elsewhere.add((each.api_key, version))
                    if (each.api_key, name) not in ALLOWED.values():
                        about = f"{name} of version {version}"
                        _judge(about, answer, each.api_key, version, behind)
    if len(behind.ids) > 1:
        assert {(Api.PRODUCE, 9), (Api.FETCH, 15)} <= elsewhere, "a broker named another one"
    print(f"{counted} answers were searched")  # noqa: T201
    assert silent == set()
    assert counted > 150


def _judge(about: str, answer: bytes, key: int, version: int, behind: Behind) -> None:
    assert behind.cluster_id.encode() not in answer, about
    for address in behind.source.addresses:
        host, port = address.rsplit(":", 1)
        assert address.encode() not in answer, about
        bare = host.encode() + struct.pack(">i", int(port))
        assert bare not in answer, about
    kind = RESPONSES[key]
    if version > kind().max_version:
        return
    found = kind.decode(memoryview(answer)[4:], version=version, header=True)
    for name, value in _fields(found, version):
        for each in value if isinstance(value, list) else [value]:
            if name in NODES and isinstance(each, int):
                assert each == -1 or each - SHIFT in behind.ids, f"{about}: {name} is {each}"
            if name in EPOCHS and isinstance(each, int):
                assert each == -1, f"{about}: {name} is {each}"
            if name == "port" and isinstance(each, int):
                assert each == -1 or each in behind.shown, f"{about}: {name} is {each}"


def _fields(message: Any, version: int) -> Iterator[tuple[str, Any]]:
    """Yield all fields of a message, and of those in it."""
    if isinstance(message, list | tuple):
        for each in message:
            yield from _fields(each, version)
        return
    fields = getattr(type(message), "fields", None)
    for name, field in fields.items() if isinstance(fields, dict) else ():
        if not field.for_version_q(version):
            continue
        value = getattr(message, name, None)
        yield name, value
        yield from _fields(value, version)


def _asked(key: int, version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    """Yield requests of a kind that a broker has something to say to, with a name for each."""
    kind = REQUESTS[key]
    if version > kind().max_version:
        return
    found = _MADE.get(key)
    if found is None:
        yield kind.__name__, kind()
        return
    yield from found(version, behind)


def _produce(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    if version < 3:  # offered for the sake of old clients, and taken by brokers before 4.0 alone
        return
    yield "produce", produce([behind.topic], -1)


def _fetch(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    topic = REQUESTS[1].FetchTopic
    named = {"topic_id": behind.topic_id} if version >= 13 else {"topic": behind.topic}
    partition = topic.FetchPartition(
        partition=0, fetch_offset=0, partition_max_bytes=1 << 20, current_leader_epoch=-1,
        last_fetched_epoch=-1, log_start_offset=-1,
    )  # fmt: skip
    yield "fetch", REQUESTS[1](
        cluster_id=None, replica_id=-1, max_wait_ms=1, min_bytes=1, max_bytes=1 << 20,
        isolation_level=0, session_id=0, session_epoch=-1,
        topics=[topic(partitions=[partition], **named)], forgotten_topics_data=[], rack_id="",
    )  # fmt: skip


def _list(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    del version
    topic = REQUESTS[2].ListOffsetsTopic
    for time in (-1, -2):
        each = topic.ListOffsetsPartition(
            partition_index=0, current_leader_epoch=-1, timestamp=time, max_num_offsets=1
        )
        yield (
            "offsets",
            REQUESTS[2](
                replica_id=-1,
                isolation_level=0,
                topics=[topic(name=behind.topic, partitions=[each])],
            ),
        )


def _metadata(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    topic = REQUESTS[3].MetadataRequestTopic
    named = [topic(name=behind.topic, topic_id=UUID(int=0))]
    for topics in (named, None if version else []):
        yield "metadata", REQUESTS[3](topics=topics, allow_auto_topic_creation=False)


def _coordinator(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    for key_type in (0, 1) if version else (0,):
        yield (
            "coordinator",
            REQUESTS[10](key=behind.group, key_type=key_type, coordinator_keys=[behind.group]),
        )


def _configs(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    del version
    kind = REQUESTS[32].DescribeConfigsResource
    broker = str(min(behind.ids) + SHIFT)
    for name, number, of in (("broker", 4, broker), ("topic configs", 2, behind.topic)):
        yield (
            name,
            REQUESTS[32](
                resources=[kind(resource_type=number, resource_name=of, configuration_keys=None)]
            ),
        )


def _committed(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    topic = REQUESTS[8].OffsetCommitRequestTopic
    each = topic.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_leader_epoch=0, committed_metadata=""
    )
    yield "commit", REQUESTS[8](
        group_id=f"{behind.group}-{version}", generation_id_or_member_epoch=-1, member_id="",
        group_instance_id=None, retention_time_ms=-1,
        topics=[topic(name=behind.topic, partitions=[each])],
    )  # fmt: skip


def _offsets(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    name = f"{behind.group}-{min(version, 9)}"
    if version >= 8:
        kind = REQUESTS[9].OffsetFetchRequestGroup
        groups = [kind(group_id=name, member_id=None, member_epoch=-1, topics=None)]
        yield "committed", REQUESTS[9](groups=groups, require_stable=False)
        return
    topic = REQUESTS[9].OffsetFetchRequestTopic
    topics = [topic(name=behind.topic, partition_indexes=[0])]
    yield "committed", REQUESTS[9](group_id=name, topics=topics, require_stable=False)


def _joined(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    kind, name = REQUESTS[11].JoinGroupRequestProtocol, behind.topic.encode()
    # It tells what it reads, or nobody could say what a group of this source has read.
    metadata = struct.pack(f">hih{len(name)}si", 0, 1, len(name), name, -1)
    yield "join", REQUESTS[11](
        group_id=f"{behind.group}-join-{version}", session_timeout_ms=6000,
        rebalance_timeout_ms=100, member_id="", group_instance_id=None, protocol_type="consumer",
        protocols=[kind(name="range", metadata=metadata)], reason=None,
    )  # fmt: skip


def _groups(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    del version
    names = [f"{behind.group}-join-4", f"{behind.group}-8"]
    yield "groups", REQUESTS[15](groups=names, include_authorized_operations=True)


def _producers(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    del version
    topic = REQUESTS[61].TopicRequest
    yield "producers", REQUESTS[61](topics=[topic(name=behind.topic, partition_indexes=[0])])


def _created(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    if not version:
        return
    topic = REQUESTS[19].CreatableTopic
    yield "create", REQUESTS[19](
        topics=[topic(name=f"{behind.topic}-{version}", num_partitions=1, replication_factor=1,
                      assignments=[], configs=[])],
        timeout_ms=9000, validate_only=True,
    )  # fmt: skip


def _beat(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    yield "beat", REQUESTS[68](
        group_id=f"{behind.group}-beat-{version}", member_id="m", member_epoch=0, instance_id=None,
        rack_id=None, rebalance_timeout_ms=1000, subscribed_topic_names=[behind.topic],
        subscribed_topic_regex=None, server_assignor=None, topic_partitions=[],
    )  # fmt: skip


def _acls(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    del version, behind
    yield "acls", REQUESTS[29](
        resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
        principal_filter=None, host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip


def _nothing(version: int, behind: Behind) -> Iterator[tuple[str, Any]]:
    """A login on a listener that asks for none ends the connection, as without a gateway."""
    del version, behind
    yield from ()


_MADE: dict[int, Callable[[int, Behind], Iterator[tuple[str, Any]]]] = {
    0: _produce, 1: _fetch, 2: _list, 3: _metadata, 8: _committed, 9: _offsets, 10: _coordinator,
    29: _acls, 11: _joined, 15: _groups, 17: _nothing, 19: _created, 32: _configs, 36: _nothing,
    61: _producers, 68: _beat,
}  # fmt: skip
