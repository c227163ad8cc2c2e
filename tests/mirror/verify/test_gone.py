"""What not both sides have any more, against a table of what each side has. Pure.

Random logs are copied, then each side loses records as brokers remove them: by time, by size, by
DeleteRecords, by the cleaner. What `verify` counts must be the table's, record by record.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledger.books import opened, receipt
from tests.support.ledger.standings import ROW
from tests.support.logs.kept_logs import KeptLog
from towpath.compare.slice import compare_range
from towpath.compare.work import Comparison, Counts
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Run
from towpath.ledger.packed import Packer
from towpath.mirror.status.deleted import WhyDeleted, at_most, stretch_deleted
from towpath.mirror.verify.gone import Gone, UnseenConfigs, counted, missing_records
from towpath.mirror.verify.ranges import Bounds, Sized, common_range, cut, deleted_range
from towpath.mirror.verify.verdict import Verdict, verdict
from towpath.model.deleted import DeletedRecords, Deleter
from towpath.model.nouns import Mode, Side, SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.wire.digest import Digest
from towpath.wire.plain import Record

TP = TopicPartition(TopicName("t"), 0)
OURS = opened().producer_id
NOW = 1000
RECORDS = st.builds(
    Record,
    key=st.sampled_from([b"a", b"b", b"c", b"d"]),
    value=st.one_of(st.none(), st.binary(min_size=1, max_size=3)),
    timestamp=st.integers(0, NOW),
)
BATCHES = st.lists(st.lists(RECORDS, min_size=1, max_size=4), max_size=8)
REMOVALS = st.one_of(
    st.tuples(st.just("time"), st.integers(0, NOW)),
    st.tuples(st.just("size"), st.integers(0, 600)),
    st.tuples(st.just("request"), st.integers(0, 40)),
    st.tuples(st.just("clean"), st.integers(0, 1)),
)
SOME = st.lists(REMOVALS, max_size=3)


def remove(log: KeptLog, removals: list[tuple[str, int]]) -> bool:
    """Do what brokers do; return whether the topic is compacted."""
    for what, number in removals:
        match what:
            case "time":
                log.expire(number)
            case "size":
                log.shrink(number)
            case "request":
                log.delete_before(number)
            case _:
                log.clean(tombstones=bool(number))
    return any(what == "clean" for what, _ in removals)


@dataclass
class Scene:
    """A partition that was copied.

    Attributes:
        pairs: Source and target offset of each record that was copied.
        books: What the ledger knows, without runs that the target has deleted.
    """

    source: KeptLog
    target: KeptLog
    pairs: list[tuple[Record, int]]
    books: PartitionBooks

    def bounds(self, *, compacted: tuple[bool, bool], due: int = 0, since: int = 0) -> Bounds:
        """Return what is asked of both sides."""
        return Bounds(self.source.start, self.target.start, since, *compacted, self.target.end, due)

    def table(self, due: int, since: int = 0) -> Counter[str]:
        """Return the truth: how many records that were copied are where."""
        here = {r.offset for r in self.source.records}
        there = {r.offset for r in self.target.records}
        found = Counter[str]()
        for record, target in self.pairs:
            if record.offset < since:
                continue
            match record.offset in here, target in there:
                case True, True:
                    found["copied"] += 1
                case False, False:
                    found["both"] += 1
                case True, False if target < self.target.start:
                    found["deleted"] += 1
                    found["due"] += record.offset < due
                case True, False:
                    found["compacted there"] += 1
                case _ if record.offset < self.source.start:
                    found["expired"] += 1
                case _:
                    found["compacted here"] += 1
        return found


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Scene, tuple[bool, bool]]:
    """Return a copied partition of which both sides have lost something, and which is compacted."""
    source = KeptLog(draw(st.integers(1, 3)))
    for some in draw(BATCHES):
        source.append(some)
        if draw(st.booleans()):
            source.mark(1)
    compacted = remove(source, draw(SOME))
    mapped = draw(st.booleans())
    scene = copied(draw, source, mapped=mapped)
    for some in draw(BATCHES):  # the source has newer ones
        source.append(some)
    # A tombstone that was never copied explains nothing once it is gone: then nobody can tell.
    here = remove(source, [(what, 0 if what == "clean" else n) for what, n in draw(SOME)])
    there = remove(scene.target, draw(SOME))
    if mapped and draw(st.booleans()):
        tidy(scene)
    return scene, (compacted or here, there)


def copied(draw: st.DrawFn, source: KeptLog, *, mapped: bool) -> Scene:
    """Copy a log: at the same offsets with markers between, or packed behind and between others."""
    target = KeptLog(draw(st.integers(1, 3)))
    first = draw(st.integers(0, 5)) if mapped else source.start
    target.mark(first)
    target.delete_before(first)
    pairs, sequence = list[tuple[Record, int]](), 0
    start = target.end
    runs = list[Run]()
    left = list(source.records)
    while left:
        size = draw(st.integers(1, 4))
        some = left[:1]
        while len(some) < min(size, len(left)) and left[len(some)].offset == some[-1].offset + 1:
            some.append(left[len(some)])
        left = left[len(some) :]
        if mapped:
            for _ in range(draw(st.integers(0, 1))):
                target.append([Record(b"x", b"x", timestamp=NOW)])
        else:
            target.mark(some[0].offset - target.end)
        runs.append((SourceOffset(some[0].offset), TargetOffset(target.end), len(some)))
        pairs += [(record, target.end + i) for i, record in enumerate(some)]
        target.append(some, producer=OURS, sequence=sequence)
        sequence += len(some)
    if not mapped:
        target.mark(source.end - target.end)
        runs = [(SourceOffset(start), TargetOffset(start), source.end - start)]
    return Scene(source, target, pairs, books_of(runs, source, target, start, pairs, mapped=mapped))


def books_of(
    runs: list[Run],
    source: KeptLog,
    target: KeptLog,
    start: int,
    pairs: list[tuple[Record, int]],
    *,
    mapped: bool,
) -> PartitionBooks:
    """Return what the ledger knows of a copy."""
    mode = Mode.MAPPED if mapped else Mode.IDENTICAL
    end = pairs[-1][1] + 1 if mapped and pairs else start if mapped else target.end
    begun = opened(
        mode=mode, source_start=SourceOffset(source.start), target_start=TargetOffset(start)
    )
    told = receipt(
        source_end=SourceOffset(source.end),
        target_end=TargetOffset(end),
        sequence=len(pairs),
        records=len(pairs),
        bytes=100 * len(pairs),
        mode=mode,
        run=runs[-1] if runs else (SourceOffset(source.start), TargetOffset(start), 0),
    )
    return PartitionBooks(
        begun,
        {(OURS, ""): told},
        {(OURS, str(at)): Packer([r]).text() for at, r in enumerate(runs)},
    )


def tidy(scene: Scene) -> None:
    """Forget the runs that the target has deleted whole, as the ledger does."""
    known = scene.books.offsets().runs
    kept = [r for r in known if r[1] + r[2] > scene.target.start]
    scene.books.runs = {(OURS, str(at)): Packer([r]).text() for at, r in enumerate(kept)}


def compared(parts: list[Sized], scene: Scene, size: int) -> Comparison | None:
    """Compare ranges as slices do."""
    here, there = scene.source.reader(Side.SOURCE), scene.target.reader(Side.TARGET)
    joined: Comparison | None = None
    for each in (part for whole in parts for part in cut(whole, size)):
        one = compare_range(each.part, here, there, None, None)
        joined = one if joined is None else joined.then(one)
    return joined


def judge(scene: Scene, bounds: Bounds, size: int = 1 << 30) -> tuple[Comparison | None, Gone]:
    """Return what `verify` finds."""
    parts = common_range(TP, scene.books, bounds), deleted_range(TP, scene.books, bounds)
    found, before = (compared([part] if part else [], scene, size) for part in parts)
    stretch = stretch_deleted(
        scene.books, bounds.source_earliest, bounds.target_earliest, bounds.since
    )
    why = WhyDeleted((Deleter.TIME,), SourceOffset(bounds.due))
    there = counted(stretch, why, (before, found), meant=False)
    whole, alone = not bounds.since, bounds.cleaned_alone
    return found, missing_records(scene.books, found, there, whole=whole, alone=alone)


@given(made=scenes(), due=st.integers(0, 60), size=st.sampled_from([200, 1 << 30]))
def test_each_record_is_counted_where_it_is(
    made: tuple[Scene, tuple[bool, bool]], due: int, size: int
) -> None:
    scene, compacted = made
    truth = scene.table(due)
    bounds = scene.bounds(compacted=compacted, due=due)
    found, seen = judge(scene, bounds, size)
    if found is None:
        assert not scene.pairs
        return
    assert found.equal, found.difference
    there = seen.target
    assert {
        "copied": found.counts.equal,
        "deleted": there.records if there else 0,
        "due": there.due if there else 0,
        "expired": seen.source,
        "compacted there": seen.compacted_target,
        "compacted here": seen.compacted_source,
        "both": seen.both,
    } == {key: truth[key] for key in (
        "copied", "deleted", "due", "expired", "compacted there", "compacted here", "both"
    )}  # fmt: skip
    cleaned = truth["compacted there"] if not compacted[0] else 0
    assert (seen.cleaned.records if seen.cleaned else 0) == cleaned
    assert seen.unwanted == (cleaned > 0 or (there is not None and there.missed > 0))
    if there is not None:
        own = [r.offset for r, at in scene.pairs if at < scene.target.start]
        here = {r.offset for r in scene.source.records}
        lost = [offset for offset in own if offset in here]
        if found.counts.deleted:  # where they lie among those that are compared is not told
            assert there.first <= lost[0] <= lost[-1] < there.end
        else:
            assert (there.first, there.end) == (lost[0], lost[-1] + 1)


@given(made=scenes())
def test_what_a_cleaner_took_is_deleted_where_the_source_runs_none(
    made: tuple[Scene, tuple[bool, bool]],
) -> None:
    scene, (_, there) = made
    bounds = replace(scene.bounds(compacted=(True, there)), source_keeps=True)
    found, seen = judge(scene, bounds)
    if found is None or not there:
        return
    assert (seen.cleaned.records if seen.cleaned else 0) == seen.compacted_target
    assert seen.unwanted >= (seen.compacted_target > 0)
    assert not any("compacted away on the target" in text for text in seen.notes())


CLEANER = UnseenConfigs(cleaner="it is not known whether a cleaner runs (refused)")
HERE, THERE = UnseenConfigs(source="refused here"), UnseenConfigs(target="refused there")


@pytest.mark.parametrize(
    ("gone", "unproven"),
    [
        (
            Gone(compacted_target=490, unseen=CLEANER),
            "490 records missing on the target may be gone at the source, too, or be kept there"
            " for good: it is not known whether a cleaner runs (refused)",
        ),
        (
            Gone(compacted_target=1, unseen=THERE),
            "1 record missing on the target may be gone at the source, too, or be kept there for"
            " good: refused there",
        ),
        (
            Gone(compacted_source=2, unseen=HERE),
            "2 records missing at the source may have been compacted away there, or never been"
            " there: refused here",
        ),
        (Gone(compacted_source=2, unseen=THERE), ""),
        (Gone(compacted_source=2, unseen=CLEANER), ""),
        (Gone(compacted_target=2, unseen=CLEANER, meant=True), ""),
        (Gone(compacted_target=2), ""),
        (Gone(source=3, both=4, unseen=HERE), ""),
    ],
)
def test_what_could_not_be_read_leaves_equal_unproven_only_where_it_decides(
    gone: Gone, unproven: str
) -> None:
    assert "; ".join(gone.unproven()) == unproven
    assert any("compacted away" in each for each in gone.notes()) == (
        not unproven and gone.compacted_target + gone.compacted_source > 0
    )
    assert not gone.unwanted
    said = verdict(replace(ROW, lag_records=0), PartitionBooks(), None, "", gone=gone)
    assert said.verdict is (Verdict.NOT_PROVEN if unproven else Verdict.EQUAL)
    assert said.codes == (("NOT_PROVEN",) if unproven else ())
    assert said.why == unproven
    told = [each for each in said.notes if each.startswith(gone.unseen.configs)]
    assert bool(gone.unseen.configs and told) == bool(gone.unseen.configs and not unproven)


def test_a_difference_or_a_deletion_is_worse_than_what_is_not_proven_and_lag_is_not() -> None:
    gone = Gone(compacted_target=1, unseen=CLEANER)
    behind = verdict(ROW, PartitionBooks(), None, "", gone=gone)
    assert (behind.verdict, behind.late) == (Verdict.NOT_PROVEN, False)
    taken = DeletedRecords(first=SourceOffset(0), end=SourceOffset(5), records=5)
    deleted = verdict(ROW, PartitionBooks(), None, "", gone=replace(gone, target=taken))
    assert deleted.verdict is Verdict.DELETED


def test_a_forecast_that_cannot_be_made_is_a_note() -> None:
    even = replace(ROW, lag_records=0)
    said = verdict(even, PartitionBooks(), None, "", gone=Gone(unseen=HERE), unforeseen="refused")
    assert (said.verdict, said.notes) == (
        Verdict.EQUAL,
        ("it is not known whether the target keeps less than the source: refused",),
    )


@given(made=scenes(), since=st.integers(0, 30))
def test_offsets_alone_tell_at_most_so_many_and_none_where_none_is_gone(
    made: tuple[Scene, tuple[bool, bool]], since: int
) -> None:
    scene, _ = made
    truth = scene.table(0, since)
    stretch = stretch_deleted(scene.books, scene.source.start, scene.target.start, since)
    assert (at_most(scene.books, stretch) if stretch else 0) >= truth["deleted"]
    assert (
        stretch is None
        or scene.target.start > scene.books.offsets().to_target(SourceOffset(0)).offset
        or truth["deleted"] >= 0
    )


@given(made=scenes(), data=st.data())
def test_the_last_value_of_a_key_that_is_gone_is_a_difference(
    made: tuple[Scene, tuple[bool, bool]], data: st.DataObject
) -> None:
    scene, compacted = made
    here = {r.offset for r in scene.source.records}
    there = {r.offset: r for r in scene.target.records}
    last = {r.key: r.offset for r in scene.target.records}
    choice = [
        at
        for record, at in scene.pairs
        if record.offset in here
        and at in there
        and record.value is not None
        and last[record.key] == at
    ]
    if not choice:
        return
    scene.target.lose(data.draw(st.sampled_from(choice)))
    found, _ = judge(scene, scene.bounds(compacted=(compacted[0], True)))
    assert found is not None
    assert not found.equal
    assert found.counts.missing == 1


def test_what_only_the_targets_cleaner_removed_is_a_difference_unless_it_is_meant() -> None:
    """A compacted copy of a topic that is not was called equal."""
    counts = Counts(equal=5, compacted=30, compacted_there=30)
    found = Comparison(
        source=TP, target=TP, first=SourceOffset(0), end=SourceOffset(35),
        source_digest=Digest(), target_digest=Digest(), counts=counts, bytes=1,
    )  # fmt: skip
    books = PartitionBooks(opened())
    alone = missing_records(books, found, None, whole=True, alone=True)
    assert (alone.unwanted, alone.deleted, list(alone.notes())) == (True, 30, [])
    assert list(alone.reasons()) == [
        "the target deleted 30 records that the source still has (by cleanup.policy=compact, which"
        " removes nothing at the source): among source offsets 0 to 34"
    ]
    meant = missing_records(books, found, None, whole=True, alone=True, meant=True)
    assert (meant.unwanted, list(meant.reasons())) == (False, [])
    assert [text.endswith("; that is meant") for text in meant.notes()] == [True]
    both = missing_records(books, found, None, whole=True)
    assert (both.unwanted, both.deleted) == (False, 0)
    assert list(both.notes()) == ["30 records left out: compacted away on the target"]
