"""Work that is done only as often as a small share of a thread allows."""

from __future__ import annotations

import pytest

from towpath.runtime.sparing import Sparing


class Machine:
    """A thread whose seconds, and those of the clock, pass as a test says."""

    def __init__(self) -> None:
        self.now, self.spent, self.done = 1000.0, 0.0, 0

    def work(self) -> None:
        """Work 0.2 s, for which a busy machine takes 3 s."""
        self.done += 1
        self.spent += 0.2
        self.now += 3.0


def test_it_rests_in_proportion_to_what_it_took() -> None:
    machine = Machine()
    sparing = Sparing(0.05, lambda: machine.spent, lambda: machine.now)
    for _ in range(200):
        sparing.attempt(machine.work)
        machine.now += 1.0
    assert machine.spent / (machine.now - 1000.0) == pytest.approx(0.05 * 3.8 / 6.8, abs=0.01)


def test_what_costs_nothing_is_done_each_time() -> None:
    done = list[None]()
    sparing = Sparing(0.05, lambda: 0.0, lambda: 1000.0)
    for _ in range(5):
        sparing.attempt(lambda: done.append(None))
    assert len(done) == 5
