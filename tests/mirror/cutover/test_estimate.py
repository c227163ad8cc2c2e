"""How long a cutover would take: by what was measured, and by what is assumed."""

from __future__ import annotations

import pytest

from towpath.mirror.cutover.estimate import ASSUMED, RehearsalTimes

MIB = 1 << 20


def test_it_goes_by_what_was_read() -> None:
    measured = RehearsalTimes(
        look=5.0, plan=1.0, spark=3.0, verify=10.0, read=500 * MIB, behind=100.0 * MIB, steps=20
    )
    assert not measured.assumed
    assert measured.estimate() == {"look": 5.0, "drain": 9.0, "sync": 3.0, "verify": 14.0}


@pytest.mark.parametrize(("read", "took"), [(0, 0.0), (0, 4.0), (1000, 4.0)])
def test_little_tells_nothing_of_the_speed(read: int, took: float) -> None:
    measured = RehearsalTimes(
        look=5.0, plan=1.0, spark=0.0, verify=took, read=read, behind=10.0 * ASSUMED, steps=0
    )
    assert measured.assumed
    assert measured.estimate() == {"look": 5.0, "drain": 14.0, "sync": 1.0, "verify": took + 20}


def test_nothing_behind_needs_no_speed() -> None:
    assert not RehearsalTimes(
        look=0.0, plan=0.0, spark=0.0, verify=0.1, read=0, behind=0.0, steps=0
    ).assumed
