"""A gateway whose clients read mirror topics, without connections, and records that they send."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafka.protocol.producer import ProduceRequest, ProduceResponse

from tests.support.clients.promoted_routes import KINDS, PRODUCER, framed
from tests.support.clients.steered import TargetClient
from towpath.cluster.metadata import Broker, Metadata, PartitionInfo, TopicInfo
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.fenced_members import FencedMembers
from towpath.gateway.frames import head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.mirror_reads import MirrorReads
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import BrokerPlace, Cluster, Routes
from towpath.gateway.target_steering import TargetSteering
from towpath.model.nouns import ClusterId, TopicId, TopicName, TopicPartition
from towpath.wire import plain

FIRST, SECOND = BrokerPlace(Cluster.SOURCE, 1), BrokerPlace(Cluster.SOURCE, 2)
LINKED_ID = UUID(int=9)
BEHIND = TopicPartition(TopicName("topic-a"), 0)


class Clock:
    """The time, which goes on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """A gateway of a link with the topics `topic-a`, `topic-b` and `moved`, and all groups."""

    def __init__(self, routes: Routes | None = None) -> None:
        self.clock, self.asks = Clock(), 0
        self.routes, nodes = routes or Routes(), RelayedNodes("h", 1, {}, lambda *_: None)
        brokers = {number: Broker(number, "h", 1) for number in (1, 2)}
        topics = {
            TopicName(name): TopicInfo(
                TopicName(name), TopicId(""), False, tuple(PartitionInfo(n, leader, (leader,))
                                                           for n, leader in enumerate(leaders))
            )
            for name, leaders in (("topic-a", (1,)), ("topic-b", (1, 2)), ("topic-c", (-1,)))
        }  # fmt: skip
        self.mirror = self.routes.mirror = MirrorReads(
            lambda topic: topic.startswith("topic") or topic == "moved",
            lambda group: group != "of the target",
            self.clock,
            FencedMembers(self.clock),
            ask=self._asked,
            view=Metadata(ClusterId("s"), 1, brokers, topics),
            names={LINKED_ID: "topic-a"},
        )
        answers = dict.fromkeys(Cluster, AnswerChanges(nodes, ClusterId("c")))
        leaving = LeavingClients(self.routes, self.clock)
        how = OwnAnswers(KINDS), answers, self.routes, lambda: None, leaving, self.mirror
        self.steering = TargetSteering(*how)
        self.client = TargetClient()

    def _asked(self) -> None:
        self.asks += 1

    def step(self, message: Any, version: int) -> RequestStep | None:
        frame = framed(message, version)
        return self.steering.step(frame, head(frame), self.client)

    def answered(self, message: Any, version: int) -> bytes:
        """Return what the gateway itself answers."""
        found = self.step(message, version)
        assert found is not None
        assert found.own is not None
        return found.own


def batch(producer: int, sequence: int) -> bytes:
    return bytes(
        plain.encode(
            [plain.Record(b"k", b"v", (), 1)],
            producer_id=PRODUCER + producer,
            producer_epoch=0,
            base_sequence=sequence,
        )
    )


def produce(*parts: tuple[str, int, bytes], acks: int = -1) -> Any:
    kind = ProduceRequest.TopicProduceData
    return ProduceRequest(
        transactional_id=None,
        acks=acks,
        timeout_ms=1,
        topic_data=[
            kind(name=topic, partition_data=[kind.PartitionProduceData(index=n, records=records)])
            for topic, n, records in parts
        ],
    )


def parts_of(frame: bytes | bytearray) -> list[tuple[str, int, bytes]]:
    asked = ProduceRequest.decode(memoryview(frame)[4:], version=9, header=True)
    return [
        (topic.name, each.index, bytes(each.records))
        for topic in asked.topic_data
        for each in topic.partition_data
    ]


def produced(*codes: tuple[str, int, int]) -> bytearray:
    kind = ProduceResponse.TopicProduceResponse
    answer = ProduceResponse(
        responses=[
            kind(
                name=topic,
                partition_responses=[
                    kind.PartitionProduceResponse(
                        index=n,
                        error_code=code,
                        base_offset=5,
                        log_append_time_ms=-1,
                        log_start_offset=0,
                        record_errors=[],
                        error_message=None,
                    )
                ],
            )
            for topic, n, code in codes
        ],
        throttle_time_ms=0,
    )
    return framed(answer, 9)


def codes(frame: bytes | bytearray | None) -> dict[tuple[str, int], int]:
    assert frame is not None
    answer = ProduceResponse.decode(memoryview(frame)[4:], version=9, header=True)
    return {(t.name, each.index): each.error_code
            for t in answer.responses for each in t.partition_responses}  # fmt: skip
