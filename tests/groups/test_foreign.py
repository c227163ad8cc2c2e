"""Positions in topics of other tools: no record is skipped, with and without headers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from towpath.groups.foreign import (
    CLOCKS,
    OFFSET_HEADER,
    Answer,
    HeaderSearch,
    Place,
    at_once,
    by_time,
    source_offset,
)
from towpath.ledger.offsets import Exactness, TranslatedOffset
from towpath.model.nouns import SourceOffset, TargetOffset
from towpath.wire.plain import Record


@dataclass(frozen=True)
class Logs:
    """A source log and what another tool made of it.

    Attributes:
        source: The records that consumers see, by offset.
        copies: Target offsets and the source offsets of the records there.
        start: The log start offset of the target.
        end: The end of the target log; markers may be before it.
    """

    source: dict[int, Record]
    copies: dict[int, int]
    start: int
    end: int

    def place(self, offset: int) -> Place:
        before = [at for at in self.source if at < offset]
        last = self.source[max(before)] if before else None
        ends = TargetOffset(self.start), TargetOffset(self.end)
        return Place(SourceOffset(offset), last, *ends)

    def first_at(self, offset: int) -> tuple[int, int] | None:
        return min(((at, of) for at, of in self.copies.items() if at >= offset), default=None)

    def guess(self, place: Place, earlier: int = 0) -> TargetOffset:
        if place.last is None:
            return place.start
        time = place.last.timestamp - earlier
        young = [at for at, of in self.copies.items() if self.source[of].timestamp >= time]
        return TargetOffset(min(young, default=self.end))


@st.composite
def logs(draw: st.DrawFn, *, repeats: bool = True) -> Logs:
    """Logs with gaps on both sides, times in any order, and copies that are there twice."""
    offsets = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=25)))
    times = st.integers(1, 12) if draw(st.booleans()) else st.just(5)
    source = {at: Record(b"k", b"%d" % at, (), draw(times), at) for at in offsets}
    copied, again = [*offsets[: draw(st.integers(0, len(offsets)))]], draw(st.integers(0, 6))
    if repeats and copied:
        copied += copied[-again:] if again else []
    copies, at = {}, draw(st.integers(0, 15))
    start = at
    for of in copied:
        at += draw(st.sampled_from((0, 0, 0, 1, 3)))
        copies[at] = of
        at += 1
    for place, of in reversed([*copies.items()]):  # the cleaner keeps the last copy, if any
        if copies.get(place) == of and not draw(st.integers(0, 9)):
            copies = {there: each for there, each in copies.items() if each != of or there > place}
    end = at + draw(st.integers(0, 2))
    if draw(st.booleans()) and copies:
        start = draw(st.integers(start, end))
        copies = {at: of for at, of in copies.items() if at >= start}
    return Logs(source, copies, start, end)


def searched(known: Logs, place: Place, guess: TargetOffset) -> tuple[Answer, int]:
    search, reads = HeaderSearch(place, guess), 0
    while search.at is not None:
        found, reads = known.first_at(search.at), reads + 1
        if found is None:
            search.nothing()
        else:
            search.told(TargetOffset(found[0]), SourceOffset(found[1]))
    return search.answer, reads


def skips_nothing(known: Logs, offset: int, answer: Answer) -> None:
    ahead = {of for of in known.copies.values() if of >= offset}
    assert {of for at, of in known.copies.items() if at >= answer.offset} >= ahead
    assert known.start <= answer.offset <= known.end
    assert bool(answer.why) is (answer.exactness is not Exactness.EXACT)


def answered(known: Logs, offset: int) -> Answer:
    place = known.place(offset)
    answer = at_once(place)
    if answer is None:
        answer, reads = searched(known, place, known.guess(place))
        assert reads <= 5
    event(answer.exactness)
    return answer


@given(logs(), st.integers(0, 42))
def test_headers_skip_nothing_even_where_copies_are_there_twice(known: Logs, offset: int) -> None:
    skips_nothing(known, offset, answered(known, offset))


@given(logs(repeats=False), st.integers(0, 42))
def test_headers_lead_to_the_place(known: Logs, offset: int) -> None:
    answer, last = answered(known, offset), known.place(offset).last
    first = known.first_at(answer.offset)
    if answer.exactness is Exactness.EXACT and first is not None:
        assert first[1] >= offset, "nothing is read again"
    if answer.exactness is Exactness.NOT_YET:
        assert first is None
        assert last is None or last.offset not in known.copies.values()


@given(logs(repeats=False), st.integers(0, 42), st.integers(1, 8))
def test_times_and_contents_skip_nothing(known: Logs, offset: int, near: int) -> None:
    place = known.place(offset)
    answer = at_once(place)
    if answer is None:
        guess = known.guess(place)
        found = [
            replace(known.source[of], offset=at) for at, of in known.copies.items() if at >= guess
        ]
        answer = by_time(place, guess, found[:near], stamped=False)
        assert answer.exactness in {Exactness.BOUNDED, Exactness.NOT_YET}
    if answer.exactness is not Exactness.NOT_YET:
        skips_nothing(known, offset, answer)


SOURCE = {at: Record(b"k", b"%d" % at, (), 1000 + at, at) for at in range(20)}
SHIFTED = Logs(SOURCE, {at + 10: at for at in range(20)}, 10, 30)


@pytest.mark.parametrize("offset", range(1, 21))
def test_a_whole_copy_is_exact_wherever_the_guess_was(offset: int) -> None:
    for guess in (10, offset + 9, 25, 30):
        answer, _ = searched(SHIFTED, SHIFTED.place(offset), TargetOffset(guess))
        assert (answer.offset, answer.exactness) == (offset + 10, Exactness.EXACT)


def test_offset_0_and_an_empty_target() -> None:
    assert at_once(SHIFTED.place(0)) == TranslatedOffset(TargetOffset(10), Exactness.EXACT)
    nothing_copied = at_once(replace(SHIFTED, copies={}, end=10).place(3))
    assert nothing_copied is not None
    assert (nothing_copied.offset, nothing_copied.exactness) == (10, Exactness.NOT_YET)


def test_a_target_that_lags_is_waited_for() -> None:
    lagging = replace(SHIFTED, copies={at + 10: at for at in range(8)}, end=19)
    place = lagging.place(12)
    answer, _ = searched(lagging, place, lagging.guess(place))
    assert (answer.offset, answer.exactness) == (19, Exactness.NOT_YET)
    timed = by_time(place, TargetOffset(19), [], stamped=False)
    assert (timed.offset, timed.exactness) == (19, Exactness.NOT_YET)


def test_a_target_that_begins_later_says_where() -> None:
    later = replace(SHIFTED, copies={at + 10: at for at in range(9, 20)}, start=19)
    answer, _ = searched(later, later.place(5), TargetOffset(19))
    assert (answer.offset, answer.exactness) == (19, Exactness.BEFORE_START)
    assert answer.why == "the target's log begins with the copy of source offset 9"


def test_a_target_with_times_of_its_own_is_entered_ten_minutes_early() -> None:
    place = SHIFTED.place(12)
    copy = replace(SOURCE[11], timestamp=99, offset=21)
    found = by_time(place, TargetOffset(11), [copy], stamped=True)
    assert (found.offset, found.exactness) == (21, Exactness.BOUNDED)
    early = by_time(place, TargetOffset(11), [], stamped=True)
    assert (early.offset, early.exactness) == (11, Exactness.BOUNDED)
    assert "10 minutes before" in early.why
    assert CLOCKS == 600_000


def test_the_last_header_of_the_name_counts() -> None:
    def of(*values: bytes | None) -> SourceOffset | None:
        return source_offset(Record(b"k", b"v", tuple((OFFSET_HEADER, each) for each in values)))

    assert of((7).to_bytes(8, "big")) == 7
    assert of(b"other", (1 << 40).to_bytes(8, "big")) == 1 << 40
    assert of(bytes(8)) == 0
    assert [of(), of(b"\0" * 7), of(None), of((7).to_bytes(8, "big"), b"")] == [None] * 4
