"""The offset map against a plain table of every record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledger.reasons import RETENTION
from tests.support.ledger.runs import run
from towpath.ledger.entries import Gap, Run
from towpath.ledger.offset_runs import joined
from towpath.ledger.offsets import NOWHERE, Exactness, Extent, OffsetMap, TranslatedOffset
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TargetOffset, TopicName

GAP = Gap(
    link=LinkName("l"),
    topic=TopicName("t"),
    partition=0,
    producer_id=ProducerId(1),
    first=SourceOffset(2),
    end=SourceOffset(9),
    why=RETENTION,
    went_on=True,
    at=0,
)


def extent(start: int, target_start: int, end: int, target_end: int) -> Extent:
    return Extent(
        SourceOffset(start), TargetOffset(target_start), SourceOffset(end), TargetOffset(target_end)
    )


@st.composite
def maps(draw: st.DrawFn) -> list[Run]:
    """Ascending runs with holes on both sides, the first hole of each possibly empty."""
    source, target, made = draw(st.integers(0, 50)), draw(st.integers(0, 50)), []
    for _ in range(draw(st.integers(1, 6))):
        source += draw(st.integers(0, 5))
        target += draw(st.integers(0, 5))
        length = draw(st.integers(1, 10))
        made.append(run(source, target, length))
        source, target = source + length, target + length
    return made


def table(runs: list[Run]) -> dict[int, int]:
    return {s + i: t + i for s, t, length in runs for i in range(length)}


@given(maps(), st.randoms(use_true_random=False))
def test_every_record_is_found_in_both_directions(runs: list[Run], rng: object) -> None:
    shuffled = runs * 2
    getattr(rng, "shuffle")(shuffled)  # noqa: B009
    offsets, known = OffsetMap(joined(shuffled)), table(runs)
    for source, target in known.items():
        assert offsets.to_target(SourceOffset(source)) == TranslatedOffset(target, Exactness.EXACT)
        assert offsets.to_source(TargetOffset(target)) == TranslatedOffset(source, Exactness.EXACT)
    some = range(120)
    at = np.array(some)
    assert offsets.targets(at).tolist() == [known.get(source, NOWHERE) for source in some]
    back = {target: source for source, target in known.items()}
    assert offsets.sources(at).tolist() == [back.get(target, NOWHERE) for target in some]


@given(maps(), st.integers(0, 200))
def test_any_other_offset_leads_to_the_next_record(runs: list[Run], at: int) -> None:
    offsets, known = OffsetMap(runs), table(runs)
    answer = offsets.to_target(SourceOffset(at))
    following = [target for source, target in known.items() if source >= at]
    assert offsets.next_target(SourceOffset(at)) == min(following, default=max(known.values()) + 1)
    if at < runs[0][0]:
        assert answer.exactness is Exactness.BEFORE_START
    elif at > max(known) + 1:
        assert answer.exactness is Exactness.NOT_YET
    else:
        assert answer.exactness is Exactness.EXACT
    assert [target for target in known.values() if target >= answer.offset] == following
    assert bool(answer.why) is (answer.exactness is not Exactness.EXACT)


@given(maps(), st.integers(0, 200))
def test_both_directions_are_alike(runs: list[Run], at: int) -> None:
    mirrored = [run(target, source, length) for source, target, length in runs]
    forth, back = OffsetMap(runs), OffsetMap(mirrored)
    answers: list[TranslatedOffset[Any]] = [
        forth.to_target(SourceOffset(at)),
        back.to_source(TargetOffset(at)),
        forth.to_source(TargetOffset(at)),
        back.to_target(SourceOffset(at)),
    ]
    assert answers[::2] == answers[1::2]


def test_a_growing_run_takes_its_shorter_self_in() -> None:
    assert joined(
        [
            (SourceOffset(0), TargetOffset(5), 10),
            (SourceOffset(0), TargetOffset(5), 3),
            (SourceOffset(10), TargetOffset(15), 2),
        ]
    ).tolist() == [[0, 5, 12]]


@pytest.mark.parametrize(
    ("runs", "mirrored", "offset", "answer"),
    [
        ([], None, 3, TranslatedOffset(0, Exactness.NOT_YET, "mirrored up to offset 0 so far")),
        ([], extent(7, 4, 7, 4), 7, TranslatedOffset(4, Exactness.EXACT)),
        (
            [(5, 5, 2)],
            None,
            3,
            TranslatedOffset(5, Exactness.BEFORE_START, "mirroring began at offset 5"),
        ),
        (
            [(0, 0, 2), (9, 2, 2)],
            None,
            4,
            TranslatedOffset(2, Exactness.EXACT),
        ),
        (
            [(0, 0, 2)],
            None,
            4,
            TranslatedOffset(2, Exactness.NOT_YET, "mirrored up to offset 2 so far"),
        ),
        # Markers behind the last record are in no run.
        (
            [(0, 0, 2)],
            extent(0, 0, 5, 4),
            3,
            TranslatedOffset(2, Exactness.EXACT),
        ),
        ([(0, 0, 2)], extent(0, 0, 5, 4), 5, TranslatedOffset(4, Exactness.EXACT)),
    ],
)
def test_answers_tell_what_they_are(
    runs: list[Run], mirrored: Extent | None, offset: int, answer: TranslatedOffset[int]
) -> None:
    assert OffsetMap(runs, mirrored).to_target(SourceOffset(offset)) == answer


_FEW = [(0, 100, 100), (80, 200, 50)]
"""The source log was cut at offset 80, and written again up to 130."""


@pytest.mark.parametrize(
    ("runs", "mirrored", "log_start", "offset", "answer"),
    [
        pytest.param([(0, 0, 10)], (0, 0, 11, 10), 0, 11, (10, "exact"), id="behind a marker"),
        pytest.param([(0, 0, 10)], (0, 0, 11, 11), 0, 11, (11, "exact"), id="a filled marker"),
        pytest.param(_FEW, None, 100, 79, (179, "exact"), id="before the cut"),
        pytest.param(_FEW, None, 100, 80, (200, "exact"), id="at the cut"),
        pytest.param(_FEW, None, 100, 129, (249, "exact"), id="written again"),
        pytest.param(_FEW, None, 100, 130, (250, "exact"), id="behind all"),
        pytest.param(_FEW, None, 100, 190, (250, "not yet mirrored"), id="of a record cut off"),
        pytest.param([(0, 5, 3)], None, 5, 0, (5, "exact"), id="offset 0"),
        pytest.param([(0, 5, 3)], None, 5, 3, (8, "exact"), id="the log's end"),
        pytest.param([], (0, 0, 0, 0), 0, 0, (0, "exact"), id="an empty topic"),
        pytest.param([], (7, 7, 7, 7), 7, 7, (7, "exact"), id="emptied by retention"),
        pytest.param([(4, 4, 3)], None, 4, 1, (4, "before the start"), id="an expired commit"),
        pytest.param([(0, 0, 2), (5, 2, 3)], None, 0, 3, (2, "exact"), id="compacted"),
        pytest.param([(0, 0, 9)], None, 4, 6, (6, "exact"), id="the target deleted what was read"),
        pytest.param([(0, 0, 9)], None, 4, 2, (4, "lost"), id="the target deleted further"),
        pytest.param([(0, 0, 9)], None, 9, 2, (9, "lost"), id="the target deleted all"),
        pytest.param([(5, 5, 4)], (0, 0, 9, 9), 5, 2, (5, "bounded"), id="runs were tidied away"),
        pytest.param([(0, 0, 9)], None, 0, 10, (9, "not yet mirrored"), id="behind what is copied"),
    ],
)
def test_answers_at_the_edges_of_runs_say_how_exact_they_are(
    runs: list[Run],
    mirrored: tuple[int, int, int, int] | None,
    log_start: int,
    offset: int,
    answer: tuple[int, str],
) -> None:
    whole = extent(*mirrored) if mirrored is not None else None
    found = OffsetMap(joined(runs), whole, log_start=TargetOffset(log_start)).to_target(
        SourceOffset(offset)
    )
    assert (found.offset, str(found.exactness)) == answer
    assert bool(found.why) is (answer[1] != "exact")


def test_an_offset_in_a_gap_is_lost() -> None:
    offsets = OffsetMap(
        [(SourceOffset(0), TargetOffset(0), 2), (SourceOffset(9), TargetOffset(2), 2)], gaps=[GAP]
    )
    why = f"offsets 2 to 8 were not mirrored: {RETENTION}"
    assert offsets.to_target(SourceOffset(4)) == TranslatedOffset(2, Exactness.LOST, why)
    assert offsets.to_target(SourceOffset(9)) == TranslatedOffset(2, Exactness.EXACT)


def test_a_source_log_that_was_cut_and_written_again() -> None:
    """What was mirrored later holds; what was there before is on the target only."""
    offsets = OffsetMap(
        joined([(SourceOffset(0), TargetOffset(0), 10), (SourceOffset(6), TargetOffset(10), 5)])
    )
    assert offsets.runs == ((0, 0, 6), (6, 10, 5))
    assert offsets.replaced == ((6, 10),)
    assert offsets.to_target(SourceOffset(7)) == TranslatedOffset(11, Exactness.EXACT)
    why = "offsets 6 to 9 were mirrored before the source log was cut"
    assert offsets.to_source(TargetOffset(8)) == TranslatedOffset(6, Exactness.LOST, why)
    assert offsets.to_source(TargetOffset(11)) == TranslatedOffset(7, Exactness.EXACT)


def test_a_position_before_replaced_records_leads_behind_them() -> None:
    runs = [(0, 0, 5), (7, 5, 3), (6, 10, 5)]
    offsets = OffsetMap(joined([run(*each) for each in runs]))
    assert offsets.replaced == ((5, 8),)
    assert offsets.to_target(SourceOffset(5)) == TranslatedOffset(10, Exactness.EXACT)


@given(maps(), st.integers(0, 70), st.integers(0, 130))
def test_an_answer_that_passes_over_records_tells_up_to_where(
    runs: list[Run], at: int, log_start: int
) -> None:
    """All that was mirrored behind the position is on the target, or before that place."""
    answer = OffsetMap(runs, log_start=TargetOffset(log_start)).to_target(SourceOffset(at))
    unread = {source: target for source, target in table(runs).items() if source >= at}
    left = [source for source, target in unread.items() if target >= max(log_start, answer.offset)]
    passed = [source for source, target in unread.items() if target < answer.offset]
    if passed:
        assert answer.resumes > max(passed)
    if answer.resumes != NOWHERE and left:
        assert answer.resumes == min(left)


def test_a_gap_and_a_front_tell_up_to_where_they_pass_over() -> None:
    offsets = OffsetMap([run(0, 0, 2), run(9, 2, 3)], gaps=[GAP])
    assert offsets.to_target(SourceOffset(4)).resumes == 9
    assert OffsetMap([run(0, 0, 2)], gaps=[GAP]).to_target(SourceOffset(4)).resumes == 9
    assert offsets.to_target(SourceOffset(1)).resumes == NOWHERE
    late = OffsetMap([], extent(100, 100, 100, 100))
    assert late.to_target(SourceOffset(10)).resumes == 100
    forgotten = OffsetMap([run(60, 60, 40)], extent(0, 0, 100, 100), log_start=TargetOffset(60))
    assert forgotten.to_target(SourceOffset(10)).resumes == 60
