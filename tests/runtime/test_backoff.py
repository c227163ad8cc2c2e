"""Pauses between attempts."""

from __future__ import annotations

from towpath.runtime.backoff import BackOff


def test_pauses_double_up_to_the_longest() -> None:
    assert [BackOff(0.5, 3.0).after(failures) for failures in range(1, 6)] == [0.5, 1, 2, 3, 3]
    assert BackOff(0.5, 3.0).after(10**6) == 3.0


def test_jitter_stays_within_its_share() -> None:
    pauses = [BackOff(1.0, 1.0, jitter=0.2).after(1) for _ in range(200)]
    assert 0.8 <= min(pauses) < 0.95
    assert 1.05 < max(pauses) <= 1.2
