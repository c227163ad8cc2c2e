"""A gateway that begins after a promotion knows what became of it, whoever did it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.kafka import create_topic
from tests.support.links import Link
from towpath.cluster.connect.exchange import Versions
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Broker
from towpath.gateway.cut_table import CutVerdict, SentBatch
from towpath.gateway.leaving_clients import LeavingClients
from towpath.gateway.producer_eras import FIRST_ID, told
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.known_producers import KnownProducers
from towpath.gateway.promotion.promoter import Promoter
from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.relayed_nodes import RelayedNodes
from towpath.gateway.routes import Cluster, Routes
from towpath.gateway.write_drains import WriteDrains
from towpath.ledger.entries import (
    WHOLE_LINK,
    LastBatch,
    Promoted,
    PromotedPartition,
    PromotedTopic,
)
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.states import begun
from towpath.model.errors import ConfigProblem, UnreachableError
from towpath.model.nouns import LinkName, Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import load
from towpath.wire import plain

pytestmark = pytest.mark.broker
KNOWN, UNKNOWN = FIRST_ID + 1, FIRST_ID + 2


class Gateway:
    """The connections, of which there are none."""

    def __init__(self) -> None:
        self.routes = Routes()
        self.targets = RelayedNodes("h", 1, {}, lambda *_: None, shift=0)
        self.nodes = RelayedNodes("h", 1, {}, lambda *_: None)
        self.drains = WriteDrains(time.monotonic)
        self.leaving = LeavingClients(self.routes, time.monotonic)

    def wake(self) -> None:
        """Nobody waits."""

    def show_target(self) -> tuple[ConfigProblem, ...]:
        return ()

    def learn_source(self, brokers: Iterable[Broker], versions: Versions) -> None:
        """The source is never away."""


@pytest.fixture
def link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[OpenLink]:
    file = Link(tmp_path, source, target, new_name("resumes"), timeout="10s").file
    with open_link(load(file)) as found:
        found.prepare()
        yield found


def record(link: OpenLink, topic: TopicName, at: int) -> Promoted:
    there, mirror = link.source.topics.find(topic), link.target.topics.find(topic)
    assert there is not None
    assert mirror is not None
    last = [LastBatch(id=each, epoch=0, sequence=9) for each in (KNOWN, UNKNOWN)]
    partition = PromotedPartition(partition=0, end=0, producers=tuple(last))
    promoted = PromotedTopic(
        topic=topic, source_id=there.id, target_id=mirror.id, partitions=(partition,)
    )
    return Promoted(link=link.name, name=topic, topics=(promoted,), groups=("g",), at=at)


def write(link: OpenLink, topic: TopicName, producer: int, sequence: int) -> None:
    batch = plain.encode(
        [plain.Record(b"k", b"v", (), 1)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=sequence,
    )
    with Client(link.config.target, Side.TARGET, link.target) as client:
        client.produce(TopicPartition(topic, 0), batch)


def verdict(gateway: Gateway, topic: str, producer: int, sequence: int) -> CutVerdict:
    return gateway.routes.table.judge((topic, 0), SentBatch(producer, 0, sequence, 1))


def test_a_gateway_that_begins_asks_what_the_target_knows(link: OpenLink) -> None:
    topic = TopicName(f"{link.name}.moved")
    for cluster in (link.config.source, link.config.target):
        create_topic(",".join(cluster.bootstrap), topic, 1)
    book, gateway = GatewayBook(link), Gateway()
    book.begin()
    book.promote(record(link, topic, at=1 << 60))
    write(link, topic, KNOWN, 10)
    promoter = Promoter(PromotionResources(link, book, gateway))
    assert promoter.is_behind
    assert promoter.resume() == []
    assert not promoter.is_behind
    routes = gateway.routes
    assert routes.topics == {topic}
    assert routes.moves("g")
    leader = routes.leader(topic, 0)
    assert leader is not None
    assert leader.cluster is Cluster.TARGET
    assert verdict(gateway, topic, KNOWN, 9) is CutVerdict.REPEAT
    assert verdict(gateway, topic, KNOWN, 15) is CutVerdict.SEND, "the target judges it"
    assert verdict(gateway, topic, UNKNOWN, 10) is CutVerdict.FIRST
    assert verdict(gateway, topic, UNKNOWN, 15) is CutVerdict.EARLY

    write(link, topic, UNKNOWN, 10)  # through another gateway
    routes.early.add((topic, 0))
    promoter.refresh()
    assert verdict(gateway, topic, UNKNOWN, 15) is CutVerdict.SEND
    assert routes.early == set()
    book.end()


def test_what_both_clusters_forgot_is_forgotten(link: OpenLink) -> None:
    topic = TopicName(f"{link.name}.old")
    for cluster in (link.config.source, link.config.target):
        create_topic(",".join(cluster.bootstrap), topic, 1)
    book, gateway = GatewayBook(link), Gateway()
    book.begin()
    book.promote(record(link, topic, at=1))
    promoter = Promoter(PromotionResources(link, book, gateway))
    assert promoter.resume() == []
    assert verdict(gateway, topic, UNKNOWN, 500) is CutVerdict.SEND
    book.end()


def test_records_that_come_to_the_source_afterwards_are_named_once(link: OpenLink) -> None:
    topic = TopicName(f"{link.name}.stray")
    for cluster in (link.config.source, link.config.target):
        create_topic(",".join(cluster.bootstrap), topic, 1)
    book, gateway = GatewayBook(link), Gateway()
    book.begin()
    book.promote(record(link, topic, at=1 << 60))
    promoter = Promoter(PromotionResources(link, book, gateway))
    promoter.resume()
    batch = plain.encode([plain.Record(b"k", b"v", (), 1)])
    with Client(link.config.source, Side.SOURCE, link.source) as client:
        client.produce(TopicPartition(topic, 0), batch)
    (why,) = promoter.refresh()
    assert why.code is ReasonCode.PROMOTE_STRAY
    assert strays_now(promoter) == []
    reversed_state = replace(begun(link.name, WHOLE_LINK).entry, state="reversed", back="b")
    link.books.take(reversed_state)
    with Client(link.config.source, Side.SOURCE, link.source) as client:
        client.produce(TopicPartition(topic, 0), batch)
    assert strays_now(promoter) == [], "the link back copies to it"
    book.end()


def strays_now(promoter: Promoter) -> list[Reason]:
    promoter._strays.looked = -1e9
    return promoter.refresh()


def test_a_gateway_that_begins_knows_what_went_back(link: OpenLink) -> None:
    """The source serves the topic again, under ids of its second era, and judges what it knows."""
    topic = TopicName(f"{link.name}.back")
    for cluster in (link.config.source, link.config.target):
        create_topic(",".join(cluster.bootstrap), topic, 1)
    book, gateway = GatewayBook(link), Gateway()
    book.begin()
    there = record(link, topic, at=1 << 60)
    book.promote(there)
    book.promote(replace(there, name="back", back=True, at=there.at + 1, stay=("stays",)))
    assert book.eras[topic] == 1
    first = plain.encode(
        [plain.Record(b"k", b"v", (), 1)],
        producer_id=told(KNOWN, 1),
        producer_epoch=0,
        base_sequence=10,
    )
    with Client(link.config.source, Side.SOURCE, link.source) as client:
        client.produce(TopicPartition(topic, 0), first)
    promoter = Promoter(PromotionResources(link, book, gateway))
    assert promoter.resume() == []
    routes = gateway.routes
    assert (routes.topics, routes.eras) == (set(), {topic: 1})
    assert not routes.moves("g")
    assert routes.moves("stays")
    assert verdict(gateway, topic, KNOWN, 15) is CutVerdict.SEND, "the source judges it"
    assert verdict(gateway, topic, UNKNOWN, 10) is CutVerdict.FIRST
    assert verdict(gateway, topic, UNKNOWN, 9) is CutVerdict.REPEAT
    batch = plain.encode([plain.Record(b"k", b"v", (), 1)])
    with Client(link.config.target, Side.TARGET, link.target) as client:
        client.produce(TopicPartition(topic, 0), batch)
    (why,) = promoter.refresh()
    assert (why.code, dict(why.values)["side"]) == (ReasonCode.PROMOTE_STRAY, "target")
    assert strays_now(promoter) == []
    another = GatewayBook(replace(link, name=LinkName(f"{link.name}-2")))
    another.begin()
    assert [*another.promoted] == [topic, "back"], "the next link goes on where this one ended"
    assert [each.name for each in another.others()] == [book.name], "its clients may be the same"
    another.end()
    elsewhere = link.config.topics.model_copy(update={"include": ("elsewhere.*",)})
    config = link.config.model_copy(update={"topics": elsewhere})
    stranger = GatewayBook(replace(link, name=LinkName(f"{link.name}-3"), config=config))
    stranger.begin()
    assert (stranger.promoted, stranger.others()) == ({}, []), "a link of other topics is alone"
    assert book.name in {each.name for each in stranger.beside()}, "clients may be at the wrong one"
    assert book.name not in {each.name for each in book.beside()}
    stranger.signs[book.name] = replace(stranger.signs[book.name], over=True)
    assert book.name not in {each.name for each in stranger.beside()}
    assert stranger.company() == [], "that it ended lately is no matter of other links"
    stranger.end()
    book.end()


def test_a_source_that_does_not_answer_is_away_once_something_is_promoted(link: OpenLink) -> None:
    topic = TopicName(f"{link.name}.alone")
    for cluster in (link.config.source, link.config.target):
        create_topic(",".join(cluster.bootstrap), topic, 1)
    gone = link.config.source.model_copy(update={"bootstrap": ("127.0.0.1:1",)})
    with open_link(link.config.model_copy(update={"source": gone})) as alone:
        book, gateway = GatewayBook(alone), Gateway()
        promoter = Promoter(PromotionResources(alone, book, gateway))
        book.begin()
        promoter.pulse()
        assert not gateway.routes.source_away, "nothing can be served without it"
        book.promote(record(link, topic, at=1 << 60))
        promoter.pulse()
        assert gateway.routes.source_away
        (unknown,) = promoter.resume()
        assert unknown.code is ReasonCode.PROMOTE_CONFIGS, "the source may have changed them"
        assert gateway.routes.topics == {topic}
        assert not gateway.routes.is_whole, "nobody knows which groups it has"
        book.end()


def test_clients_may_leave_whatever_is_wrong_with_the_source(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaves = "{listen: '127.0.0.1:1', after: leave}"
    made = Link(tmp_path, source, target, new_name("leaves"), gateway=leaves, timeout="10s")
    topic = TopicName(create_topic(source.bootstrap, f"{made.name}.moved"))
    create_topic(target.bootstrap, topic)
    with open_link(load(made.file)) as link:
        link.prepare()
        book, gateway = GatewayBook(link), Gateway()
        book.begin()
        book.promote(record(link, topic, at=1 << 60))
        promoter = Promoter(PromotionResources(link, book, gateway))
        promoter.resume()

        def away(*_: object, **__: object) -> None:
            raise UnreachableError("source", "asking", "no answer")

        monkeypatch.setattr(KnownProducers, "ask", away)
        with pytest.raises(UnreachableError):
            promoter.refresh()
        assert gateway.leaving.is_open
        book.end()
