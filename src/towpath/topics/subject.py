"""Topics as a subject of the plan machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import assert_never

from towpath.cluster.metadata import TopicInfo
from towpath.ledger.link import OpenLink
from towpath.ledger.origins import MirrorOrigins
from towpath.model.amounts import counted
from towpath.model.changes import NO_CHANGE
from towpath.model.errors import StepOutdatedError, TowpathError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import Side, TopicId, TopicName
from towpath.model.outcome import Changed
from towpath.plan.subject import (
    CheckedSteps,
    Columns,
    Difference,
    Failed,
    SettledStep,
    SubjectContext,
)
from towpath.settings import LinkConfig
from towpath.topics.advice import own_and_tools, unmatched_expressions
from towpath.topics.apply import apply_all, present, settled
from towpath.topics.circles import without_circles
from towpath.topics.diff import diff
from towpath.topics.drift import refusing
from towpath.topics.foresight import NOTHING, Foresight
from towpath.topics.foretelling import foretell
from towpath.topics.gate import ReleaseGate
from towpath.topics.held_back_logs import look_at_older_times
from towpath.topics.held_back_logs import look_at_withheld_logs as look_at_retention
from towpath.topics.holds import HeldTopic, after, caused, held_back, outdated_release
from towpath.topics.known_origins import origins
from towpath.topics.literals import beyond_names
from towpath.topics.observe import look_at_source, observe
from towpath.topics.observed import ObservedTopics, SourceTopics, Topic
from towpath.topics.other_writers import (
    beside_neighbours,
    outdated_as_over,
    spared,
    without_taken,
    without_what_is_over,
    writes_of_others,
)
from towpath.topics.owned import OwnedTopics, ours_of
from towpath.topics.refused_configs import narrowed
from towpath.topics.releases import later_notes
from towpath.topics.retention import foresee
from towpath.topics.steps import (
    KINDS,
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    SetConfigs,
    TopicStep,
)


@dataclass(frozen=True, slots=True)
class TopicSnapshot:
    """The topics of both clusters, and what the link has made on the target.

    Attributes:
        source: The topics of the source.
        origins: Which of them are mirror topics themselves, or a note on why that is unknown.
        target: All topics of the target.
        topics: The topics of both clusters that the link is about.
        ours: What the link has made on the target.
    """

    source: SourceTopics
    origins: MirrorOrigins | Note
    target: Mapping[TopicName, TopicInfo]
    topics: ObservedTopics
    ours: OwnedTopics


@dataclass(frozen=True, slots=True)
class TopicClient:
    """Observes the topics of both clusters, and changes those of the target."""

    link: OpenLink
    gate: ReleaseGate = field(default_factory=ReleaseGate)
    looked: list[ObservedTopics] = field(default_factory=list)
    """What the steps of a plan are compared with before they are done; looked at once."""

    def observe(self) -> TopicSnapshot:
        """Observe both clusters, without changing them."""
        link = self.link
        source = look_at_source(link.source, link.config)
        return self._beside(source, origins(link.config, link.source))

    def again(self, seen: TopicSnapshot) -> TopicSnapshot:
        """Observe the target again after steps; keep what was observed of the source.

        Brokers tell the login's rights only on topics that exist.
        """
        return self._beside(seen.source, seen.origins)

    def _beside(self, source: SourceTopics, known: MirrorOrigins | Note) -> TopicSnapshot:
        """Observe the target, and combine it with what is known of the source."""
        link = self.link
        there = link.target.topics.describe()
        ids = {name: info.id for name, info in there.items() if not info.error}
        ours = ours_of(link.books, ids)
        seen = observe(link.source, link.target, link.config, ours, there, source)
        seen = without_taken(seen, link.config, link.books.neighbours)
        topics = without_circles(seen, known, link.config, link.target, link.books)
        foresights = self.foreseen(held_back(topics, link.config, ours))
        topics = replace(topics, foresights=foresights)
        return TopicSnapshot(source, known, there, topics, ours)

    def foreseen(self, held: Mapping[TopicName, HeldTopic]) -> dict[TopicName, Foresight]:
        """Return a forecast of deletions on the target if no config were withheld."""
        link, config = self.link, self.link.config.topics
        seen = look_at_retention(link.source, link.target, held, link.books)
        found: dict[TopicName, Foresight] = {}
        through_query = link.config.transforms is not None
        older = look_at_older_times(link.target, held) if through_query else {}
        for name, each in held.items():
            changed = link.config.change_of(name) != NO_CHANGE
            logs = replace(
                seen[name], changed=changed, transformed=through_query, older=older.get(name, 0)
            )
            told = foresee(each.source.configs, each.final, logs, config.configs)
            told = caused(told, each.by) if each.by else told
            meant = config.lets_delete(name)
            found[name] = replace(told, meant=meant, holdable=each.holdable)
        return found

    def diff(self, seen: TopicSnapshot, around: SubjectContext) -> Difference[TopicStep]:
        """Return the difference between the target and what the file asks for."""
        topics, ours, link = seen.topics, seen.ours, self.link
        pending = self._refusing(topics, ours)
        mirrors = topics.target.values()
        if pending or any(ours.waiting(mirror.name, mirror.own) for mirror in mirrors):
            reached = frozenset(around.caught_up())
            ours = replace(ours, caught_up=reached - self.gate.behind(pending, link))
        found = diff(topics, link.config, ours)
        found = without_what_is_over(found, link.books)
        wanted = beside_neighbours(found, topics, link.books.neighbours)
        return spared(wanted, link.books, link.target)

    def _refusing(self, topics: ObservedTopics, ours: OwnedTopics) -> dict[TopicName, Topic]:
        """Return the source topics whose mirror topics may refuse older records one day."""
        mirrors = ((each, topics.target.get(topics.names[each.name])) for each in topics.source)
        override = self.link.config.topics.configs.override
        return {
            each.name: each
            for each, there in mirrors
            if there is not None and refusing(each, there, ours, override)
        }

    def foresee(
        self, seen: TopicSnapshot, found: Difference[TopicStep]
    ) -> Iterator[Note | Problem]:
        """Return further notes and problems that a plan shows and a run skips."""
        del found
        yield from unmatched_expressions(seen.topics, self.link.config)
        taken, others = seen.topics.names, seen.topics.unmatched
        yield from beyond_names(self.link.config.topics, taken, others)
        yield from own_and_tools(seen.source.listed.values(), self.link.config.topics)
        yield from later_notes(seen.topics)

    def check(self, steps: Sequence[TopicStep]) -> CheckedSteps[TopicStep]:
        """Let the target check steps without doing them."""
        return narrowed(steps, self.link.target)

    def present(self, steps: Sequence[TopicStep]) -> Mapping[str, TopicId]:
        """Return the ids of existing things that steps are about, by name."""
        return present(steps, self.link.target)

    def apply(self, steps: Sequence[TopicStep]) -> Changed:
        """Apply steps of one kind together, each to another topic."""
        return apply_all(steps, self.link.target)

    def settle(self, steps: Sequence[TopicStep]) -> Mapping[str, SettledStep]:
        """Return the outcome of steps that a killed process had begun, by name."""
        return settled([s for s in steps if isinstance(s, CreateTopic)], self.link.target)

    def owned(self, steps: Sequence[TopicStep]) -> frozenset[str]:
        """Return an empty set, as the link recognises its topics by their ids."""
        del steps
        return frozenset()

    def outdated(self, step: TopicStep) -> StepOutdatedError | None:
        """Return why a saved step would not be planned now, `None` if it would.

        What is foretold of a release goes to the ledger, as in a run.
        """
        over = outdated_as_over(step, self.link.books)
        if over is not None:
            return over
        if isinstance(step, SetConfigs):
            return self._kept(step) if step.cleans else None
        if not isinstance(step, DeleteTopic):
            return None
        if writes_of_others([step], self.link.books, self.link.target):
            wanted, found = "only records of this link", "other records"
            return StepOutdatedError(f"topic {step.target}", wanted, found)
        wanted = f"no topic {step.source} to mirror as {step.target}"
        return StepOutdatedError("the cluster", wanted, "one, or hides it", Side.SOURCE)

    def _kept(self, step: SetConfigs) -> StepOutdatedError | None:
        """Return what the target would delete after a step, where the source keeps it."""
        if not self.looked:
            self.looked.append(self.observe().topics)
        (seen,) = self.looked
        now = self.foreseen(after(step, seen)).items()
        found = {name: caused(each, "planned") for name, each in now}
        seen = replace(seen, foresights={**seen.foresights, **found})
        foretell(self.link, seen, {step.source})
        return outdated_release(step, seen.foresights.get(step.source, NOTHING))


class Topics:
    """The subject of topics, with their partitions and configs."""

    names = ("topics",)
    kinds = KINDS
    columns = Columns(
        ("topic", "on the target", "partitions", "replicas", "configs"), ("partitions", "replicas")
    )

    def client(self, link: OpenLink) -> AbstractContextManager[TopicClient]:
        """Open a client of this subject for a link."""
        return nullcontext(TopicClient(link))

    def interval(self, config: LinkConfig) -> float:
        """Return the number of seconds between two observations in a run."""
        return config.run.sync_interval

    def held_back(self, steps: Sequence[TopicStep], failed: Failed) -> Mapping[str, TowpathError]:
        """Return an empty mapping, as no step on a topic depends on another topic's step."""
        del steps, failed
        return {}

    def row(self, step: TopicStep) -> tuple[str, ...]:
        """Return a step as a row of the table."""
        partitions, replicas, configs = "", "", ""
        match step:
            case CreateTopic():
                partitions, configs = str(step.partitions), _configs(step.configs, step.held)
                asked = step.replication_factor
                replicas = "default" if asked < 0 else str(asked)
            case AddPartitions():
                partitions = f"{step.from_count} to {step.to_count}"
            case SetConfigs():
                configs = " ".join(_changes(step))
            case DeleteTopic():
                partitions = str(step.partitions)
            case _:
                assert_never(step)
        return step.source, step.target, partitions, replicas, configs

    def summary(
        self, steps: Sequence[TopicStep], topics: Mapping[TopicName, TopicName]
    ) -> Iterator[str]:
        """Return a text about all mirrored topics, including those that need no step."""
        done = Counter(type(step) for step in steps)
        changed = {s.source for s in steps if isinstance(s, CreateTopic | AddPartitions)}
        yield (
            f"{counted(len(topics), 'topic')} to mirror: {done[CreateTopic]} to create,"
            f" {done[AddPartitions]} to grow, {len(topics) - len(changed)} there already"
        )
        further = [s for s in steps if not isinstance(s, CreateTopic | AddPartitions)]
        if further:
            yield f"topics: {KINDS.verbs(further)}"


def _configs(configs: Mapping[str, str], held: Mapping[str, str | None]) -> str:
    texts = [
        f"{key}={value}" + (f" (then {_value(held[key])})" if key in held else "")
        for key, value in sorted(configs.items())
    ]
    return " ".join(texts)


def _changes(step: SetConfigs) -> Iterable[str]:
    for key, value in sorted(step.changes.items()):
        yield f"{key}={_value(value)} (now {_value(step.before.get(key))})"


def _value(value: str | None) -> str:
    return "default" if value is None else value


TOPICS = Topics()
