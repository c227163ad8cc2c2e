"""Records on the target that the link did not write: who wrote them, and whether they may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ledger.books import opened
from tests.support.ledger.standings import ROW
from towpath.compare.others import OtherRecords
from towpath.compare.work import Comparison, Counts
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Cut
from towpath.mirror.verify.surplus import OthersRule, OtherWriter
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict, verdict
from towpath.model.nouns import (
    LinkName,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicName,
    TopicPartition,
)
from towpath.wire.digest import Digest

MINE, OTHER = LinkName("mine"), LinkName("other")
LINKS = {
    ProducerId(40): OTHER, ProducerId(41): OTHER, ProducerId(50): MINE, ProducerId(60): MINE
}  # fmt: skip
REPLAYER = ProducerId(60)
TP = TopicPartition(TopicName("orders"), 0)
EVEN = replace(ROW, lag_records=0)

CUT = Cut(
    link=MINE,
    topic=TP.topic,
    partition=0,
    producer_id=ProducerId(1),
    source_end=SourceOffset(10),
    target_end=TargetOffset(10),
    records=10,
    at=1795348286285,
)


def comparison(*producers: tuple[int, int], end: int = 10) -> Comparison:
    told = tuple((ProducerId(each), count) for each, count in producers)
    others = OtherRecords(sum(count for _, count in told), 10, told) if told else OtherRecords()
    return Comparison(
        source=TP,
        target=TP,
        first=0,
        end=end,
        source_digest=Digest(),
        target_digest=Digest(),
        counts=Counts(equal=end, foreign=others.records),
        bytes=1,
        others=others,
    )


def judged(
    *producers: tuple[int, int], mode: str = "identical", shared: bool = False, end: int = 10
) -> tuple[Verdict, str, tuple[str, ...]]:
    rule = OthersRule(MINE, LINKS.get, shared, frozenset({REPLAYER}))
    row = replace(EVEN, mode=mode)
    found = verdict(row, PartitionBooks(), comparison(*producers, end=end), "", others=rule)
    return found.verdict, found.why, found.notes


def test_records_of_others_are_surplus_where_nobody_else_may_write() -> None:
    text = (
        "152,000 records on the target are surplus: this link did not write them (120,000 of link"
        " other, 32,000 of producers without an id; the first at target offset 10)"
    )
    of_both = (40, 100_000), (-1, 32_000), (41, 20_000)
    assert judged(*of_both) == (Verdict.DIFFERENT, text, ())
    assert judged(*of_both, end=0)[:2] == (Verdict.DIFFERENT, text), "nothing was copied"


@pytest.mark.parametrize("producer", [-1, 7, 50])
def test_in_a_mapped_partition_producers_may_have_written(producer: int) -> None:
    assert judged((producer, 3))[0] is Verdict.DIFFERENT
    told, why, notes = judged((producer, 3), mode="mapped")
    who = {-1: "producers without an id", 7: "producer 7", 50: "link mine"}[producer]
    text = f"3 records on the target are of others, not compared (3 of {who}; the first at"
    assert (told, why) == (Verdict.EQUAL, "")
    assert notes == (f"{text} target offset 10)",)


def test_replayed_records_are_not_surplus_while_offsets_are_still_identical() -> None:
    """The partition becomes mapped only when more is mirrored, which may never happen."""
    assert judged((60, 2)) == (
        Verdict.EQUAL,
        "",
        ("2 records on the target were replayed from the quarantine, not compared",),
    )
    told, why, notes = judged((60, 2), (-1, 3))
    assert told is Verdict.DIFFERENT
    assert why.startswith("3 records on the target are surplus: this link did not write them (3 of")
    assert notes == ("2 records on the target were replayed from the quarantine, not compared",)
    assert judged((60, 2), (-1, 3), mode="mapped")[0] is Verdict.EQUAL
    assert judged((60, 2), (40, 3), mode="mapped")[0] is Verdict.DIFFERENT


def test_another_link_needs_the_word_shared_even_where_offsets_are_mapped() -> None:
    assert judged((40, 3), mode="mapped")[0] is Verdict.DIFFERENT
    for mode in ("identical", "mapped"):
        told, why, (note,) = judged((40, 3), mode=mode, shared=True)
        assert (told, why) == (Verdict.EQUAL, "")
        assert "3 of link other" in note


def test_what_the_twin_copies_to_the_source_is_counted_and_no_surplus() -> None:
    """Another link needs the word shared there, too."""
    rule = OthersRule(MINE, LINKS.get, twin=LinkName("back"))
    found = rule.judge(comparison((5, 3), (-1, 1)), mapped=False)
    assert not found.surplus
    assert found.text.startswith(
        "4 records on the target are of others, which link back copies to the source, not compared"
    )
    assert rule.judge(comparison((40, 3)), mapped=True).surplus


def test_nobody_else_wrote() -> None:
    assert judged() == (Verdict.EQUAL, "", ())


def test_the_parts_of_a_log_join_and_the_largest_writers_are_named() -> None:
    first, last = comparison((5, 2), (6, 1)), comparison((6, 9), *((n, 1) for n in range(7, 12)))
    both = first.others.then(last.others)
    assert (both.records, both.first) == (17, 10)
    rule = OthersRule(MINE, LINKS.get)
    found = rule.judge(replace(first, others=both), mapped=False)
    assert found.writers[0] == OtherWriter(None, 6, 10)
    assert "(10 of producer 6, 2 of producer 5, 1 of producer 7, and 4 more;" in found.text
    assert OtherRecords().then(both) == both.then(OtherRecords()) == both


def behind_the_cut(*producers: tuple[int, int], shared: bool = False) -> PartitionVerdict:
    """Return the verdict where these wrote behind a cutover, and one record was there before."""
    books = PartitionBooks()
    for entry in (opened(TP), CUT):
        books.take(entry)
    late = comparison(*producers).others
    found = replace(comparison(), behind_cut=late)
    rule = OthersRule(MINE, LINKS.get, shared)
    return verdict(EVEN, books, found, "", others=rule)


def test_what_lies_behind_a_cutover_is_the_clients_own() -> None:
    told = behind_the_cut((7, 1200), (-1, 4))
    assert (told.verdict, told.why, told.others) == (Verdict.EQUAL, "", ())
    assert told.notes == (
        "1,204 records behind the cutover of 2026-11-22T11:51:26Z are the clients' own (1,200 of"
        " producer 7, 4 of producers without an id)",
    )
    assert told.clients == (OtherWriter(None, 7, 1200), OtherWriter(None, -1, 4))


def test_what_another_link_wrote_behind_a_cutover_is_surplus() -> None:
    told = behind_the_cut((7, 1200), (40, 4))
    assert told.verdict is Verdict.DIFFERENT
    assert "are surplus: this link did not write them (1,200 of producer 7, 4 of link" in told.why
    assert behind_the_cut((40, 4), shared=True).verdict is Verdict.EQUAL
