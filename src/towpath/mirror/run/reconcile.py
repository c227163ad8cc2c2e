"""Applying of the file to the target during a run, with the steps that `plan` shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo
from towpath.ledger.link import OpenLink
from towpath.mirror.metrics.feeding import (
    tell_left_out,
    tell_schemas,
    telling_changes,
    telling_steps,
)
from towpath.mirror.metrics.meter import LinkMeter
from towpath.mirror.status.foretold import withheld_forecasts
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.partitions import caught_up
from towpath.mirror.subjects import BESIDE_SCHEMAS, SUBJECTS
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.model.outcome import Outcome
from towpath.plan.applier import Applier
from towpath.plan.build import Planned
from towpath.plan.differences import Differences, differences, observe_again
from towpath.plan.journal import JournalWriter
from towpath.plan.kinds import Step
from towpath.plan.subject import CheckedSteps
from towpath.plan.subjects import AnySubject, SubjectClients
from towpath.settings import LinkConfig
from towpath.topics.foretelling import foretell
from towpath.topics.steps import SetConfigs
from towpath.topics.subject import TOPICS


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The applied steps, and notes for people.

    Attributes:
        outcome: The steps and their errors.
        notes: What may be unexpected.
        problems: What prevents something from being mirrored.
        found: The differences after the steps; `None` before the first look.
    """

    outcome: Outcome[Step] = field(default_factory=Outcome)
    notes: tuple[Note, ...] = ()
    problems: tuple[Problem, ...] = ()
    found: Differences | None = None

    @property
    def topics(self) -> frozenset[str]:
        """Topics that are not mirrored, or only in part."""
        return frozenset((*(o.about for o in self._blocking), *self.outcome.failed))

    @property
    def blocked(self) -> bool:
        """Whether something is not mirrored, or only in part."""
        return bool(self._blocking or self.outcome.failed)

    @property
    def _blocking(self) -> tuple[Problem, ...]:
        return tuple(each for each in self.problems if each.cause is not Cause.KEEPS_LESS)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences about topics that are not mirrored, or that the target does not keep."""
        failed = (f"{name}: {error}" for name, error in self.outcome.failed.items())
        return (*map(str, self.problems), *failed)


class Reconciler:
    """Applies the steps of one open link.

    Args:
        link: The link.
        clients: The clients of its subjects.
        meter: Counts the steps.
        stop: Set to stop early, after the current batch of steps.
        hold: Raises if another process changes the target now.
    """

    def __init__(
        self,
        link: OpenLink,
        clients: SubjectClients,
        meter: LinkMeter,
        stop: threading.Event,
        hold: Callable[[], None],
    ) -> None:
        self._link, self._clients = link, clients
        self._meter, self._stop, self._hold = meter, stop, hold
        self._looked: Differences | None = None
        self._next: dict[AnySubject, float] = {}

    def first(self, planned: Planned) -> Reconciled:
        """Apply a plan that was made just now.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        if planned.found is None or planned.checked is None:
            return self.all()
        self._is_looked_at(self._clients.subjects)
        return self._do(planned.found, planned.checked, frozenset())

    def all(self, rows: Iterable[PartitionStatus] = ()) -> Reconciled:
        """Observe both clusters, and apply the file to the target.

        Args:
            rows: Where each partition stands. Some configs are withheld until a mirror topic has
                caught up.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        return self._of(self._clients.subjects, rows)

    def due(self, rows: Iterable[PartitionStatus] = ()) -> Reconciled | None:
        """Apply the subjects that are due; return `None` if none is.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        now = time.monotonic()
        due = [each for each in self._clients.subjects if now >= self._next.get(each, 0.0)]
        return self._of(due, rows) if due else None

    def only(self, subject: AnySubject, rows: Iterable[PartitionStatus] = ()) -> Reconciled:
        """Apply the file for one subject.

        Raises:
            ClusterError: A cluster could not be reached, or the journal could not be written.
        """
        return self._of((subject,), rows)

    def _of(self, subjects: Iterable[AnySubject], rows: Iterable[PartitionStatus]) -> Reconciled:
        """Apply the steps of some subjects. A step that fails does not stop the others."""
        only = list(subjects)
        self._is_looked_at(only)
        self._link.read()
        reached = caught_up(rows)
        found = differences(self._clients, lambda: reached, only, self._looked)
        return self._do(found, self._clients.check(found.steps), reached)

    def _is_looked_at(self, subjects: Iterable[AnySubject]) -> None:
        now = time.monotonic()
        self._next |= {each: now + each.interval(self._link.config) for each in subjects}

    def _do(
        self, found: Differences, checked: CheckedSteps[Step], reached: Collection[TopicName]
    ) -> Reconciled:
        journal = JournalWriter(self._link, self._clients)
        applier = Applier(
            self._clients,
            journal,
            on_step=telling_steps(self._meter),
            on_changed=telling_changes(self._meter),
            stop=self._stop,
            require=checked.require,
            hold=self._hold,
        )
        changed = {step.source for step in checked.steps if isinstance(step, SetConfigs)}
        if (topics := found.seen(TOPICS)) is not None:
            foretell(self._link, topics.topics, {*reached, *changed})
        self._meter.retention_held(len(withheld_forecasts(self._link.config, self._link.books)))
        applied = applier.apply(checked.steps)
        done = applied.done
        now = observe_again(self._clients, found, done, lambda: reached) if done else found
        self._looked = now
        failed = {applied.blamed(step): error for step, error in applied.failed}
        problems = (*now.problems, *checked.problems)
        # Of schemas, their own subject says which failures are left.
        beside = (each for each in self._clients.subjects if each in BESIDE_SCHEMAS)
        looked = {name for each in beside for name in each.names}
        journal.mend(looked, now.steps, {each.about for each in problems})
        tell_schemas(now, self._meter)
        return Reconciled(Outcome(tuple(done), failed), found.notes, problems, now)


def reconcile(
    link: OpenLink,
    rows: Iterable[PartitionStatus] = (),
    meter: LinkMeter | None = None,
    stop: threading.Event | None = None,
    hold: Callable[[], None] = lambda: None,
) -> Reconciled:
    """Apply the file to the target once; see `Reconciler.all`."""
    meter = meter or LinkMeter()
    with SUBJECTS.open(link) as clients:
        made = Reconciler(link, clients, meter, stop or threading.Event(), hold).all(rows)
    count_left_out(meter, made)
    return made


def count_left_out(meter: LinkMeter, *made: Reconciled) -> None:
    """Update the meter's number of left-out items, by cause."""
    problems = (problem for each in made for problem in each.problems)
    tell_left_out(problems, sum(len(each.outcome.failed) for each in made), meter)


Shape = dict[tuple[Side, TopicName], tuple[TopicId, int]]
"""Id and number of partitions of each topic that matches, and of its mirror topic."""


def shape(config: LinkConfig, source: Admin, target: Admin) -> Shape:
    """Return ids and partition counts of topics: they change as topics appear, vanish or grow."""
    return _shape(config, source.topics.describe(), target.topics.describe)


def shape_of(config: LinkConfig, found: Differences) -> Shape:
    """Return ids and partition counts of topics, as an earlier look at both clusters found them."""
    seen = found.of(TOPICS).seen
    return _shape(
        config,
        seen.source.listed,
        lambda names: {name: seen.target[name] for name in names if name in seen.target},
    )


Infos = Mapping[TopicName, TopicInfo]


def _shape(
    config: LinkConfig, listed: Infos, target: Callable[[Collection[TopicName]], Infos]
) -> Shape:
    matching = [info for info in listed.values() if config.topics.takes(info)]
    names, _ = config.topics.target_names([info.name for info in matching if not info.error])
    return {
        (side, info.name): (info.id, len(info.partitions))
        for side, infos in ((Side.SOURCE, matching), (Side.TARGET, target(names.values()).values()))
        for info in infos
    }


def appeared(before: Shape, after: Shape) -> bool:
    """Return whether a topic was created at the source, or recreated on either side."""
    return any(
        before[key][0] != id_ if key in before else key[0] is Side.SOURCE
        for key, (id_, _) in after.items()
    )
