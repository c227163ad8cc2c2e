"""Records that were changed on the way are compared with what they should have become."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.kafka import wait_until
from tests.support.ledger.books import TP, opened, receipt
from tests.support.ledger.runs import run
from tests.support.logs.batches import batch, numbered
from tests.support.logs.change_scene import PARTITIONS, ChangeScene
from tests.support.logs.changed import CHANGES, decisions
from tests.support.mirror import Mirror
from towpath.compare.changed import Ids, SourceChange, no_ids
from towpath.compare.cursor import Piece
from towpath.compare.slice import compare
from towpath.compare.work import CompareSlice, Comparison, LinkChanges
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.books.ids import written_ids
from towpath.ledger.entries import DecidedIds, LinkIdentity, RefusedRecords
from towpath.mirror.verify.changes import change_sentences, changes_of, undefined
from towpath.mirror.verify.ranges import Bounds, by_change, common_range
from towpath.model.changes import (
    AddedHeader,
    DropRule,
    IdChange,
    Malformed,
    RecordChange,
    RecordOrigin,
    Undeliverable,
)
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    ProducerId,
    SourceOffset,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import LinkConfig
from towpath.wire import batch as wire
from towpath.wire.change import Changer
from towpath.wire.plain import Record

NewName = Callable[[str], str]
HEADER = CHANGES["constant"]


def identify(scene: ChangeScene) -> None:
    """Write to the ledger which clusters there are, and what becomes of the ids of all records."""
    ids = written_ids(decisions(CHANGES["ids"]))
    topics = {TopicName(scene.topic(name)): ids for name in scene.names}
    link = LinkName(scene.mirror.link)
    scene.mirror.note(DecidedIds(link=link, name="all", at=0, keys=topics, values=topics))
    clusters = ClusterId(scene.clusters[0]), ClusterId(scene.clusters[1])
    scene.mirror.note(LinkIdentity(LinkName(scene.mirror.link), *clusters))


def compared(
    config: LinkConfig,
    books: LinkBooks,
    tp: TopicPartition,
    changes: LinkChanges,
    ids: Ids | None = None,
) -> Comparison:
    whole = common_range(tp, books.of(tp), Bounds(0, 0))
    assert whole is not None
    parts = tuple(each.part for each in by_change(whole, books.of(tp)))
    first, *more = compare(CompareSlice(config.source, config.target, parts, changes=changes), ids)
    for each in more:
        first = first.then(each)
    assert Comparison.from_json(first.to_json()) == first
    return first


@pytest.mark.broker
def test_what_changes_did_is_compared_and_counted(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
) -> None:
    names = {
        "plain": ["constant"],
        "ids": ["ids", "headers"],
        "all": ["all", "quarantine"],
        "drop": ["tombstones", "key"],
    }
    mirror = Mirror(tmp_path, source, target, new_name("compared"), timeout="3s")
    # Not of old records: a target forgets our producer ids by their times, and opening waits then.
    scene = ChangeScene(mirror, rng, names, ages=(0,))
    scene.begin()
    identify(scene)
    try:
        for _ in range(2):
            wait_until(lambda: sum(each.records for each in scene.catch_up()) > 50, "more records")
            scene.edit()
        scene.finish()
    finally:
        scene.close()
    books = scene.mirror.link_books()
    tallies = set()
    for name in names:
        for number in range(PARTITIONS):
            tp = TopicPartition(TopicName(scene.topic(name)), number)
            changes = changes_of(books, [tp])
            assert changes is not None
            found = compared(scene.mirror.config, books, tp, changes)
            assert (found.difference, found.equal, found.stopped) == (None, True, ""), tp
            entry = books.of(tp).receipt
            assert entry is not None
            assert found.counts.equal == found.target_digest.records == entry.records
            assert found.tally == entry.tally
            tallies |= {kind.partition(":")[0] for kind, _ in found.tally}
    assert tallies >= {"ids", "dropped"}

    # The same records under a change that never was: each of them differs.
    tp = TopicPartition(TopicName(scene.topic("plain")), 0)
    changes = changes_of(books, [tp])
    assert changes is not None
    other = RecordChange(headers=(AddedHeader(name="env", text="test"),))
    wrong = replace(changes, defined={HEADER.digest: other})
    found = compared(scene.mirror.config, books, tp, wrong)
    assert found.difference is not None
    assert found.difference.what == "headers"
    assert (found.counts.equal, found.counts.changed) == (0, found.target_digest.records)

    # Without the decisions about ids nothing is said of the rest.
    tp = TopicPartition(TopicName(scene.topic("all")), 0)
    changes = changes_of(books, [tp])
    assert changes is not None
    found = compared(scene.mirror.config, books, tp, changes, no_ids)
    assert found.difference is None
    assert "the ledger has no decision about schema id" in found.stopped


def partition(*changed: tuple[int, str], first: str = "", end: int = 100) -> PartitionBooks:
    """Return the books of a partition that was opened again under other changes."""
    books = PartitionBooks()
    books.take(opened(change=first))
    told_of = tuple((SourceOffset(at), SourceOffset(at), digest) for at, digest in changed)
    books.take(
        receipt(
            source_end=end, target_end=end, records=end, bytes=10_000, run=run(0, 0, end),
            change=changed[-1][1] if changed else first, changed=told_of,
        )
    )  # fmt: skip
    return books


def stretches(books: PartitionBooks, bounds: Bounds) -> list[tuple[int, int, str]]:
    whole = common_range(TP, books, bounds)
    assert whole is not None
    parts = [each.part for each in by_change(whole, books)]
    return [(part.first, part.end, part.change) for part in parts]


def test_each_stretch_has_its_own_change() -> None:
    books = partition((30, "b"), (70, ""), first="a")
    assert stretches(books, Bounds(0, 0)) == [(0, 30, "a"), (30, 70, "b"), (70, 100, "")]
    assert stretches(books, Bounds(40, 0)) == [(40, 70, "b"), (70, 100, "")]
    assert stretches(books, Bounds(80, 0)) == [(80, 100, "")]
    assert stretches(partition(), Bounds(0, 0)) == [(0, 100, "")]
    # Opened again before anything was copied, or behind the last record.
    assert stretches(partition((0, "b"), first="a"), Bounds(0, 0)) == [(0, 100, "b")]
    assert stretches(partition((100, "b"), first="a"), Bounds(0, 0)) == [(0, 100, "a")]


def test_what_the_target_refused_is_left_out_where_it_is() -> None:
    books = partition((30, "b"), first="a")
    for first, end in ((10, 12), (28, 33), (99, 120)):
        books.take(
            RefusedRecords(
                link=LinkName("l"), topic=TP.topic, partition=TP.partition,
                producer_id=ProducerId(1), first=SourceOffset(first), end=SourceOffset(end),
                why=Reason.of(ReasonCode.RECORD_BAD, offset=first, bad=""),
                policy=Undeliverable.SKIP, generation=-1, name=f"n{first}", at=0,
            )
        )  # fmt: skip
    whole = common_range(TP, books, Bounds(11, 0))
    assert whole is not None
    parts = [each.part for each in by_change(whole, books)]
    assert [part.refused for part in parts] == [((11, 12), (28, 30)), ((30, 33), (99, 100))]


def test_a_change_that_the_ledger_does_not_define_is_told() -> None:
    books = LinkBooks(opened().link)
    books.partitions[TP] = partition((30, "b"), first="a")
    assert "the ledger has no definition of change" in undefined(books, TP)
    books.partitions[TP] = partition()
    assert undefined(books, TP) == ""


def test_what_was_left_out_is_told() -> None:
    tally = (
        ("bad_ids:ID_NONE", 1),
        ("dropped:old", 2_000),
        ("headers", 7),
        ("ids", 3),
        ("quarantined:ID_CUT", 4),
        ("redacted", 1),
        ("refused", 2),
        ("unchanged_ids:SCHEMA_ID_LEFT_OUT", 5),
    )
    assert list(change_sentences(tally)) == [
        "1 schema id copied unchanged: malformed (ID_NONE)",
        "2,000 records left out: dropped by rule old",
        "7 headers compared as the change writes them",
        "3 schema ids compared as rewritten for the target",
        "4 records left out: in quarantine (ID_CUT)",
        "1 header compared as redacted",
        "2 records left out: refused by the target",
        "5 schema ids copied unchanged: the target has none for them (SCHEMA_ID_LEFT_OUT)",
    ]


def test_the_keys_of_a_compacted_source_are_those_of_all_its_records() -> None:
    change = RecordChange(
        drop=(DropRule(name="tombstones", tombstone=True),),
        ids=IdChange(malformed=Malformed.STOP),
    )
    origin = RecordOrigin(
        link=LinkName("link"),
        topic=TP.topic,
        partition=TP.partition,
        source_cluster=ClusterId("a"),
        target_cluster=ClusterId("b"),
    )
    changer = Changer(change=change, origin=origin, left_out=np.array([0], np.int64))
    values = [b"refused", None, b"\0bad"]
    data = batch(numbered([Record(b"%d" % n, value, (), 1) for n, value in enumerate(values)]))
    buffer = np.frombuffer(bytearray(data), np.uint8)
    found = SourceChange(changer).keys(Piece(buffer, wire.scan(buffer, 0, len(buffer))))
    assert found["key"].to_pylist() == [b"0", b"1", b"2"]
