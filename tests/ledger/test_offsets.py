"""The offset map against a plain table of every record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.ledger.entries import Run
from towpath.ledger.offsets import Answer, Exactness, OffsetMap


@st.composite
def maps(draw: st.DrawFn) -> list[Run]:
    """Ascending runs with holes on both sides, the first hole of each possibly empty."""
    source, target, made = draw(st.integers(0, 50)), draw(st.integers(0, 50)), []
    for _ in range(draw(st.integers(1, 6))):
        source += draw(st.integers(0, 5))
        target += draw(st.integers(0, 5))
        length = draw(st.integers(1, 10))
        made.append((source, target, length))
        source, target = source + length, target + length
    return made


def table(runs: list[Run]) -> dict[int, int]:
    return {s + i: t + i for s, t, length in runs for i in range(length)}


@given(maps(), st.randoms(use_true_random=False))
def test_every_record_is_found_in_both_directions(runs: list[Run], rng: object) -> None:
    shuffled = runs * 2
    getattr(rng, "shuffle")(shuffled)  # noqa: B009
    offsets = OffsetMap.of(shuffled)
    for source, target in table(runs).items():
        assert offsets.to_target(source) == Answer(target, Exactness.EXACT)
        assert offsets.to_source(target) == Answer(source, Exactness.EXACT)


@given(maps(), st.integers(0, 200))
def test_any_other_offset_leads_to_the_next_record_and_says_so(runs: list[Run], at: int) -> None:
    answer = OffsetMap.of(runs).to_target(at)
    known = table(runs)
    following = [target for source, target in known.items() if source >= at]
    if at in known:
        assert answer.exactness is Exactness.EXACT
    elif at < runs[0][0]:
        assert answer.exactness is Exactness.BEFORE_START
    elif not following and at > max(known) + 1:
        assert answer.exactness is Exactness.UNKNOWN
    if following and answer.exactness is not Exactness.EXACT:
        assert answer.offset == min(following)


def test_a_growing_run_takes_its_shorter_self_in() -> None:
    assert OffsetMap.of([(0, 5, 10), (0, 5, 3), (10, 15, 2)]).runs == ((0, 5, 12),)


@pytest.mark.parametrize(
    ("runs", "offset", "why"),
    [
        ([], 3, "nothing was copied yet"),
        ([(5, 5, 2)], 3, "the first run begins at 5"),
        ([(0, 0, 2), (9, 2, 2)], 4, "no record was copied between 2 and 9"),
        ([(0, 0, 2)], 4, "copied up to 2 so far"),
    ],
)
def test_an_answer_that_is_not_exact_says_why(runs: list[Run], offset: int, why: str) -> None:
    assert OffsetMap.of(runs).to_target(offset).why == why
