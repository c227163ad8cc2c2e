"""The offset map of random histories against a table of every record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import event, example, given
from hypothesis import strategies as st

from tests.support.ledger.reasons import RETENTION
from tests.support.ledger.runs import run
from towpath.ledger.entries import Gap
from towpath.ledger.offset_runs import joined
from towpath.ledger.offsets import Exactness, Extent, OffsetMap
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TargetOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode

CUT = Reason.of(ReasonCode.SOURCE_CUT, end=0)


@dataclass
class History:
    """A source log, the mirror partition, and what the ledger would hold of both.

    Attributes:
        source: Whether each source offset holds a record; `None` where it never will again.
        at: The target offset of each mirrored record that the source may still show.
        others: Target offsets of records that other producers wrote.
    """

    start: int
    target_start: int
    source: dict[int, bool] = field(default_factory=dict)
    at: dict[int, int] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)
    replaced: set[int] = field(default_factory=set)
    runs: list[tuple[int, int]] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    cuts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By its first offset: the end of each gap that a cut left, and the target offset then."""
    log_start: int = 0

    def __post_init__(self) -> None:
        self.end = self.position = self.start
        self.target_end = self.written = self.target_start

    @property
    def floor(self) -> int:
        """Where the source's log may begin: no cut reaches below it."""
        return max([self.start, *(end for _, end in self.gaps)])

    def records(self, count: int) -> None:
        for _ in range(count):
            self.source[self.end] = True
            self.end += 1

    def markers(self, count: int) -> None:
        """Append what consumers do not see: markers, aborted records."""
        for _ in range(count):
            self.source[self.end] = False
            self.end += 1

    def compact(self, every: int) -> None:
        for offset in range(self.position, self.end, every):
            self.source[offset] = False

    def mirror(self, count: int) -> None:
        for offset in range(self.position, min(self.end, self.position + count)):
            if self.source[offset]:
                self.at[offset] = self.target_end
                self.runs.append((offset, self.target_end))
                self.target_end += 1
            self.position, self.written = offset + 1, self.target_end

    def fill(self, count: int) -> None:
        """Markers on the target: of fills, or of a takeover."""
        self.target_end += count

    def meddle(self, count: int) -> None:
        self.others |= set(range(self.target_end, self.target_end + count))
        self.target_end += count

    def retain(self, count: int) -> None:
        """Delete the first records of the source that were not mirrored yet."""
        first, self.position = self.position, min(self.end, self.position + count)
        if first < self.position:
            self.gaps.append((first, self.position))

    def cut(self, count: int) -> None:
        """Cut the end of the source's log, below what was mirrored."""
        self.end = max(self.floor, self.position - count)
        self.cuts[self.end] = (self.position, self.written)
        self.replaced |= {there for offset, there in self.at.items() if offset >= self.end}
        self.at = {offset: there for offset, there in self.at.items() if offset < self.end}
        self.position = self.end

    def delete(self, count: int) -> None:
        """Delete the first records of the target."""
        self.log_start = min(self.written, max(self.log_start, self.target_start) + count)

    def tidy(self, _: int) -> None:
        """Forget the runs of deleted records."""
        self.runs = [each for each in self.runs if each[1] >= self.log_start]

    def gaps_noted(self) -> list[Gap]:
        gaps = [gap(first, end, RETENTION) for first, end in self.gaps]
        return gaps + [gap(first, end, CUT, at) for first, (end, at) in self.cuts.items()]

    def map(self, gaps: Sequence[Gap] | None = None) -> OffsetMap:
        extent = Extent(
            SourceOffset(self.start),
            TargetOffset(self.target_start),
            SourceOffset(self.position),
            TargetOffset(self.written),
        )
        noted = self.gaps_noted() if gaps is None else gaps
        runs = joined([run(offset, there, 1) for offset, there in self.runs])
        return OffsetMap(runs, extent, noted, TargetOffset(self.log_start))


def gap(
    first: int, end: int, why: Reason, target: int | None = None, *, went_on: bool = True
) -> Gap:
    return Gap(
        link=LinkName("l"),
        topic=TopicName("t"),
        partition=0,
        producer_id=ProducerId(1),
        first=SourceOffset(first),
        end=SourceOffset(end),
        why=why,
        went_on=went_on,
        at=0,
        target=None if target is None else TargetOffset(target),
    )


_CHANGES = (
    "records",
    "markers",
    "compact",
    "mirror",
    "fill",
    "meddle",
    "retain",
    "cut",
    "delete",
    "tidy",
)


def happened(*changes: tuple[str, int]) -> History:
    made = History(0, 0)
    for change, count in changes:
        getattr(made, change)(count)
    return made


_COPIED = ("records", 10), ("mirror", 10)
MARKERS_FIRST = happened(*_COPIED, ("cut", 5), ("markers", 2), ("mirror", 2))
"""Nothing tells yet that the source's log was cut, but the gap."""
SAME_DISTANCE = happened(*_COPIED, ("cut", 5), ("markers", 5), ("records", 3), ("mirror", 8))
"""The new records lie as far from each other as the old ones did, so one run holds both."""
_AGAIN = ("records", 4), ("mirror", 4)
CUT_TWICE = happened(*_COPIED, ("cut", 5), *_AGAIN, ("cut", 4), ("markers", 1))
ALL_CUT = happened(
    ("records", 1), ("mirror", 1), ("cut", 1), ("markers", 1), ("mirror", 1), ("delete", 1)
)
"""The only run is of a record that was cut off, and that the target has deleted."""


@st.composite
def histories(draw: st.DrawFn) -> History:
    made = History(draw(st.integers(0, 5)), draw(st.integers(0, 5)))
    likely = st.sampled_from(("records", "mirror", "mirror", "cut", "markers", *_CHANGES))
    for change in draw(st.lists(likely, max_size=14)):
        getattr(made, change)(draw(st.integers(1, 6)))
    return made


@given(histories())
@example(MARKERS_FIRST)
@example(SAME_DISTANCE)
@example(CUT_TWICE)
@example(ALL_CUT)
def test_a_consumer_that_moves_goes_on_at_the_next_record(history: History) -> None:
    offsets = history.map()
    for at in range(history.end + 4):
        answer = offsets.to_target(SourceOffset(at))
        event(answer.exactness)
        left = {there for offset, there in history.at.items() if offset >= at}
        kept = {there for there in left if there >= history.log_start}
        read = {there for there in history.at.values() if there >= answer.offset}
        assert read == kept, (at, answer)
        assert answer.exactness is expected(history, at), (at, answer)
        assert bool(answer.why) is (answer.exactness is not Exactness.EXACT)
        if answer.exactness is Exactness.EXACT:
            passed = range(answer.offset, min(kept, default=history.written))
            assert not history.replaced.intersection(passed), (at, answer)


def expected(history: History, at: int) -> Exactness:
    """Return what an answer should say of itself."""
    if any(first <= at < end for first, end in history.gaps):
        return Exactness.LOST
    live = [(o, there) for o, there in history.runs if history.at.get(o) == there]
    if any(offset >= at and there < history.log_start for offset, there in live):
        return Exactness.LOST
    front = history.start <= at < history.position and all(o > at for o, _ in live)
    if front and history.log_start > history.target_start:
        return Exactness.BOUNDED
    if at < history.start:
        return Exactness.BEFORE_START
    return Exactness.NOT_YET if at > history.position else Exactness.EXACT


@given(histories())
@example(MARKERS_FIRST)
@example(SAME_DISTANCE)
@example(CUT_TWICE)
@example(ALL_CUT)
def test_a_consumer_that_moves_back_goes_on_at_the_next_record(history: History) -> None:
    offsets = history.map()
    for there in range(max(history.log_start, history.target_start), history.written + 1):
        answer = offsets.to_source(TargetOffset(there))
        left = {offset for offset, at in history.at.items() if at >= there}
        assert {offset for offset in history.at if offset >= answer.offset} == left, (there, answer)
        assert (answer.exactness is Exactness.LOST) is (there in history.replaced)
    assert offsets.to_source(TargetOffset(history.written + 1)).exactness is Exactness.NOT_YET


@given(histories())
def test_nothing_is_translated_behind_a_cut_before_copying_went_back(history: History) -> None:
    """The lane still holds records from before the cut, or stopped there."""
    cut = SourceOffset(history.floor)
    if history.position == cut:
        return  # nothing is there that could be cut off
    for went_on, target in ((True, -1), (False, -1), (False, None)):
        gaps = [*history.gaps_noted(), gap(cut, history.position, CUT, target, went_on=went_on)]
        after = history.map(gaps)
        assert after.to_target(SourceOffset(cut + 1)).exactness is Exactness.NOT_YET
        behind = after.to_target(cut)
        assert (behind.offset, behind.exactness) == (history.written, Exactness.EXACT)
