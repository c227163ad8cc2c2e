"""When a run looks at its partitions again."""

from __future__ import annotations

from typing import cast

import pytest

from towpath.ledger.link import OpenLink
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.run import outlook
from towpath.mirror.run.outlook import Outlook
from towpath.mirror.run.progress import RunProgress


class Times:
    """A clock and the CPU time of this thread, in seconds, which looks move on."""

    def __init__(self) -> None:
        self.now, self.spent = 1000.0, 10.0

    def monotonic(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.spent


class Looks(Outlook):
    """Looks that take a certain time."""

    def __init__(self, times: Times, took: float, cost: float) -> None:
        link = cast("OpenLink", type("Link", (), {"events": None}))
        super().__init__(link, LinkMeter(), cast("RunProgress", None), ends=False)
        self._times, self._took, self._cost, self.count = times, took, cost, 0

    def look(self, patience: float | None = None) -> None:
        assert patience is not None
        self._times.now += self._took
        self._times.spent += self._cost
        self.count += 1


@pytest.mark.parametrize(
    ("took", "cost", "pause"),
    [
        pytest.param(0.02, 0.01, 1.0, id="cheap"),
        pytest.param(0.9, 0.01, 1.0, id="on a busy machine"),
        pytest.param(5.0, 0.01, 5.0, id="of a broker that is slow"),
        pytest.param(2.0, 0.4, 20.0, id="at many partitions"),
    ],
)
def test_a_look_costs_its_cpu_time(
    monkeypatch: pytest.MonkeyPatch, took: float, cost: float, pause: float
) -> None:
    times = Times()
    monkeypatch.setattr(outlook, "time", times)
    looks = Looks(times, took, cost)
    looks.look_when_due()
    times.now += pause * 0.99
    looks.look_when_due()
    assert looks.count == 1
    times.now += pause * 0.02
    looks.look_when_due()
    assert looks.count == 2
