"""What a run tells its meter, and with it Prometheus where the file asks for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from towpath import __version__
from towpath.config import LinkConfig
from towpath.metrics.meter import Meter, Tried
from towpath.metrics.stand import Stand
from towpath.model.errors import TowpathError
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import Mode
from towpath.plan.applier import Told
from towpath.plan.kinds import Step
from towpath.status.status import PartitionStatus, State
from towpath.topics.steps import CreateTopic

_FAILED_STEP = "step"


@contextmanager
def telling(config: LinkConfig) -> Iterator[Meter]:
    """Give what counts, served for Prometheus within the context if the file asks for that.

    Raises:
        ConfigError: The address of `metrics.listen` cannot be listened on.
    """
    meter = Meter()
    if config.metrics.address is None:
        yield meter
        return
    # prometheus-client takes a tenth of a second, which not every run needs.
    from towpath.metrics.collector import About  # noqa: PLC0415
    from towpath.metrics.server import MetricsServer  # noqa: PLC0415

    causes = (*Cause, _FAILED_STEP)
    about = About(__version__, config.link, config.metrics.detail, tuple(State), causes)
    with MetricsServer(config.metrics.address, meter, about):
        yield meter


def stands(rows: Iterable[PartitionStatus]) -> Iterator[Stand]:
    """Yield where partitions stand, for the meter."""
    for row in rows:
        yield Stand(
            topic=row.topic,
            partition=row.partition,
            state=row.state,
            mapped=row.mode == Mode.MAPPED,
            incarnation=row.producer_id,
            records=row.records,
            bytes=row.bytes,
            lag_records=row.lag_records if row.lag_records >= 0 else None,
            lag_seconds=row.lag_seconds if row.lag_seconds >= 0 else None,
            gaps=len(row.gaps),
            gap_offsets=sum(gap.end - gap.first for gap in row.gaps),
        )


def telling_steps(meter: Meter) -> Told:
    """Return what tells of each step."""

    def told(step: Step, error: TowpathError | None) -> None:
        meter.tried(Tried(step.subject, type(step).__name__, error.code if error else ""))

    return told


def telling_changes(meter: Meter) -> Callable[[Step, float], None]:
    """Return what tells of each topic that was created, with the seconds that it took."""

    def told(step: Step, seconds: float) -> None:
        if isinstance(step, CreateTopic):
            meter.created(seconds)

    return told


def tell_left_out(problems: Iterable[Problem], failed: int, meter: Meter) -> None:
    """Tell how many things are left out, and why."""
    causes = Counter[str](problem.cause for problem in problems)
    causes[_FAILED_STEP] += failed
    meter.left_out(causes)
