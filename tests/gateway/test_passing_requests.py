"""Requests and answers that pass a gateway are what they are where each is looked into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from tests.support.clients.promoted_routes import LEADER, PRODUCER, promoted
from tests.support.clients.wires import NoBroker, Seen, receive
from tests.support.clients.wires import Wire as BrokerWire
from tests.support.messages.asking import version_question
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.apis import Api
from towpath.gateway.broker_connections import BrokerConnection
from towpath.gateway.client_connection import ClientConnection
from towpath.gateway.cut_table import KNOWN
from towpath.gateway.fetch_answers import FetchChange
from towpath.gateway.frames import Frames, head
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.passing_requests import NOTHING, PassingRule, Versions, passing
from towpath.gateway.produce_parts import ProducePart
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import SOURCE, BrokerPlace, Cluster, Routes
from towpath.gateway.steering import Steering
from towpath.model.nouns import ClusterId
from towpath.wire import plain

TAKEN: dict[int, tuple[int, int]] = {
    Api.PRODUCE: (3, 9), Api.FETCH: (4, 15), Api.METADATA: (0, 13), Api.API_VERSIONS: (0, 4),
}  # fmt: skip
RECORDS = bytes(plain.encode([plain.Record(b"k", b"v" * 40, (), 1)]))
LARGEST, RULE = 1 << 20, PassingRule(Versions(3, 9))


def framed(message: Any, version: int, correlation: int, client: str | None = None) -> bytes:
    message.API_VERSION = version
    message.with_header(correlation_id=correlation, **({"client_id": client} if client else {}))
    return bytes(message.encode(header=True, framed=True))


def produced(
    version: int,
    correlation: int,
    acks: int,
    name: str | None,
    records: bytes = RECORDS,
    topics: Sequence[str] = ("t",),
) -> bytes:
    kind = ProduceRequest.TopicProduceData
    data = [kind.PartitionProduceData(index=0, records=records)]
    made = ProduceRequest(
        transactional_id=name, acks=acks, timeout_ms=1,
        topic_data=[kind(name=topic, partition_data=data) for topic in topics],
    )  # fmt: skip
    return framed(made, version, correlation, "me")


def fetched(correlation: int) -> bytes:
    made = FetchRequest(
        replica_id=-1, max_wait_ms=1, min_bytes=1, max_bytes=1, isolation_level=0, session_id=0,
        session_epoch=-1, topics=[], forgotten_topics_data=[], rack_id="",
    )  # fmt: skip
    return framed(made, 12, correlation, "me")


@st.composite
def requests(draw: st.DrawFn) -> list[bytes]:
    made = []
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["produce", "produce", "produce", "fetch", "metadata", "own"]))
        if kind == "produce":
            version, acks = draw(st.integers(3, 9)), draw(st.sampled_from([-1, 0, 1, 1]))
            made.append(produced(version, number, acks, draw(st.none() | st.text(max_size=3))))
        elif kind == "fetch":
            made.append(fetched(number))
        elif kind == "metadata":
            made.append(framed(MetadataRequest(topics=[]), 7, number, "me"))
        else:
            made.append(version_question(3, number))
    return made


def answer_to(frame: bytearray) -> bytes:
    """Return what a broker says."""
    asked = head(frame)
    answer: Any
    if asked.key == Api.PRODUCE:
        kind = ProduceResponse.TopicProduceResponse
        part = kind.PartitionProduceResponse(
            index=0, error_code=0, base_offset=asked.correlation, log_append_time_ms=-1,
            log_start_offset=0, record_errors=[], error_message=None,
        )  # fmt: skip
        made = ProduceRequest.decode(memoryview(frame)[4:], version=asked.version, header=True)
        topics = [kind(name=each.name, partition_responses=[part]) for each in made.topic_data]
        answer = ProduceResponse(responses=topics, throttle_time_ms=0)
    elif asked.key == Api.FETCH:
        topic = FetchResponse.FetchableTopicResponse
        parts = [
            topic.PartitionData(
                partition_index=number, error_code=0, high_watermark=9, last_stable_offset=9,
                log_start_offset=0, aborted_transactions=[], preferred_read_replica=3,
                records=RECORDS * number,
            )
            for number in range(3)
        ]  # fmt: skip
        answer = FetchResponse(
            throttle_time_ms=0, error_code=0, session_id=0,
            responses=[topic(topic="t", partitions=parts)],
        )  # fmt: skip
    else:
        answer = MetadataResponse(
            throttle_time_ms=0, brokers=[], cluster_id="s", controller_id=1, topics=[]
        )
    return framed(answer, asked.version, asked.correlation)


class ClientWire(BrokerWire):
    """What a client was told."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else default

    def pause_reading(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.is_over = True


class Looking(Steering):
    """Looks into each request."""

    def passing(self, client: object) -> PassingRule:
        del client
        return NOTHING


class Gateway:
    """A gateway with one client and one broker.

    Args:
        kind: What routes requests.
        of: What is held.
        home: The broker of its client.
    """

    def __init__(
        self,
        kind: type[Steering] = Steering,
        of: Routes | None = None,
        home: BrokerPlace = SOURCE,
    ) -> None:
        self.routes = of or Routes()
        nodes = RelayedNodes("h", 1, {}, lambda *_: None)
        answers = dict.fromkeys(Cluster, AnswerChanges(nodes, ClusterId("c")))
        leaving = LeavingClients(self.routes, lambda: 0.0)
        self.steers = steers = kind(OwnAnswers(TAKEN), answers, self.routes, lambda: None, leaving)
        self.wire, self.broker = ClientWire(), BrokerWire()
        self.leg: BrokerConnection | None = None
        self.seen = Seen()
        self.client = ClientConnection(home, self._connect, steers, self.seen)
        self.client.connection_made(self.wire)
        self._answered = 0

    def _connect(self, client: ClientConnection, _: BrokerPlace) -> BrokerConnection:
        self.leg = leg = BrokerConnection(client, NoBroker())
        leg.connection_made(self.broker)
        return leg

    def answer(self, cuts: Sequence[int]) -> None:
        """Let the broker answer what came, in pieces."""
        frames = Frames(10).cut(self.broker.written)
        said = b"".join(map(answer_to, frames[self._answered :]))
        self._answered = len(frames)
        begin = 0
        for end in [*sorted(each % (len(said) + 1) for each in cuts), len(said)]:
            if self.leg is not None and end > begin:
                receive(self.leg, said[begin:end])
            begin = end


def play(gateway: Gateway, pieces: Sequence[bytes], cuts: Sequence[int]) -> None:
    for piece in pieces:
        gateway.client.data_received(piece)
        gateway.answer(cuts)


@given(requests(), st.lists(st.integers(0, 10_000), max_size=6), st.data())
def test_what_passes_is_what_is_looked_into(
    made: list[bytes], cuts: list[int], data: st.DataObject
) -> None:
    sent = b"".join(made)
    at = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=6)))
    pieces = [
        piece
        for begin, end in zip([0, *at], [*at, len(sent)], strict=True)
        if (piece := sent[begin:end])
    ]
    passes, looks = Gateway(), Gateway(Looking)
    with pytest.MonkeyPatch.context() as patch:
        play(passes, pieces, cuts)
        patch.setattr(FetchChange, "begin", lambda *_: None)
        play(looks, pieces, cuts)
    assert passes.broker.written == looks.broker.written
    assert passes.wire.written == looks.wire.written
    assert (passes.seen.counts, passes.wire.is_over) == (looks.seen.counts, False)


@st.composite
def written(draw: st.DrawFn) -> list[bytes]:
    """Requests of producers of a topic that was promoted, of which one was there before."""
    made, sequences = [], {PRODUCER: 10}
    for number in range(draw(st.integers(1, 10))):
        who = draw(st.sampled_from([PRODUCER, PRODUCER, PRODUCER + 1, 5, -1]))
        sequence = sequences.get(who, 0)
        records = plain.encode(
            [plain.Record(b"k", b"v", (), 1)] * 2,
            producer_id=who,
            producer_epoch=0 if who >= 0 else -1,
            base_sequence=sequence if who >= 0 else -1,
        )
        repeats = draw(st.integers(1, 2))
        sequences[who] = sequence + 2
        topics = draw(st.sampled_from([["moved"], ["moved"], ["moved", "t"], ["t"]]))
        version = draw(st.integers(3, 9))
        each = produced(version, number, draw(st.sampled_from([-1, 1])), None, bytes(records),
                        topics)  # fmt: skip
        made += [each] * repeats
    return made


@given(written(), st.booleans(), st.data())
def test_what_passes_behind_a_promotion_is_what_is_looked_into(
    made: list[bytes], target: bool, data: st.DataObject
) -> None:
    home = LEADER if target else SOURCE
    passes = Gateway(of=promoted(), home=home)
    looks = Gateway(Looking, promoted(), home)
    at = 0
    while at < len(made):
        end = data.draw(st.integers(at + 1, len(made)))
        play(passes, [b"".join(made[at:end])], ())
        play(looks, [b"".join(made[at:end])], ())
        at = end
    assert passes.broker.written == looks.broker.written
    assert passes.wire.written == looks.wire.written
    assert passes.seen.counts == looks.seen.counts


def test_a_producer_that_the_target_knows_passes_behind_a_promotion() -> None:
    gateway = Gateway(of=promoted(), home=LEADER)
    passed: list[int] = []
    for number in range(10):
        records = plain.encode(
            [plain.Record(b"k", b"v", (), 1)],
            producer_id=PRODUCER, producer_epoch=0, base_sequence=10 + number,
        )  # fmt: skip
        each = produced(9, number, 1, None, bytes(records), ["moved"])
        rule = gateway.steers.passing(gateway.client)
        passed += [len([*passing(memoryview(each), rule, LARGEST)])]
        play(gateway, [each], ())
    assert passed == [0] * KNOWN + [1] * (10 - KNOWN)


@pytest.mark.parametrize(
    ("part", "passes"),
    [
        (ProducePart("moved", 0, PRODUCER + 1, transactional=False), True),
        (ProducePart("moved", 0, -1, transactional=False), True),
        (ProducePart("moved", 0, PRODUCER, transactional=False), False),
        (ProducePart("moved", 1, PRODUCER, transactional=False), True),
        (ProducePart("moved", 0, PRODUCER + 1, transactional=True), False),
        (ProducePart("moved", 0, 5, transactional=False), False),
        (ProducePart("t", 0, PRODUCER + 1, transactional=False), False),
    ],
)
def test_a_batch_passes_to_the_target_if_nothing_of_it_is_changed_or_judged(
    part: ProducePart, *, passes: bool
) -> None:
    gateway = Gateway(of=promoted(), home=LEADER)
    rule = gateway.steers.passing(gateway.client)
    assert rule.part is not None
    assert rule.part(part) is passes


def test_requests_that_came_at_once_go_on_at_once() -> None:
    gateway, each = Gateway(), produced(9, 1, 1, None)
    gateway.client.data_received(each)
    wrote = gateway.broker.written
    writes: list[int] = []
    gateway.broker.write = lambda data: writes.append(len(data))  # type: ignore[method-assign]
    gateway.client.data_received(each * 3 + each[:20])
    assert (wrote, writes) == (each, [3 * len(each)])
    gateway.client.data_received(each[20:])
    assert writes == [3 * len(each), len(each)]


def test_half_a_request_waits_where_a_promotion_can_hold_it() -> None:
    gateway, each = Gateway(), produced(9, 1, 1, None)
    gateway.client.data_received(each + each[:40])
    gateway.routes.held = frozenset({"t"})
    gateway.client.data_received(each[40:] + each)
    assert gateway.broker.written == each
    gateway.routes.held = frozenset()
    gateway.client.go_on()
    assert gateway.broker.written == each * 3


def test_an_answer_to_fetch_passes_before_all_of_it_is_there() -> None:
    gateway = Gateway()
    gateway.client.data_received(fetched(1))
    said = answer_to(bytearray(fetched(1)))
    assert gateway.leg is not None
    receive(gateway.leg, said[:-1])
    before = len(gateway.wire.written)
    assert before > len(said) / 2
    receive(gateway.leg, said[-1:])
    assert len(gateway.wire.written) == len(said)
    assert gateway.seen.counts.answers == 1


def test_a_client_hears_no_more_of_an_answer_that_breaks_off() -> None:
    """It would take what comes next for the rest of it."""
    gateway = Gateway()
    gateway.client.data_received(fetched(1) + fetched(2))
    said = answer_to(bytearray(fetched(1)))
    assert gateway.leg is not None
    receive(gateway.leg, said[:-1])
    gateway.leg.connection_lost(None)
    assert gateway.wire.is_over


def test_an_answer_to_fetch_waits_for_those_before_it() -> None:
    gateway = Gateway()
    gateway.client.data_received(fetched(1))
    gateway.client._due.appendleft(gateway.client._due[0].__class__(gateway.client._due[0].step, 1))
    said = answer_to(bytearray(fetched(1)))
    assert gateway.leg is not None
    receive(gateway.leg, said)
    assert gateway.wire.written == b""


@pytest.mark.parametrize(
    "data",
    [
        produced(9, 1, 0, None),
        produced(9, 1, 1, None)[:-1],
        version_question(3, 1),
        b"\x00\x00\x00\x05\x00\x00" + bytes(20),
        b"\xff" * 40,
    ],
    ids=["no answer", "half", "another", "too small", "none"],
)
def test_nothing_else_passes(data: bytes) -> None:
    good = produced(9, 1, 1, None)
    found = [each.end for each in passing(memoryview(good + data), RULE, LARGEST)]
    assert found == [len(good)]
