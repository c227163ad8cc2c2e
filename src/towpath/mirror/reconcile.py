"""What the target lacks of what the file asks for, made while a run goes on, as `plan` shows it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig
from towpath.ledger.link import OpenLink
from towpath.metrics.meter import Meter
from towpath.mirror.subjects import SUBJECTS
from towpath.mirror.telling import tell_left_out, telling_changes, telling_steps
from towpath.model.findings import Note, Obstacle
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.model.outcome import Outcome
from towpath.plan.applier import Applier
from towpath.plan.differences import differences
from towpath.plan.journal import JournalWriter
from towpath.plan.kinds import Step
from towpath.status.status import PartitionStatus, caught_up


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was made, and what a person should know."""

    outcome: Outcome[Step] = field(default_factory=Outcome)
    notes: tuple[Note, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def topics(self) -> frozenset[str]:
        """Topics that are not mirrored, or not as far as they should be."""
        return frozenset((*(o.about for o in self.obstacles), *self.outcome.failed))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences about topics that are not mirrored."""
        failed = (f"{name}: {error}" for name, error in self.outcome.failed.items())
        return (*map(str, self.obstacles), *failed)


def reconcile(
    link: OpenLink,
    rows: Iterable[PartitionStatus] = (),
    meter: Meter | None = None,
    stop: threading.Event | None = None,
) -> Reconciled:
    """Make of the target what the file asks for; one step that fails does not stop the others.

    Args:
        link: The link, its books read.
        rows: Where each partition stands; what is held while copies are filled depends on it.
        meter: Counts the steps, and what is left out.
        stop: Set to end early, behind steps that are done together.

    Raises:
        ClusterError: A cluster cannot be asked at all, or the journal cannot be written.
    """
    link.read()
    reached = caught_up(rows)
    with SUBJECTS.open(link) as clients:
        found = differences(clients, lambda: reached)
        checked = clients.check(found.steps)
        meter = meter or Meter()
        applier = Applier(
            clients,
            JournalWriter(link, clients),
            on_step=telling_steps(meter),
            on_changed=telling_changes(meter),
            stop=stop or threading.Event(),
            require=checked.require,
        )
        applied = applier.apply(checked.steps)
        # Only of a copy that is there do brokers tell which rights the login has on it.
        now = differences(clients, lambda: reached) if applied.done else found
    failed = {applied.blamed(step): error for step, error in applied.failed}
    obstacles = (*now.obstacles, *checked.obstacles)
    tell_left_out(obstacles, len(failed), meter)
    return Reconciled(Outcome(tuple(applied.done), failed), found.notes, obstacles)


Shape = dict[tuple[Side, TopicName], tuple[TopicId, int]]
"""Id and number of partitions of each topic that matches, and of its copy."""


def shape(config: LinkConfig, source: Admin, target: Admin) -> Shape:
    """Return what growth shows in, and topics that come, go, or are made again."""
    matching = [info for info in source.topics.describe().values() if config.topics.mirrors(info)]
    names, _ = config.topics.target_names([info.name for info in matching if not info.error])
    copies = target.topics.describe(names.values())
    return {
        (side, info.name): (info.id, len(info.partitions))
        for side, infos in ((Side.SOURCE, matching), (Side.TARGET, copies.values()))
        for info in infos
    }


def appeared(before: Shape, after: Shape) -> bool:
    """Whether a topic came to the source, or was made again on either side under its name."""
    return any(
        before[key][0] != id_ if key in before else key[0] is Side.SOURCE
        for key, (id_, _) in after.items()
    )
