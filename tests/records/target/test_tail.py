"""What the log tells of our batches behind a receipt."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.support.copying.lanes import PRODUCER, lane, plain, standing, took
from tests.support.logs.batches import batch, numbered
from towpath.cluster.codes import OFFSET_OUT_OF_RANGE
from towpath.cluster.data.client import Records
from towpath.cluster.data.fetch_bodies import Fetched
from towpath.cluster.metadata import ProducerState
from towpath.model.errors import DoubledError, RefusedError, TargetLostError, UnreachableError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset, TopicPartition
from towpath.records.standing import Position
from towpath.records.target.resuming import look_behind
from towpath.records.target.state import TargetState
from towpath.records.target.tail import Tails, Underway, follow
from towpath.records.target.written import Span, surplus
from towpath.runtime.clock import now_ms
from towpath.wire import batch as wire
from towpath.wire.plain import Record

WORK = lane().work
AT = Position(SourceOffset(100), TargetOffset(200), 50)
DAY_MS = 86_400_000


def spans(*parts: tuple[int, int, int]) -> list[Span]:
    """Return spans of target offset, sequence and length."""
    return [Span(first, first + length, sequence, length) for first, sequence, length in parts]


def test_batches_that_follow_each_other_are_ours_once() -> None:
    found = spans((200, 50, 10), (215, 60, 5))
    assert follow(WORK, found, AT, begins_later=False) == (0, 65)
    assert follow(WORK, [], AT, begins_later=False) == (0, 50)


def test_sequences_wrap() -> None:
    last = wire.SEQUENCES - 1
    found = spans((200, last, 1), (201, 0, 4))
    assert follow(
        WORK, found, Position(SourceOffset(0), TargetOffset(200), last), begins_later=False
    ) == (0, 4)


@pytest.mark.parametrize(
    ("found", "stretch"),
    [
        (spans((200, 40, 10)), (200, 210, 10)),
        (spans((200, 50, 10), (210, 50, 10), (220, 60, 5)), (210, 220, 10)),
        (spans((200, 50, 10), (210, 30, 5), (215, 35, 5)), (210, 220, 10)),
    ],
)
def test_repeated_sequences_are_named(found: list[Span], stretch: tuple[int, int, int]) -> None:
    with pytest.raises(DoubledError) as raised:
        follow(WORK, found, AT, begins_later=False)
    assert (raised.value.first, raised.value.end, raised.value.records) == stretch


def test_missing_sequences_are_a_loss_unless_retention_or_the_cleaner_took_them() -> None:
    found = spans((220, 70, 5))
    with pytest.raises(TargetLostError):
        follow(WORK, found, AT, begins_later=False)
    assert follow(WORK, found, AT, begins_later=True) == (20, 75)
    assert follow(replace(WORK, compacted=True), found, AT, begins_later=False) == (0, 75)
    with pytest.raises(TargetLostError):
        follow(WORK, [*found, *spans((230, 80, 5))], AT, begins_later=True)


class StandInLog:
    """A client that reads a target log of batches of ours."""

    def __init__(self, *batches: bytearray) -> None:
        self._data, self.start = bytearray(b"".join(batches)), 0

    def fetch(self, tp: TopicPartition, at: int, **_: object) -> Records:
        if at < self.start:
            raise RefusedError("target", "reading", OFFSET_OUT_OF_RANGE, "OFFSET_OUT_OF_RANGE")
        buffer = np.frombuffer(self._data, np.uint8)
        table = wire.scan(buffer, 0, len(buffer))
        end = int(table[-1, wire.LAST]) + 1 if len(table) else at
        said = Fetched(
            tp=tp,
            error=0,
            high_watermark=end,
            last_stable=end,
            log_start=self.start,
            aborted=(),
            preferred_replica=-1,
            start=0,
            end=len(buffer) if at < end else 0,
        )
        return Records(bytearray(buffer), said)


def content(base: int, count: int) -> tuple[Record, ...]:
    return numbered([Record(b"k", b"%d" % offset) for offset in range(base, base + count)], base)


def ours(at: int, base: int, count: int) -> bytearray:
    """Return the source's records [base, base + count) as we wrote them at target offset `at`.

    Their sequences are their source offsets.
    """
    records = [replace(each, offset=at + n) for n, each in enumerate(content(base, count))]
    data = batch(records, producer_id=PRODUCER)
    header = replace(wire.BatchHeader.read(data), producer_epoch=0, base_sequence=base).write()
    data[: len(header)] = header
    return wire.seal(data)


def tails(*batches: bytearray) -> Tails:
    return Tails(StandInLog(*batches), 30.0, DAY_MS)  # type: ignore[arg-type]  # a stand-in


def state(end: int, last: int | None, *, earliest: int = 0, at: int | None = None) -> TargetState:
    """Return what a leader says that remembers a record of sequence `last` and of the time `at`."""
    known = ProducerState(PRODUCER, last or 0, now_ms() if at is None else at, -1)
    return TargetState(
        1, TargetOffset(earliest), TargetOffset(end), {} if last is None else {PRODUCER: known}
    )


def test_a_doubled_stretch_is_named_where_the_leader_knows_us_again() -> None:
    found = tails(ours(100, 90, 10), ours(110, 100, 5))
    with pytest.raises(DoubledError) as raised:
        found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), state(115, 104))
    assert (raised.value.first, raised.value.end, raised.value.records) == (100, 110, 10)


def test_what_target_retention_took_is_counted_once_where_offsets_are_identical() -> None:
    """Else as many records behind it would be taken for deleted ones, and never be copied."""
    gone = standing(100)
    look_behind(tails(), WORK, gone, state(110, 109, earliest=110))
    assert gone.position == Position(SourceOffset(110), TargetOffset(110), 110)
    going = lane()
    going.resume(gone)
    took(going, batch(content(110, 5)))
    sent = going.next_batch()
    assert sent is not None
    assert (sent.base, sent.count, sent.sequence) == (110, 5, 110)


def test_what_target_retention_left_is_passed_over_where_offsets_are_identical() -> None:
    cut = standing(100)
    look_behind(tails(ours(100, 100, 10)), WORK, cut, state(110, 109, earliest=103))
    going = lane()
    going.resume(cut)
    took(going, batch(content(100, 10)))
    assert going.progress.position == Position(SourceOffset(110), TargetOffset(110), 110, 3)


@pytest.mark.parametrize("ahead", [0, 5])
@pytest.mark.parametrize(
    ("last_at", "oldest", "waits"),
    [(2, 2, True), (0, 2, True), (2, None, True), (0, 0, False), (0, None, False)],
)
def test_a_leader_that_may_forget_us_is_given_time_though_it_knows_us_now(
    ahead: int, last_at: int, oldest: int | None, *, waits: bool
) -> None:
    """A batch in its buffers would land, and again with us once it has forgotten that one."""
    found, now = tails(ours(100, 100, 5)), now_ms()
    old = None if oldest is None else now - oldest * DAY_MS
    found.may_arrive(WORK.source, Underway(1, 120, old))
    said = state(100 + ahead, 99 + ahead, at=now - last_at * DAY_MS)
    if waits:
        with pytest.raises(UnreachableError, match="may still arrive for 30 s"):
            found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), said)
    else:
        assert (
            len(
                found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), said).passed
            )
            == ahead
        )


@pytest.mark.parametrize(("end", "node"), [(105, 1), (120, 2)])
def test_nothing_is_waited_for_that_has_arrived_or_is_void(end: int, node: int) -> None:
    found = tails(ours(100, 100, 5))
    found.may_arrive(WORK.source, Underway(node, end, 0))
    assert (
        len(
            found.behind(
                WORK, Position(SourceOffset(100), TargetOffset(100), 100), state(105, 104, at=0)
            ).passed
        )
        == 5
    )


def test_an_answer_counts_only_if_it_was_asked_for_when_nothing_could_arrive_any_more() -> None:
    found = Tails(StandInLog(), 0.01, DAY_MS)  # type: ignore[arg-type]  # a stand-in
    found.may_arrive(WORK.source, Underway())
    early = state(100, None)
    with pytest.raises(UnreachableError):
        found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), early)
    time.sleep(0.02)
    with pytest.raises(UnreachableError):
        found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), early)
    found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), state(100, None))


def test_what_could_not_be_opened_is_settled_once_its_leader_has_answered_for_long() -> None:
    found = Tails(StandInLog(ours(100, 90, 10)), 0.01, DAY_MS)  # type: ignore[arg-type]  # a stand-in
    assert found.settled(WORK.source)
    found.may_arrive(WORK.source, Underway())
    assert not found.settled(WORK.source)
    with pytest.raises(DoubledError):
        found.behind(WORK, Position(SourceOffset(100), TargetOffset(100), 100), state(110, None))
    time.sleep(0.02)
    assert found.settled(WORK.source)


def cleaned(data: bytearray, *gone: int) -> bytearray:
    """Return a batch of ours as the cleaner leaves it, without records at some target offsets."""
    header, kept = wire.BatchHeader.read(data), []
    first = header.base_sequence
    for record in content(first, header.count):
        at = header.base_offset + record.offset - first
        kept += [replace(record, offset=at)] * (at not in gone)
    last = header.base_offset + header.count - 1
    left = batch(kept, producer_id=PRODUCER, base=header.base_offset, last=last)
    rest = replace(wire.BatchHeader.read(left), producer_epoch=0, base_sequence=first).write()
    left[: len(rest)] = rest
    return wire.seal(left)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mapped", [True, False])
def test_what_the_cleaner_removed_of_a_hidden_tail_is_not_written_again(
    *, known: bool, mapped: bool
) -> None:
    shift = 7 if mapped else 0
    there = [cleaned(ours(100 + shift, 100, 5), 100 + shift, 103 + shift)]
    there += [cleaned(ours(105 + shift, 105, 3), 106 + shift), ours(108 + shift, 108, 2)]
    work = replace(WORK, compacted=True)
    begun = standing(100)
    if mapped:
        begun.mode, begun.position = (
            Mode.MAPPED,
            Position(SourceOffset(100), TargetOffset(107), 100),
        )
    look_behind(tails(*there), work, begun, state(110 + shift, 109 if known else None))
    going = lane()
    going.resume(begun)
    took(going, batch(content(100, 7)), batch(content(107, 5)))
    position = going.progress.position
    assert (position.target, position.sequence) == (110 + shift, 110)
    assert going.progress.mode is begun.mode
    sent = going.next_batch()
    assert sent is not None
    assert (sent.base, sent.count, sent.sequence) == (110, 2, 110)


def test_what_both_sides_removed_of_a_hidden_tail_is_passed_over() -> None:
    begun = standing(100)
    begun.mode = Mode.MAPPED
    look_behind(
        tails(cleaned(ours(100, 100, 10), 101, 102, 105)),
        replace(WORK, compacted=True),
        begun,
        state(110, 109),
    )
    going = lane()
    going.resume(begun)
    kept = [each for each in content(100, 14) if each.offset not in {100, 102, 104, 107}]
    took(going, batch(kept, base=100))
    assert (going.progress.position.source, going.progress.position.sequence) == (110, 110)
    sent = going.next_batch()
    assert sent is not None
    assert (sent.base, sent.count, sent.sequence) == (110, 4, 110)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_both_cleaners_removed_no_record_is_lost_and_none_written_twice(seed: int) -> None:
    rng = random.Random(seed)
    hidden, new = range(100, 100 + rng.randrange(1, 30)), 5
    end = hidden.stop
    gone = {offset for offset in hidden if rng.random() < 0.4} - {end - 1}
    lost = {offset for offset in hidden if rng.random() < 0.3}
    begun = standing(100)
    begun.mode = Mode.MAPPED
    look_behind(
        tails(cleaned(ours(100, 100, len(hidden)), *gone)),
        replace(WORK, compacted=True),
        begun,
        state(end, end - 1),
    )
    going = lane()
    going.resume(begun)
    kept = [each for each in content(100, len(hidden) + new) if each.offset not in lost]
    took(going, batch(kept, base=100))
    sent = going.next_batch()
    assert sent is not None
    assert (sent.base, sent.count, sent.sequence) == (end, new, end)


def test_nothing_is_skipped_at_the_source_where_only_records_of_others_were_deleted() -> None:
    """They stood behind all of ours, so what the source has at their offsets is still to come."""
    begun = standing(100)
    look_behind(tails(), WORK, begun, state(105, 99, earliest=105))
    assert begun.position == Position(SourceOffset(100), TargetOffset(100), 100)


@pytest.mark.parametrize(("start", "found"), [(103, 7), (110, None)])
def test_what_the_target_deleted_is_looked_through_no_more(start: int, found: int | None) -> None:
    log = StandInLog(ours(100, 90, 10), plain(110))
    log.start = start
    doubled = surplus(log, WORK.target, 95, 110, {PRODUCER})  # type: ignore[arg-type]  # a stand-in
    assert (doubled and doubled.end) == (found and 110)
