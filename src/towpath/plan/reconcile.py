"""Topics and partitions that a run finds missing on the target, made as `towpath plan` shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.config import LinkConfig
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.model.outcome import Outcome
from towpath.topics.apply import apply_all
from towpath.topics.diff import diff
from towpath.topics.findings import Note, Obstacle
from towpath.topics.observe import matches, observe, target_names
from towpath.topics.steps import Step


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
        return (*(f"{o.about}: {o.text}" for o in self.obstacles), *failed)


def reconcile(config: LinkConfig, source: Admin, target: Admin) -> Reconciled:
    """Make missing topics and partitions; one that fails does not stop the others.

    Raises:
        ClusterError: A cluster cannot be asked at all.
    """
    found = diff(observe(source, target, config), config.records)
    outcome = apply_all(found.steps, target)
    # Only of a copy that is there do brokers tell which rights the login has on it.
    now = diff(observe(source, target, config), config.records) if outcome.done else found
    return Reconciled(outcome, found.notes, now.obstacles)


Shape = dict[tuple[Side, TopicName], tuple[TopicId, int]]
"""Id and number of partitions of each topic that matches, and of its copy."""


def shape(config: LinkConfig, source: Admin, target: Admin) -> Shape:
    """Return what growth shows in, and topics that come, go, or are made again."""
    matching = [info for info in source.topics().values() if matches(info, config.topics)]
    names, _ = target_names([info.name for info in matching if not info.error], config.topics)
    copies = target.topics(names.values())
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
