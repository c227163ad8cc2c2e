"""Metrics of a migration's run, served for Prometheus if the file configures it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from towpath import __version__
from towpath.kraft.config import KraftConfig
from towpath.kraft.decide.moves import Facts
from towpath.kraft.facts.nouns import Alarm, Stage
from towpath.kraft.metrics.measure import KraftCounts, KraftMeter, measured
from towpath.metering.serving import served
from towpath.runtime.clock import now_ms

Tell = Callable[[Facts, str], None]


class Teller:
    """Reports observations and steps of a run, and notices of drivers.

    Args:
        tell: Is told.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._facts: Facts | None = None

    def __call__(self, facts: Facts, doing: str) -> None:
        """Tell what a look found, and what is done."""
        self._facts = facts
        self._tell(facts, doing)

    def add(self, text: str) -> None:
        """Report a notice between two observations."""
        if self._facts is not None:
            self._tell(self._facts, text)


@contextmanager
def telling(config: KraftConfig, tell: Tell) -> Iterator[Tell]:
    """Yield a function to call with each observation, which serves metrics and calls `tell`.

    Raises:
        ConfigError: The address of `metrics.listen` cannot be listened on.
    """
    meter = KraftMeter()

    def told(facts: Facts, doing: str) -> None:
        meter.tell(counts(facts))
        # Each step begins behind a look, at which nothing is being done.
        if not doing:
            meter.step_begun = None
        elif meter.step_begun is None:
            meter.step_begun = now_ms() / 1000
        tell(facts, doing)

    with served(config.metrics.address, meter, lambda: measured(meter, __version__, config.kraft)):
        yield told


def counts(facts: Facts) -> KraftCounts:
    """Return the metric values of an observation."""
    standing, seen = facts.standing, facts.seen
    modes = Counter(each.mode or "none" for each in seen.brokers.values())
    compared = seen.comparison
    different = Counter(each.kind for each in compared.differences) if compared else Counter[str]()
    return KraftCounts(
        at=seen.at,
        state=None if standing.kip is None else int(standing.kip),
        kafka_state=standing.metric,
        stages={each: int(each is standing.stage) for each in Stage},
        alarms={each: int(standing.has(each)) for each in Alarm},
        differences={kind: different[kind] for kind in (compared.compared if compared else ())},
        brokers=modes,
        unseen=len(seen.unseen),
    )
