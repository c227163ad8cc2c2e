"""Pauses between attempts."""

from __future__ import annotations

from itertools import islice

from towpath.model.backoff import BackOff


def test_pauses_double_up_to_the_longest() -> None:
    assert list(islice(BackOff(0.5, 3.0).pauses(), 5)) == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert BackOff(0.5, 3.0).after(10**6) == 3.0


def test_jitter_stays_within_its_share() -> None:
    pauses = [BackOff(1.0, 1.0, jitter=0.2).after(1) for _ in range(200)]
    assert 0.8 <= min(pauses) < 0.95
    assert 1.05 < max(pauses) <= 1.2
