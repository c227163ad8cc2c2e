"""Lanes that change records: the same batches as before, with changed records, and what waits."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from tests.support.copying.lanes import lane, standing, took
from tests.support.logs.batches import batch, numbered
from tests.support.logs.changed import (
    CHANGES,
    HOME,
    ConstantIds,
    StandInQuarantine,
    decisions,
    expected,
    varied,
)
from tests.support.logs.changing import Twin
from towpath.ledger.entries import Tally
from towpath.model.changes import (
    NO_CHANGE,
    AddedHeader,
    IdChange,
    Malformed,
    RecordChange,
    SubjectStrategy,
)
from towpath.model.nouns import ClusterId, LinkName, Mode, SourceOffset, TargetOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.beyond_receipt import BeyondReceipt
from towpath.records.change_services import ChangeServices, Ready
from towpath.records.items import Batch, Fill, Item, Stop, Wait
from towpath.records.landing.refusals import source_offsets
from towpath.records.lane.lane import Lane
from towpath.records.lane.reshape import merge, split
from towpath.records.standing import Standing
from towpath.records.work import Assignment
from towpath.wire import plain
from towpath.wire.change import UnknownId
from towpath.wire.digest import record_hashes
from towpath.wire.ids import IdTable
from towpath.wire.plain import Record

OUTSIDE = ChangeServices(
    link=LinkName("link"),
    source_cluster=ClusterId("there"),
    target_cluster=ClusterId(HOME),
    ids=ConstantIds(),
    quarantine=StandInQuarantine(),
)
ENV = CHANGES["constant"]
IDS = RecordChange(ids=IdChange())
STRICT = RecordChange(ids=IdChange(malformed=Malformed.STOP))
ASIDE = CHANGES["quarantine"]


def changed(
    change: RecordChange,
    at: Standing | None = None,
    *,
    outside: ChangeServices = OUTSIDE,
    fill: int = 100,
) -> Lane:
    """Return a lane that changes records, and stands under that change."""
    begins = at or replace(standing(), change=change, mode=_mode(change))
    return Lane(replace(lane().work, change=change, fill=fill), begins, outside=outside)


def _mode(change: RecordChange) -> Mode:
    return Mode.MAPPED if change.drops else Mode.IDENTICAL


def items(of: Lane) -> list[Item]:
    return list(of.queue.waiting)


def batches(of: Lane) -> list[Batch]:
    return [item for item in of.queue.waiting if isinstance(item, Batch)]


def records(of: Lane) -> list[Record]:
    """Return the records that wait, at their source offsets."""
    found: list[Record] = []
    for each in batches(of):
        runs = each.places.tolist()
        offsets = [start + n for start, length in runs for n in range(length)]
        made = plain.decode(bytes(each.data))
        found += [replace(r, offset=o) for r, o in zip(made, offsets, strict=True)]
    return found


def with_id(number: int, payload: bytes = b"payload") -> Record:
    return Record(b"k", b"\0" + struct.pack(">i", number) + payload, (), 1)


@pytest.mark.parametrize("name", [*CHANGES])
@pytest.mark.parametrize("size", [0, 5000])
def test_each_batch_becomes_one_batch_of_changed_records(name: str, size: int) -> None:
    rng, change = random.Random(7), CHANGES[name]
    sending = changed(change)
    there = [numbered(varied(rng, 9, at), at) for at in (0, 9, 18)]
    if size:
        there = [(*some[:-1], replace(some[-1], value=b"v" * size)) for some in there]
    took(sending, *map(batch, there))
    wanted = expected(
        [record for some in there for record in some],
        [(0, change.digest)],
        OUTSIDE.origin(sending.work),
    )
    assert records(sending) == wanted
    assert sending.expected == 27
    sequences = [(each.sequence, each.count) for each in batches(sending)]
    assert sequences[0][0] == 0
    assert all(a + n == b for (a, n), (b, _) in pairwise(sequences))
    if name not in {"quarantine"}:
        assert len(sequences) == (3 if size else 1)


def test_without_a_change_batches_stay_unopened() -> None:
    sending = changed(NO_CHANGE)
    data = batch(numbered([Record(b"k", b"v" * 5000)]))
    took(sending, data)
    [sent] = batches(sending)
    assert bytes(sent.data)[61:] == bytes(data)[61:]


def test_dropped_records_are_holes_that_nothing_fills() -> None:
    sending = changed(CHANGES["tombstones"])
    took(sending, batch(numbered([Record(b"k", None, (), 1)] * 3)))
    took(sending, batch(numbered([Record(b"k", None), Record(b"k", b"v"), Record(b"k", None)], 3)))
    first, second = items(sending)
    assert isinstance(first, Fill)
    assert isinstance(second, Batch)
    assert (first.base, first.end, first.holes) == (0, 3, 3)
    assert (second.base, second.end, second.count, second.sequence) == (4, 6, 1, 0)
    sent = sending.next_batch()
    assert sent is second
    sending.acknowledge(TargetOffset(0))
    progress = sending.progress
    assert (progress.position.source, progress.position.target, progress.records) == (6, 1, 1)
    assert receipt_tally(sending) == (("dropped:tombstones", 5),)


def receipt_tally(of: Lane) -> Tally:
    return of.progress.receipt(LinkName("link"), "copier").tally


def test_records_for_the_quarantine_are_there_before_anything_behind_them() -> None:
    quarantine = StandInQuarantine()
    sending = changed(ASIDE, outside=replace(OUTSIDE, quarantine=quarantine))
    took(sending, batch(numbered([with_id(1), with_id(4), with_id(2)])))
    wait, one, hole, two = items(sending)
    assert isinstance(wait, Wait)
    assert isinstance(hole, Fill)
    assert isinstance(one, Batch)
    assert isinstance(two, Batch)
    assert (one.base, one.end, hole.base, hole.end, hole.holes, two.base, two.end) == (
        0, 1, 1, 2, 1, 2, 3
    )  # fmt: skip
    assert sending.next_batch() is None
    assert wait.ready()
    assert quarantine.taken == [1]
    sending.queue.waited(wait)
    assert sending.next_batch() is one


def test_without_a_quarantine_a_lane_stops_there() -> None:
    stops_at_1(changed(ASIDE, outside=replace(OUTSIDE, quarantine=None)))


def test_a_lane_stops_at_a_bad_record_if_the_file_says_so() -> None:
    stops_at_1(changed(STRICT))


def stops_at_1(sending: Lane) -> None:
    took(sending, batch(numbered([with_id(1), with_id(4), with_id(2)])))
    assert sending.holds
    one, stop = items(sending)
    assert isinstance(one, Batch)
    assert isinstance(stop, Stop)
    assert (one.base, one.end, one.count) == (0, 1, 1)
    assert sending.next_batch() is one
    sending.acknowledge(TargetOffset(0))
    sending.pass_over()
    assert sending.stopped
    trouble = sending.progress.trouble
    assert trouble is not None
    assert trouble.code == ReasonCode.RECORD_BAD
    assert "record at offset 1 " in str(trouble)
    assert sending.progress.position.source == 1
    took(sending, batch(numbered([with_id(2)], 3)))
    assert not sending.queue.waiting


@dataclass
class GrowingIds:
    """Decisions that come later."""

    known: IdTable = field(default_factory=lambda: IdTable.of({}, {1: 11}))
    wanted: list[int] = field(default_factory=list)

    def table(self, _a: Assignment, _change: RecordChange) -> IdTable:
        return self.known

    def want(self, _a: Assignment, _change: RecordChange, unknown: Sequence[UnknownId]) -> Ready:
        self.wanted += [int(each.name) for each in unknown]
        return lambda: self.known != IdTable.of({}, {1: 11})


def test_a_lane_waits_for_unknown_ids_and_takes_nothing_in() -> None:
    ids = GrowingIds()
    sending = changed(IDS, outside=replace(OUTSIDE, ids=ids))
    data = [
        batch(numbered([with_id(1, b"v" * 5000)], 0)),
        batch(numbered([with_id(2, b"v" * 5000), with_id(1)], 1)),
        batch(numbered([with_id(1, b"v" * 5000)], 3)),
    ]
    took(sending, *data)
    one, wait = items(sending)
    assert isinstance(one, Batch)
    assert isinstance(wait, Wait)
    assert wait.bounded
    assert "ids 2" in str(wait.why)
    assert (sending.holds, sending.expected, ids.wanted) == (True, 1, [2])
    took(sending, *data[1:])
    assert items(sending) == [one, wait]
    ids.known = IdTable.of({}, {1: 11, 2: 12})
    sending.queue.waited(wait)
    took(sending, *data[1:])
    assert [r.offset for r in records(sending)] == [0, 1, 2, 3]
    assert [r.value[1:5] for r in records(sending) if r.value] == [
        struct.pack(">i", each) for each in (11, 12, 11, 11)
    ]


def test_a_jump_ends_a_wait_for_ids_of_records_that_are_gone() -> None:
    ids = GrowingIds()
    passed = held(ENV, [Record(b"k", b"gone", (), 1)], 1)
    begins = replace(standing(), change=IDS, mode=Mode.MAPPED, passed=passed)
    sending = changed(IDS, begins, outside=replace(OUTSIDE, ids=ids))
    took(sending, batch(numbered([with_id(2)])))
    assert sending.holds
    sending.jump(SourceOffset(9), Reason.of(ReasonCode.OFFSET_TAKEN, found=1, expected=2))
    assert not sending.queue.waiting
    assert not sending.holds


def held(change: RecordChange, there: Sequence[Record], count: int, at: int = 0) -> BeyondReceipt:
    """Return the first kept records as the target holds them from an offset on."""
    work = replace(lane().work, change=change)
    kept = expected(there, [(0, change.digest)], OUTSIDE.origin(work))[:count]
    if not kept:
        return BeyondReceipt()
    mapped = change.drops
    offsets = [at + n if mapped else record.offset for n, record in enumerate(kept)]
    _, hashes = record_hashes(bytes(batch(numbered(kept))))
    return BeyondReceipt(offsets, hashes)


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "quarantine"])
@pytest.mark.parametrize("count", [0, 1, 5, 12])
def test_records_that_the_target_holds_are_known_again_by_their_changed_bytes(
    name: str, count: int
) -> None:
    rng, change = random.Random(count), CHANGES[name]
    there = numbered(varied(rng, 40))
    begins = replace(
        standing(), change=change, mode=_mode(change), passed=held(change, there, count)
    )
    sending = changed(change, begins)
    took(sending, *(batch(there[at : at + 8]) for at in range(0, 40, 8)))
    wanted = expected(there, [(0, change.digest)], OUTSIDE.origin(sending.work))
    assert records(sending) == wanted[count:]
    assert sending.progress.records == count
    assert batches(sending)[0].sequence == count


def test_what_rules_drop_between_records_that_are_known_again_is_counted() -> None:
    change = CHANGES["tombstones"]
    values = [b"v", None, None, None, None, b"v", None]
    there = numbered([Record(b"k", value, (), 1) for value in values])
    passed = held(change, there, 2)
    begins = replace(standing(), change=change, mode=Mode.MAPPED, passed=passed)
    sending = changed(change, begins)
    took(sending, *(batch(there[at:end]) for at, end in ((0, 2), (2, 4), (4, 7))))
    sending.pass_over()
    assert sending.progress.position.source == 7
    assert receipt_tally(sending) == (("dropped:tombstones", 5),)


@pytest.mark.parametrize("name", ["constant", "tombstones", "all"])
@pytest.mark.parametrize("count", [1, 5, 12])
def test_a_lane_under_another_change_passes_over_what_was_written_under_the_old_one(
    name: str, count: int
) -> None:
    rng, old = random.Random(count), CHANGES[name]
    there = numbered(varied(rng, 40))
    begins = replace(standing(), change=old, mode=_mode(old), passed=held(old, there, count))
    sending = changed(IDS, begins)
    assert not sending.outdated
    took(sending, *(batch(there[at : at + 8]) for at in range(0, 40, 8)))
    assert (sending.outdated, sending.holds, items(sending)) == (True, True, [])
    kept = expected(there, [(0, old.digest)], OUTSIDE.origin(sending.work))
    position = sending.progress.position
    assert (position.source, position.sequence) == (kept[count - 1].offset + 1, count)
    receipt = sending.progress.receipt(LinkName("link"), "copier")
    assert (receipt.change, receipt.changed) == (old.digest, ())


def test_with_nothing_to_pass_over_it_is_outdated_at_once() -> None:
    sending = changed(ENV, standing())
    assert (sending.outdated, sending.holds) == (True, True)
    took(sending, batch(numbered([with_id(1)])))
    assert items(sending) == []


def test_records_that_the_target_refuses_are_left_out_of_batches_that_have_them() -> None:
    begins = replace(standing(), refused=frozenset({SourceOffset(1)}))
    sending = changed(NO_CHANGE, begins)
    large = [batch(numbered([Record(b"k", b"v" * 5000)] * 2, at)) for at in (0, 2)]
    took(sending, *large)
    one, hole, rest = items(sending)
    assert isinstance(one, Batch)
    assert isinstance(hole, Fill)
    assert isinstance(rest, Batch)
    assert (one.base, one.end, hole.base, hole.end, rest.base, rest.end) == (0, 1, 1, 2, 2, 4)
    assert bytes(rest.data)[61:] == bytes(large[1])[61:]


def test_small_batches_are_joined_while_they_wait_and_keep_what_was_counted() -> None:
    sending = changed(RecordChange(ids=IdChange(), headers=(AddedHeader(name="e", text="p"),)))
    for at in range(3):
        took(sending, batch(numbered([with_id(1)], at)))
    first = sending.next_batch()
    assert first is not None
    assert (first.base, first.end, first.count) == (0, 3, 3)
    assert first.tally.by_kind() == (("headers", 3), ("ids", 3))


def sent(of: Lane, *, at: int = 0, most: int = 99) -> int:
    """Send at most so many batches, and take the target's answers. Returns the end of its log."""
    for _ in range(most):
        each = of.next_batch()
        if each is None:
            break
        of.acknowledge(TargetOffset(at))
        of.unanswered -= 1
        at += each.count
    return at


def counted(change: RecordChange, there: Sequence[Record], of: Lane) -> Tally:
    ids = decisions(change)
    found = Twin(change, OUTSIDE.origin(of.work), ids, ids).apply(there)
    return tuple(sorted((+found.counts).items()))


@pytest.mark.parametrize("name", ["all", "tombstones", "ids"])
def test_what_is_fetched_again_is_counted_once(name: str) -> None:
    """Memory is short, so that batches are dropped before and after some of them were sent."""
    rng, change = random.Random(11), CHANGES[name]
    sending = changed(change)
    small = 600  # each source batch becomes several
    sending = Lane(
        replace(sending.work, max_batch=small),
        replace(standing(), change=change, mode=_mode(change)),
        small=100,
        outside=OUTSIDE,
    )
    there = [
        replace(r, value=r.value if r.offset % 20 else None) for r in numbered(varied(rng, 120))
    ]
    data = [batch(there[first : first + 20]) for first in range(0, 120, 20)]
    at = shed = 0
    for _ in range(1000):
        if sending.expected == 120 and not sending.queue:
            break
        took(sending, *(each for n, each in enumerate(data) if 20 * n + 20 > sending.expected))
        at = sent(sending, at=at, most=rng.randrange(4))
        shed += sending.shed()
    sending.pass_over()
    assert shed > 2
    assert sending.progress.position.source == 120
    assert sending.progress.records == at
    assert receipt_tally(sending) == counted(change, there, sending)


@pytest.mark.parametrize(
    ("by", "already"), [(CHANGES["ids"], range(20, 40)), (NO_CHANGE, range(0))]
)
def test_what_the_target_lost_is_counted_once(by: RecordChange, already: range) -> None:
    """A repair copies it again. Under another change it was not counted yet."""
    change = CHANGES["ids"]
    there = numbered(varied(random.Random(3), 60))
    lost = (SourceOffset(20), SourceOffset(40), by.digest)
    sending = changed(change, replace(standing(), change=change, counted=(lost,)))
    new = [each for each in there if each.offset not in already]
    at = 0
    for first in range(0, 60, 15):
        took(sending, batch(there[first : first + 15]))
        at = sent(sending, at=at)
        told = sending.progress.receipt(LinkName("link"), "copier")
        assert told.counted == ((lost,) if told.source_end < 40 else ())
    assert at == 60
    assert receipt_tally(sending) == counted(change, new, sending)


def test_what_was_cut_at_the_source_is_counted_anew() -> None:
    lost = (SourceOffset(0), SourceOffset(9), IDS.digest)
    sending = changed(IDS, replace(standing(), change=IDS, counted=(lost,)))
    sending.progress.move(SourceOffset(5), -1)
    sending.progress.move(SourceOffset(3), -1)
    assert sending.progress.receipt(LinkName("link"), "copier").counted == ()


@pytest.mark.parametrize("name", ["all", "ids"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_batch_that_is_sent_in_part_counts_that_part(name: str, most: int) -> None:
    change = CHANGES[name]
    work = replace(changed(change).work, max_batch=600)
    begins = replace(standing(), change=change, mode=_mode(change))
    first = Lane(work, begins, small=100, outside=OUTSIDE)
    there = numbered(varied(random.Random(5), 60))
    data = batch(there)
    took(first, data)
    at = sent(first, most=most)
    told = first.progress.receipt(LinkName("link"), "copier")
    assert 0 < told.source_end < 60
    assert told.tally == counted(change, there[: told.source_end], first)
    again = replace(
        begins,
        position=first.progress.position,
        records=told.records,
        tally=told.tally,
        run=told.run,
    )
    second = Lane(work, again, small=100, outside=OUTSIDE)
    took(second, data)
    sent(second, at=at)
    assert receipt_tally(second) == counted(change, there, second)


@pytest.mark.parametrize("asides", [True, False])
def test_what_is_behind_a_stop_is_not_counted_before_it_is_copied(asides: bool) -> None:
    malformed = Malformed.QUARANTINE if asides else Malformed.STOP
    change = RecordChange(
        ids=IdChange(key=SubjectStrategy.TOPIC, malformed=malformed), headers=ENV.headers
    )
    there = [with_id(1), with_id(1), replace(with_id(4), key=b"\0\0\0\0\1k"), with_id(1)]
    stopped = changed(change, outside=replace(OUTSIDE, quarantine=None))
    took(stopped, batch(numbered(there)))
    sent(stopped)
    assert stopped.stopped
    assert receipt_tally(stopped) == (("headers", 2), ("ids", 2))


def test_decisions_cover_all_varied_records() -> None:
    assert None in decisions(IDS).values()


def test_batches_with_holes_keep_their_offsets_when_they_are_joined_and_split() -> None:
    rng, change = random.Random(3), CHANGES["tombstones"]
    sending = changed(change)
    there = numbered(varied(rng, 60))
    for at in range(0, 60, 6):
        took(sending, batch(there[at : at + 6]))
    wanted = expected(there, [(0, change.digest)], OUTSIDE.origin(sending.work))
    assert len(batches(sending)) > 5
    joined = merge(batches(sending), 1 << 20, 1)
    assert len(joined) == 1
    parts = split(joined[0], 300, 1)
    assert len(parts) > 3
    for some in (joined, parts):
        assert [offset for each in some for offset in source_offsets(each)] == [
            record.offset for record in wanted
        ]
        assert some[-1].end == 60
