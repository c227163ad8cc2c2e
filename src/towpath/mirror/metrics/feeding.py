"""Updates of a run's meter, which Prometheus reads if the file configures it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from towpath import __version__
from towpath.groups.model import SyncReport
from towpath.groups.sync_summaries import counts_of
from towpath.metering.serving import served
from towpath.mirror.metrics.measure import About, measured
from towpath.mirror.metrics.meter import LinkMeter, Tried
from towpath.mirror.metrics.stand import Stand
from towpath.mirror.status.changed import ChangedParts
from towpath.mirror.status.partition_status import OVER, PartitionStatus, State
from towpath.model.errors import TowpathError
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import Mode
from towpath.plan.applier import Told
from towpath.plan.differences import Differences
from towpath.plan.kinds import Step
from towpath.schemas.steps import RegisterSchemas, SetSubjectConfig
from towpath.schemas.subject import SUBJECT as SCHEMAS
from towpath.settings import LinkConfig
from towpath.topics.steps import CreateTopic

_FAILED_STEP = "step"


@contextmanager
def telling(config: LinkConfig) -> Iterator[LinkMeter]:
    """Return the run's meter, served for Prometheus if the file configures an address.

    Raises:
        ConfigError: The address of `metrics.listen` cannot be listened on.
    """
    meter = LinkMeter()
    about = About(
        __version__, config.link, config.metrics.detail, tuple(State), (*Cause, _FAILED_STEP)
    )
    with served(
        config.metrics.address,
        meter,
        lambda: measured(meter.read(), about),
        root=config.metrics.root_path,
    ):
        yield meter


def stands(rows: Iterable[PartitionStatus]) -> Iterator[Stand]:
    """Yield the standing of each partition for the meter."""
    for row in rows:
        changed = ChangedParts.of(row.tally)
        late = 0.0 if row.state in OVER else row.lag_seconds
        yield Stand(
            topic=row.topic,
            partition=row.partition,
            state=row.state,
            mapped=row.mode == Mode.MAPPED,
            incarnation=row.producer_id,
            records=row.records,
            bytes=row.bytes,
            lag_records=row.to_copy if row.lag_records >= 0 else None,
            lag_seconds=late if late >= 0 else None,
            gaps=len(row.losses),
            gap_offsets=sum(gap.end - gap.first for gap in row.losses),
            quarantined=dict(row.set_aside.quarantined),
            skipped=dict(row.set_aside.skipped),
            dropped=changed.dropped,
            rewritten=changed.rewritten,
            unchanged=changed.unchanged,
            from_archive=changed.from_archive,
            deleted=row.deleted.missed if row.deleted is not None else 0,
            unstable=0 if row.state in OVER else max(0, row.unstable),
            strays=row.strays,
            unkept=row.unkept,
        )


def telling_steps(meter: LinkMeter) -> Told:
    """Return a callback that counts each step."""

    def told(step: Step, error: TowpathError | None) -> None:
        meter.tried(Tried(step.subject, type(step).__name__, error.code if error else ""))

    return told


def telling_groups(meter: LinkMeter) -> Callable[[SyncReport], None]:
    """Return a callback that counts each sync of groups."""

    def told(report: SyncReport) -> None:
        outcomes = {str(each): number for each, number in report.outcomes.items()}
        meter.groups_synced(counts_of(report), outcomes, good=report.good)

    return told


def telling_changes(meter: LinkMeter) -> Callable[[Step, float], None]:
    """Return a callback that counts what was created, and the seconds it took."""

    def told(step: Step, seconds: float) -> None:
        if isinstance(step, CreateTopic):
            meter.created(seconds)
        elif isinstance(step, RegisterSchemas):
            meter.registered(len(step.versions), seconds)
        elif isinstance(step, SetSubjectConfig):
            meter.configured(seconds)

    return told


def tell_schemas(found: Differences, meter: LinkMeter) -> None:
    """Update the meter with the state of both schema registries, if they were observed."""
    for part in found.parts:
        if part.subject is not SCHEMAS or not part.found.counts:
            continue
        meter.schemas_seen(part.found.counts, None if part.seen.trouble else part.seen.at)


def tell_left_out(problems: Iterable[Problem], failed: int, meter: LinkMeter) -> None:
    """Update the number of left-out items, by cause."""
    causes = Counter[str](problem.cause for problem in problems)
    causes[_FAILED_STEP] += failed
    meter.left_out(causes)
