"""Salvage on real brokers: what one cluster alone has is copied, counted and replayed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.copying.quarantine import begin
from tests.support.failback import cut
from tests.support.kafka import Record, consume, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.ledger.entries import Salvaged
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import read_begun, signature
from towpath.mirror.errors import SalvageDiffersError
from towpath.mirror.failback.clusters import BothClusters, both_clusters
from towpath.mirror.failback.divergence import Divergence
from towpath.mirror.failback.divergence_search import look
from towpath.mirror.failback.salvage.format import ORIGIN
from towpath.mirror.failback.salvage.replay import SalvageReplay, salvaged_partitions
from towpath.mirror.failback.salvage.replay import look as look_at_salvage
from towpath.mirror.failback.salvage.salvage import Rescue, Salvage
from towpath.mirror.failback.salvage.unfinished import unfinished
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime.clock import now_ms

NewName = Callable[[str], str]
pytestmark = pytest.mark.broker


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    """Return a link that has copied ten records, and was cut."""
    made = Mirror(tmp_path, source, target, new_name("salvage"))
    made.create(2)
    both = [Record(b"k", b"both %d" % n, timestamp=1000 + n, partition=n % 2) for n in range(10)]
    produce(source.bootstrap, made.topic, both)
    begin(made)
    cut(made, 2)
    return made


@contextmanager
def opened(mirror: Mirror) -> Iterator[tuple[OpenLink, BothClusters]]:
    with open_link(mirror.config) as link, both_clusters(link) as clusters:
        read_begun(link)
        yield link, clusters


def looked(mirror: Mirror) -> tuple[Divergence, ...]:
    with opened(mirror) as (link, clusters):
        found = look(clusters, link.books, link.ledger)
        assert not found.problems
        return found.partitions


def odd_records(bootstrap: str, topic: str) -> None:
    """Write what is hard to keep: nulls, headers of our names, an aborted transaction."""
    produce(
        bootstrap,
        topic,
        [
            Record(None, b"tail 1", (("h", None), ("towpath.salvage.offset", b"9")), 77),
            Record(b"", None, (), 78),
            Record(b"k", b"x" * 5000, (), 79),
        ],
    )
    aborting = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-aborted"})
    aborting.init_transactions(30)
    aborting.begin_transaction()
    aborting.produce(topic, b"aborted", partition=0)
    assert aborting.flush(30) == 0
    aborting.abort_transaction(30)
    last = [Record(b"k", b"tail last", (), 80)]
    produce(bootstrap, topic, last, {"transactional.id": f"{topic}-committed"})


def rescues(mirror: Mirror, side: Side) -> list[Rescue]:
    opened_ = mirror.books(0).opened
    assert opened_ is not None
    number = opened_.source_topic_id if side is Side.SOURCE else opened_.target_topic_id
    other = Side.TARGET if side is Side.SOURCE else Side.SOURCE
    return [
        Rescue(each.own(side), number, 2, each.own(other).place)
        for each in looked(mirror)
        if each.is_conflict
    ]


def noted(mirror: Mirror, rescue: Rescue, records: int) -> None:
    known = mirror.books(rescue.own.place.partition)
    assert known.opened is not None
    mirror.note(
        Salvaged(
            link=mirror.config.link,
            topic=known.opened.topic,
            partition=known.opened.partition,
            producer_id=known.opened.producer_id,
            side=rescue.own.side,
            first=rescue.own.first,
            end=rescue.own.end,
            records=records,
            deleted=0,
            salvage_topic=rescue.place.topic,
            at=now_ms(),
        )
    )


def save(mirror: Mirror, some: list[Rescue], **more: object) -> dict[TopicPartition, int]:
    with opened(mirror) as (link, clusters):
        return Salvage(link.name, clusters, some[0].own.side, **more).save(some)  # type: ignore[arg-type]


def replay(mirror: Mirror) -> list[int]:
    with opened(mirror) as (link, clusters):
        known = salvaged_partitions(link.books)
        done = SalvageReplay(link.name, clusters, signature).replay(known)
        assert not any(each.trouble or each.missing or each.foreign for each in done)
        assert [each.left for each in look_at_salvage(clusters, known)] == [0] * len(known)
        return [each.replayed for each in done]


def test_what_the_source_alone_has_is_salvaged_and_replayed_once(mirror: Mirror) -> None:
    source, target, topic = mirror.source.bootstrap, mirror.target.bootstrap, mirror.topic
    assert not any(each.source.any or each.target.any for each in looked(mirror))
    odd_records(source, topic)
    assert not any(each.is_conflict for each in looked(mirror))
    produce(target, topic, [Record(b"k", b"client")])
    one, other = looked(mirror)
    assert (one.source.records, one.target.records) == (4, 1)
    assert one.undecided
    assert not other.is_conflict
    [rescue] = rescues(mirror, Side.SOURCE)
    tail = [each for each in consume(source, topic) if each.offset >= 5]
    assert save(mirror, [rescue]) == {rescue.own.place: 4}
    assert save(mirror, [rescue]) == {rescue.own.place: 4}
    noted(mirror, rescue, 4)
    held = consume(target, f"{topic}.salvage", (0, 1))
    assert [(each.key, each.value, each.timestamp) for each in held] == [
        (each.key, each.value, each.timestamp) for each in tail
    ]
    names = tuple(name.decode() for name in ORIGIN)
    for now, before in zip(held, tail, strict=True):
        assert now.headers[6:] == before.headers
        told = dict(now.headers[:6])
        assert tuple(told) == names
        assert (told[names[1]], told[names[4]]) == (topic.encode(), b"%d" % before.offset)
    assert replay(mirror) == [4]
    assert replay(mirror) == [4]
    after = consume(target, topic)
    assert [each.value for each in after[5:]] == [b"client", *(each.value for each in tail)]
    assert [each.headers[6:] for each in after[6:]] == [each.headers for each in tail]
    # A further record of the source is salvaged behind the others, and replayed alone.
    produce(source, topic, [Record(b"k", b"late")])
    [rescue] = rescues(mirror, Side.SOURCE)
    assert save(mirror, [rescue]) == {rescue.own.place: 5}
    noted(mirror, rescue, 5)
    assert replay(mirror) == [5]
    assert consume(target, topic)[-1].value == b"late"


def test_a_salvage_that_was_begun_by_another_answer_is_named(mirror: Mirror) -> None:
    for cluster, word in ((mirror.source, b"tail"), (mirror.target, b"client")):
        produce(cluster.bootstrap, mirror.topic, [Record(b"k", word)] * 3)
    [rescue] = rescues(mirror, Side.SOURCE)
    with opened(mirror) as (_, clusters):
        assert list(unfinished(clusters, looked(mirror), None)) == []
    save(mirror, [rescue])  # killed before its entry was written
    with opened(mirror) as (_, clusters):
        found = {wins: list(unfinished(clusters, looked(mirror), wins)) for wins in (None, *Side)}
    assert found[Side.TARGET] == [], "the repeated answer goes on there"
    [told], [other] = found[None], found[Side.SOURCE]
    assert (told.wins, told.place, told.records) == (Side.TARGET, rescue.place, 3)
    assert str(told).endswith("; --wins target goes on there")
    assert f"delete topic {mirror.topic}.salvage on the target" in str(other)
    noted(mirror, rescue, 3)
    with opened(mirror) as (_, clusters):
        assert list(unfinished(clusters, looked(mirror), Side.SOURCE)) == []


def test_a_salvage_goes_on_where_it_was_stopped_and_tells_what_differs(mirror: Mirror) -> None:
    source, target, topic = mirror.source.bootstrap, mirror.target.bootstrap, mirror.topic
    produce(source, topic, [Record(b"k", b"tail")])
    many = [Record(b"k", b"%d" % n + b"." * 1000) for n in range(2000)]
    produce(target, topic, many)
    [rescue] = rescues(mirror, Side.TARGET)

    def dies(_: TopicPartition, number: int) -> None:
        if number > 600:
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            save(mirror, [rescue], show=dies)
    assert save(mirror, [rescue]) == {rescue.own.place: 2000}
    held = consume(source, f"{topic}.salvage")
    assert [each.value for each in held] == [each.value for each in many]
    produce(source, f"{topic}.salvage", [Record(held[-1].key, b"forged", held[-1].headers)])
    with pytest.raises(SalvageDiffersError, match="it has besides the record of offset"):
        save(mirror, [rescue])
