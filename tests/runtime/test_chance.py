from __future__ import annotations

import random

from towpath.runtime.backoff import BackOff
from towpath.runtime.chance import CHANCE


def test_pauses_leave_the_random_numbers_of_a_program_alone() -> None:
    before, ours = random.getstate(), CHANCE.getstate()
    BackOff(1.0, 2.0, jitter=0.5).after(1)
    assert random.getstate() == before
    assert CHANCE.getstate() != ours
