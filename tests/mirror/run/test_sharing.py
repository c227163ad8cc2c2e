"""How a limit is shared among slices. Pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.ledger.entries import Used
from towpath.mirror.run.sharing import Need, shares

NEEDS = st.none() | st.builds(Need, st.floats(0, 1e9), st.floats(0, 1))


@given(st.floats(1, 1e10), st.lists(NEEDS, min_size=1, max_size=20))
def test_the_shares_are_the_whole_limit(rate: float, needs: list[Need | None]) -> None:
    found = shares(rate, needs)
    assert sum(found) == pytest.approx(rate)
    assert min(found) > 0


def test_slices_that_could_use_more_get_what_others_leave() -> None:
    idle, hungry = Need(0.0, 0.0), Need(50.0, 0.9)
    assert shares(100, [hungry, hungry]) == [50, 50]
    first, second = shares(100, [idle, hungry])
    assert first == pytest.approx(2.5)
    assert second == pytest.approx(97.5)
    assert shares(100, [Need(10, 0), hungry, None]) == pytest.approx(
        [12.67, 43.67, 43.67], abs=0.01
    )


def test_without_need_everything_is_shared_evenly() -> None:
    assert shares(100, [Need(0, 0)] * 4) == [25] * 4
    assert shares(100, [None] * 4) == [25] * 4
    assert shares(100, [Need(10, 0), Need(0, 0)]) == pytest.approx([55.5, 44.5])


def test_one_that_uses_more_than_an_even_share_does_not_starve_the_others() -> None:
    assert shares(100, [Need(90, 0.0), Need(5, 0.5)]) == [50, 50]
    assert shares(100, []) == []


def test_the_need_is_the_difference_of_two_reports() -> None:
    need = Need.between(Used(100, 1.0), Used(300, 1.5), 2.0)
    assert (need.used, need.waits, need.hungry) == (100, 0.25, True)
    assert Need.between(None, Used(300, 0.0), 2.0) == Need(150, 0.0)
    assert Need.between(Used(1000, 9.0), Used(300, 0.0), 2.0) == Need(150, 0.0)
