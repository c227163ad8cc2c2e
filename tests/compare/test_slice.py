"""Comparing what two real brokers hold: the first difference is found and named."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from tests.support.ledger.runs import run
from tests.support.logs.compare import US, Pair, Row, row, rows
from towpath.compare.doubled import Stretch
from towpath.compare.work import LinkChanges, RecordDifference
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import ClusterId, LinkName, SourceOffset, TargetOffset

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def pair(source: LocalCluster, target: LocalCluster, new_name: NewName) -> Pair:
    return Pair.make(source, target, new_name("compare"))


def cut(records: Sequence[Row], rng: random.Random, largest: int) -> list[list[Row]]:
    """Cut records into batches of random sizes."""
    batches = []
    at = 0
    while at < len(records):
        size = rng.randint(1, largest)
        batches.append(list(records[at : at + size]))
        at += size
    return batches


def test_the_same_batches_are_not_opened(pair: Pair) -> None:
    for codec in range(5):
        batches = [rows(100, codec * 200), rows(100, codec * 200 + 100)]
        pair.source.write(batches, codec)
        pair.target.write(batches, codec)
    found = pair.compare(1000)
    assert found.equal
    assert (found.counts.equal, found.counts.unopened) == (1000, 1000)
    assert found.source_digest.records == found.target_digest.records == 1000


def test_batches_may_be_cut_differently(pair: Pair, rng: random.Random) -> None:
    records = rows(3000)
    pair.source.write(cut(records, rng, 40), 3)
    pair.target.write(cut(records, rng, 400), 4)
    found = pair.compare(3000)
    assert found.equal, found.difference
    assert (found.counts.equal, found.counts.unopened) == (3000, 0)


def test_ranges_join_to_the_whole(pair: Pair, rng: random.Random) -> None:
    records = rows(1000)
    pair.source.write(cut(records, rng, 70))
    pair.target.write(cut(records, rng, 70))
    borders = [0, *sorted(rng.sample(range(1, 1000), 3)), 1000]
    parts = [
        pair.compare(
            end,
            [(SourceOffset(0), TargetOffset(0), 1000)],
            first=first,
            target_first=first,
            target_end=end,
        )
        for first, end in pairwise(borders)
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.then(part)
    assert whole.equal
    assert whole.counts.equal == 1000


TAMPERED = {
    "key": row(b"other", b"value"),
    "value": row(b"key", b"other"),
    "timestamp": row(b"key", b"value", 1001),
    "headers": row(b"key", b"value", headers=[(b"a", b"1"), (b"b", b"2")]),
    "key, value": row(None, b""),
}
ORIGINAL = row(b"key", b"value")
ALIKE = {
    "null and empty value": (row(b"k", None), row(b"k", b""), "value"),
    "null and empty key": (row(None, b"v"), row(b"", b"v"), "key"),
    "order of headers": (
        row(b"k", b"v", headers=[(b"a", b"1"), (b"b", b"2")]),
        row(b"k", b"v", headers=[(b"b", b"2"), (b"a", b"1")]),
        "headers",
    ),
    "null and empty header": (
        row(b"k", b"v", headers=[(b"a", None)]),
        row(b"k", b"v", headers=[(b"a", b"")]),
        "headers",
    ),
    "key moved into the value": (row(b"ab", b"c"), row(b"a", b"bc"), "key, value"),
} | {f"other {name}": (ORIGINAL, other, name) for name, other in TAMPERED.items()}


@pytest.mark.parametrize("same_cut", [True, False])
@pytest.mark.parametrize("case", ALIKE)
def test_one_changed_record_is_named(pair: Pair, case: str, same_cut: bool) -> None:
    right, wrong, what = ALIKE[case]
    records, others = rows(50), rows(50)
    records[33], others[33] = right, wrong
    pair.source.write([records[:25], records[25:]])
    middle = 25 if same_cut else 20
    pair.target.write([others[:middle], others[middle:]])
    found = pair.compare(50)
    assert found.difference == RecordDifference(33, 33, what)
    assert (found.counts.equal, found.counts.changed) == (49, 1)
    assert found.source_digest != found.target_digest


def test_of_several_differences_the_first_is_named(pair: Pair) -> None:
    records, others = rows(100), rows(100)
    others[60] = others[20] = row(b"x", b"y")
    pair.source.write([records[:50], records[50:]])
    pair.target.write([others[:50], others[50:]])
    found = pair.compare(100)
    assert found.difference == RecordDifference(20, 20, "key, value, timestamp")
    assert found.counts.changed == 2


def test_swapped_records_differ_in_order_only(pair: Pair) -> None:
    records = rows(10)
    others = [*records[:4], records[5], records[4], *records[6:]]
    pair.source.write([records])
    pair.target.write([others])
    found = pair.compare(10)
    assert found.difference == RecordDifference(4, 4, "key, value, timestamp")
    assert found.source_digest.unordered == found.target_digest.unordered
    assert found.source_digest.ordered != found.target_digest.ordered


def test_a_dropped_record_is_missing(pair: Pair) -> None:
    records = rows(10)
    pair.source.write([records])
    pair.target.write([records[:6]])
    pair.target.write([[row(b"somebody", b"else")]], producer=-1)
    pair.target.write([records[7:]])
    found = pair.compare(10)
    assert found.difference == RecordDifference(6, 6, "missing on the target")
    assert (found.counts.missing, found.counts.foreign, found.counts.equal) == (1, 1, 9)


def test_a_record_that_no_run_covers_was_never_copied(pair: Pair) -> None:
    records = rows(10)
    pair.source.write([records])
    pair.target.write([records[:6], records[7:]])
    found = pair.compare(
        10, [(SourceOffset(0), TargetOffset(0), 6), (SourceOffset(7), TargetOffset(6), 3)]
    )
    assert found.difference == RecordDifference(6, -1, "never copied")
    assert (found.counts.missing, found.counts.equal) == (1, 9)


def test_the_same_records_at_wrong_offsets_differ(pair: Pair) -> None:
    same = [row(b"k", b"v")] * 10
    pair.source.write([same])
    pair.target.write([[row(b"somebody", b"else")]], producer=-1)
    pair.target.write([same])
    found = pair.compare(10, target_end=11)
    assert found.counts.missing == found.counts.extra == 1
    assert found.difference == RecordDifference(0, 0, "missing on the target")
    assert pair.compare(10, [(SourceOffset(0), TargetOffset(1), 10)]).equal


def test_a_record_too_many_is_named(pair: Pair) -> None:
    records = rows(5)
    pair.source.write([records])
    pair.target.write([[*records, row(b"one", b"more")]])
    found = pair.compare(5, target_end=6)
    assert found.difference == RecordDifference(-1, 5, "not on the source")
    assert found.counts.extra == 1


@pytest.mark.parametrize("place", ["inside", "behind"])
def test_records_of_ours_that_were_written_twice_are_named_as_that(pair: Pair, place: str) -> None:
    records = rows(30)
    pair.source.write([records])
    pair.target.write([records[:20]])
    pair.target.forget()
    pair.target.write([records[:20]])
    if place == "inside":
        pair.target.write([records[20:]])
    runs = [run(0, 0, 20), run(20, 40, 10)] if place == "inside" else [run(0, 0, 20)]
    end = sum(runs[-1][::2])
    following = ((US, end),)
    found = pair.compare(end, runs, own=frozenset({US}), following=following)
    assert not found.equal
    assert (found.doubled.stretches, found.beyond) == ((Stretch(20, 40, 20),), 0)
    assert found.counts.extra == (20 if place == "inside" else 0)


def test_what_lies_behind_the_last_receipt_is_counted(pair: Pair) -> None:
    records = rows(30)
    pair.source.write([records])
    pair.target.write([records[:20], records[20:]])
    found = pair.compare(20, own=frozenset({US}), following=((US, 20),))
    assert found.equal
    assert (found.doubled.records, found.beyond) == (0, 10)


def test_what_was_copied_before_the_source_was_cut_is_no_difference(pair: Pair) -> None:
    records = rows(8)
    pair.source.write([records])
    pair.target.write([[*records[:5], row(b"cut", b"off")], records[5:]])
    found = pair.compare(
        8,
        [(SourceOffset(0), TargetOffset(0), 5), (SourceOffset(5), TargetOffset(6), 3)],
        replaced=((5, 6),),
    )
    assert found.equal
    assert (found.counts.equal, found.counts.replaced) == (8, 1)


def test_mapped_among_other_writers(pair: Pair, rng: random.Random) -> None:
    records = rows(300)
    pair.source.write(cut(records, rng, 20))
    runs = []
    offset = source = 0
    for batch in cut(records, rng, 60):
        noise = rng.randint(1, 3)
        pair.target.write([rows(noise)], producer=-1)
        pair.target.write([batch])
        runs.append(run(source, offset + noise, len(batch)))
        offset, source = offset + noise + len(batch), source + len(batch)
    found = pair.compare(300, runs, target_first=runs[0][1])
    assert found.equal, found.difference
    assert (found.counts.equal, found.counts.foreign) == (300, offset - 300 - runs[0][1])


@pytest.mark.parametrize("side", ["source", "target"])
def test_retention_after_the_range_was_chosen(pair: Pair, side: str) -> None:
    records = rows(90)
    batches = [records[:30], records[30:60], records[60:]]
    pair.source.write(batches)
    pair.target.write(batches)
    (pair.source if side == "source" else pair.target).delete_before(60)
    found = pair.compare(90, due=20)
    assert found.equal, found.difference
    counts = found.counts
    told = (0, 0, 60) if side == "source" else (60, 20, 0)
    assert (counts.equal, counts.deleted, counts.due, counts.expired) == (30, *told)


def test_a_target_with_its_own_clock_is_compared_without_times(
    source: LocalCluster, target: LocalCluster, new_name: NewName, rng: random.Random
) -> None:
    clock = {"message.timestamp.type": "LogAppendTime"}
    pair = Pair.make(source, target, new_name("clock"), target_config=clock)
    records = rows(200)
    pair.source.write([records[:100], *cut(records[100:], rng, 9)])
    pair.target.write([records[:100], *cut(records[100:], rng, 30)])
    found = pair.compare(200)
    assert found.equal, found.difference
    assert (found.counts.equal, found.counts.untimed) == (200, 200)


def test_the_logs_end_is_told_when_it_comes_too_early(pair: Pair) -> None:
    pair.source.write([rows(10)])
    pair.target.write([rows(8)])
    found = pair.compare(10)
    assert found.difference == RecordDifference(8, 8, "missing on the target")
    assert found.notes == (
        "the target log ends at offset 8, but records were copied up to offset 10",
    )


def test_records_of_others_before_and_behind_a_cutover_are_told_apart(pair: Pair) -> None:
    pair.source.write([rows(5), rows(5, 5)])
    pair.target.write([rows(5)])
    pair.target.write([rows(2, 50)], producer=-1)
    pair.target.write([rows(5, 5)])
    pair.target.write([rows(1, 60)], producer=-1)
    pair.target.write([rows(4, 70)], producer=-1)
    moved = run(0, 0, 5), run(5, 7, 5)
    strict = pair.compare(10, moved, following=((US, 10),))
    assert (strict.others.records, strict.behind_cut.records) == (7, 0)
    cut_over = pair.compare(10, moved, following=((US, 10),), cut=13)
    assert (cut_over.others.records, cut_over.others.first) == (3, 5)
    assert (cut_over.behind_cut.records, cut_over.behind_cut.first) == (4, 13)
    assert cut_over.counts.foreign == 7
    assert cut_over.equal


def test_records_that_the_target_refused_are_left_out_and_counted(pair: Pair) -> None:
    records = rows(10)
    pair.source.write([records])
    pair.target.write([records[:3], records[5:]])
    runs = [run(0, 0, 3), run(5, 3, 5)]
    assert pair.compare(10, runs).counts.missing == 2
    changes = LinkChanges(
        link=LinkName("l"), source_cluster=ClusterId("s"), target_cluster=ClusterId("t")
    )
    found = pair.compare(10, runs, changes=changes, refused=((3, 5),))
    assert (found.equal, found.counts.equal, found.tally) == (True, 8, (("refused", 2),))
    # The records that the ledger leaves out are the only ones.
    found = pair.compare(10, runs, changes=changes, refused=((3, 4),))
    assert (found.counts.missing, found.tally) == (1, (("refused", 1),))
