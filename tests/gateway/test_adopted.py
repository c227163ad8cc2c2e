"""What a gateway does that takes over the source's addresses: its clients still believe in that."""

from __future__ import annotations

from typing import Any

import google_crc32c
import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.producer import AddOffsetsToTxnRequest

from tests.support.clients.promoted_routes import (
    AT_SOURCE,
    KINDS,
    LEADER,
    framed,
    produce,
    promoted,
)
from towpath.cluster.metadata import Broker
from towpath.gateway.answer_changes import AnswerChanges
from towpath.gateway.config_section import gateway_section, require_adoptable
from towpath.gateway.cut_table import CutTable, CutVerdict
from towpath.gateway.fetch_requests import Positions
from towpath.gateway.frames import FrameError, head
from towpath.gateway.own_answers import OwnAnswers
from towpath.gateway.produce_requests import batches, opened, part
from towpath.gateway.producer_eras import canonical, own, stamped
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.request_steps import RequestStep
from towpath.gateway.routes import BrokerPlace, Cluster
from towpath.gateway.steering import Steering
from towpath.ledger.entries import LastBatch, PromotedPartition, PromotedTopic
from towpath.model.errors import ConfigError
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.settings import LinkConfig

SHOWN = ClusterId("the-target")
ADOPTED = 7


# Who believes in another cluster


def asking(cluster: str | None) -> bytearray:
    """Return an ApiVersions request of version 5, made by hand: the library knows 4."""
    made = ApiVersionsRequest(client_software_name="java", client_software_version="4.4.0")
    frame = framed(made, 4)
    named = b"\0" if cluster is None else bytes([len(cluster) + 1]) + cluster.encode()
    frame = frame[:-1] + named + (3).to_bytes(4, "big") + b"\0"
    frame[6:8] = (5).to_bytes(2, "big")
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    return frame


def answer_to(frame: bytearray, checked: ClusterId | None = SHOWN) -> bytes:
    answer = OwnAnswers({**KINDS, 18: (0, 4)}, checked).answer(frame, head(frame))
    assert answer is not None
    return answer


def answered(frame: bytearray, checked: ClusterId | None = SHOWN) -> Any:
    answer = answer_to(frame, checked)
    version = 4 if checked is not None else 0
    return ApiVersionsResponse.decode(memoryview(answer)[4:], version=version, header=True)


def test_a_client_that_names_the_source_begins_anew() -> None:
    answer = answer_to(asking("the-source"))
    error, nothing = (129).to_bytes(2, "big"), b"\1"
    assert answer[8:] == error + nothing + bytes(4) + b"\0", "in the form of version 5"


@pytest.mark.parametrize("cluster", [None, SHOWN])
def test_a_client_that_names_the_cluster_it_is_shown_goes_on(cluster: str | None) -> None:
    told = answered(asking(cluster))
    assert told.error_code == 0
    assert {each.api_key: each.max_version for each in told.api_keys}[18] == 5


def test_nobody_is_checked_where_no_client_comes_from_the_source() -> None:
    told = answered(asking("the-source"), checked=None)
    assert told.error_code == 35, "it asks again in an older form"


def test_a_request_that_ends_early_is_an_error() -> None:
    frame = asking("the-source")[:-12]
    with pytest.raises(FrameError, match="ends early"):
        OwnAnswers(KINDS, SHOWN).answer(frame, head(frame))


# Brokers of the same id


class Client:
    """A connection to a broker."""

    def __init__(self, home: BrokerPlace) -> None:
        self.home, self.whole_at, self.name = home, 0, ("h", "c")
        self.positions: Positions = {}


def fetched(home: BrokerPlace, *, adopts: bool) -> RequestStep:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    asked = FetchRequest(
        max_wait_ms=1, min_bytes=1, max_bytes=1, isolation_level=0,
        topics=[topic(topic="moved", partitions=[partition])], forgotten_topics_data=[],
    )  # fmt: skip
    routes, nodes = promoted(), RelayedNodes("h", 1, {}, lambda *_: None)
    answers = dict.fromkeys(Cluster, AnswerChanges(nodes, SHOWN))
    of = Steering(OwnAnswers(KINDS), answers, routes, lambda: None, adopts=adopts)
    frame = framed(asked, 11)
    found = of.step(frame, head(frame), Client(home))
    assert found is not None
    return found


def test_a_connection_ends_behind_the_answer_that_partitions_are_elsewhere() -> None:
    """Its broker may have the id of one of the target, and Java would stay on it."""
    step = fetched(AT_SOURCE, adopts=True)
    assert step.last
    assert step.own is not None
    told = FetchResponse.decode(memoryview(step.own)[4:], version=11, header=True)
    assert told.responses[0].partitions[0].error_code == 6
    assert not fetched(AT_SOURCE, adopts=False).last
    assert not fetched(LEADER, adopts=True).last


def stepped(message: Any, version: int, *, adopts: bool) -> RequestStep:
    """Return what becomes of a request of a client that is logged in to the source."""
    routes, nodes = promoted(), RelayedNodes("h", 1, {}, lambda *_: None)
    routes.transactions.is_whole = True
    answers = dict.fromkeys(Cluster, AnswerChanges(nodes, SHOWN))
    how = OwnAnswers(KINDS), answers, routes, lambda: None
    frame = framed(message, version)
    found = Steering(*how, logins=True, adopts=adopts).step(frame, head(frame), Client(AT_SOURCE))
    assert found is not None
    return found


@pytest.mark.parametrize("adopts", [True, False])
def test_so_does_one_on_which_records_or_transactions_come_that_belong_elsewhere(
    adopts: bool,
) -> None:
    begins = AddOffsetsToTxnRequest(
        transactional_id="app", producer_id=5, producer_epoch=3, group_id="g"
    )
    for message, version in ((produce(["moved"], 10), 9), (begins, 3)):
        found = stepped(message, version, adopts=adopts)
        assert found.own is not None
        assert found.last is adopts
    assert not stepped(produce(["stays"], 0), 9, adopts=adopts).last


# Producers with ids of the source


def produced(sequence: int) -> Any:

    made = produce(["moved"], sequence)
    frame = framed(made, 9)
    return opened(frame, 9)


def table() -> CutTable:
    found = CutTable()
    partition = PromotedPartition(
        partition=0, end=10, producers=(LastBatch(id=ADOPTED, epoch=0, sequence=9),)
    )
    found.add(
        [
            PromotedTopic(
                topic=TopicName("moved"),
                source_id=TopicId("a"),
                target_id=TopicId("b"),
                partitions=(partition,),
            )
        ]
    )
    return found


def with_id(asked: Any, producer: int) -> Any:
    for topic in asked.topic_data:
        for each in topic.partition_data:
            records = bytearray(each.records)
            records[43:51] = producer.to_bytes(8, "big")
            each.records = bytes(sealed(records))
    return asked


def sealed(records: bytearray) -> bytearray:

    records[17:21] = google_crc32c.value(bytes(records[21:])).to_bytes(4, "big")
    return records


def test_what_the_source_took_of_an_adopted_producer_is_known() -> None:
    for sequence, verdict in ((9, CutVerdict.REPEAT), (10, CutVerdict.FIRST)):
        (batch,) = batches(with_id(produced(sequence), ADOPTED)).values()
        assert table().judge(("moved", 0), batch) is verdict
    (stranger,) = batches(with_id(produced(9), ADOPTED + 1)).values()
    assert table().judge(("moved", 0), stranger) is CutVerdict.SEND


@pytest.mark.parametrize("era", [0, 2])
def test_the_target_gets_another_id_of_it(era: int) -> None:
    asked = with_id(produced(10), ADOPTED)
    sent = bytearray(part(asked, [("moved", 0)], lambda _, records: stamped(records, era)))
    (topic,) = opened(sent, 9).topic_data
    records = bytes(topic.partition_data[0].records)
    there = int.from_bytes(records[43:51], "big")
    assert own(there, era) == canonical(ADOPTED) != ADOPTED
    assert bytes(sealed(bytearray(records))) == records, "the checksum is right"


# The file


def config(gateway: dict[str, Any], source: str = "inner-1:9094") -> LinkConfig:
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": source},
            "target": {"bootstrap": "new:9092"},
            "link": "l",
            "topics": {"include": ["t"]},
            "gateway": {"listen": "127.0.0.1:9099", **gateway},
        }
    )


ADOPTS: dict[str, Any] = {"adopt": True, "nodes": {1: "old-1:9092"}}


def test_adopted_addresses_are_listened_on_as_they_are() -> None:
    section = gateway_section(config(ADOPTS))
    assert section.listener_of(("old-1", 9092), of_source=True) == ("old-1", 9092)
    assert section.listener_of(("old-1", 9092), of_source=False) == ("127.0.0.1", 9092)


def test_every_broker_must_be_adopted_and_reached_elsewhere() -> None:
    section = gateway_section(config(ADOPTS))
    require_adoptable(section, [Broker(1, "inner-1", 9094)])
    with pytest.raises(ConfigError, match="does not name broker 2"):
        require_adoptable(section, [Broker(2, "inner-2", 9094)])
    with pytest.raises(ConfigError, match="the source tells old-1:9092 for broker 1"):
        require_adoptable(section, [Broker(1, "old-1", 9092)])
    with pytest.raises(ConfigError, match=r"source\.bootstrap.* names old-1:9092"):
        gateway_section(config(ADOPTS, source="old-1:9092"))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"adopt": True}, "`adopt` needs `nodes`"),
        ({**ADOPTS, "after": "leave"}, "exclude each other"),
    ],
)
def test_what_cannot_be_adopted_is_refused(section: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        config(section)
