"""The topics of a restore on the target: created, grown, and given withheld configs.

The plan machine does and journals the steps, so a restore that was killed knows which topics it
made and what it holds back from them (`topics/owned.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from towpath.archive.config import RestoreConfig, RestoredRetention
from towpath.archive.restore.earlier import contradicted
from towpath.archive.restore.holding import ANY, configs_to_withhold
from towpath.archive.restore.limits import too_large, unwritable
from towpath.archive.restore.model import RestoreScope, RestoreTopic
from towpath.archive.restore.topic_steps import (
    CLEANING,
    beside_notes,
    holding_notes,
    release_steps,
)
from towpath.ledger.link import OpenTarget
from towpath.model.errors import StepOutdatedError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import TopicId, TopicName, TopicPartition
from towpath.model.outcome import Changed
from towpath.plan.subject import CheckedSteps, Difference, SettledStep, SubjectContext
from towpath.settings import ConfigRules, Replicas
from towpath.topics.apply import apply_all, present, settled
from towpath.topics.configs import (
    RETENTIONS,
    TIMESTAMP_TYPE,
    WantedConfigs,
    stamps_itself,
    wanted,
)
from towpath.topics.diff import replicas
from towpath.topics.drift import sync
from towpath.topics.observe import look_at_target
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import UNLIMITED, OwnedTopics, ours_of
from towpath.topics.policies import as_taken
from towpath.topics.refused_configs import narrowed
from towpath.topics.rights import on_mirrors
from towpath.topics.steps import AddPartitions, CreateTopic, SetConfigs, TopicStep


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSnapshot:
    """The target as observed for a restore.

    Attributes:
        topics: The archived topics, and those of the target.
        ours: What the restore has made before.
        logs: Log start and log end offset of the partitions of existing topics.
        opened: Ids of topics on the target that this restore has begun to fill.
    """

    topics: ObservedTopics
    ours: OwnedTopics
    logs: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    opened: frozenset[TopicId] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicRestorer:
    """Prepares the target's topics for the records of an archive.

    Attributes:
        to: The target.
        scope: What is restored.
        rules: What the file says of it.
        follow: Whether the restore goes on with what is archived later. Then a topic that has
            caught up is cleaned as it was at the source, while nothing is refused or restamped
            that still comes.
    """

    to: OpenTarget
    scope: RestoreScope
    rules: RestoreConfig
    follow: bool = False

    def observe(self) -> RestoreSnapshot:
        """Observe both clusters, without changing them."""
        target, where = self.to.target, self.to.where
        there = target.topics.describe()
        ids = {name: info.id for name, info in there.items() if not info.error}
        ours = ours_of(self.to.books, ids)
        archived = tuple(each.topic for each in self.scope.topics.values())
        names = {name: each.target for name, each in self.scope.topics.items()}
        seen = look_at_target(target, there, archived, names, self.rules.topics, where, ANY)
        existing = {names[each.name]: each.name for each in archived if names[each.name] in ids}
        waits = {
            name: tuple(waiting)
            for name in existing
            if (waiting := ours.waiting(name, seen.target[name].own))
        }
        missing, unreleased = on_mirrors(target, where, existing, waits)
        return RestoreSnapshot(
            topics=replace(seen, problems=tuple(missing), notes=(*seen.notes, *unreleased)),
            ours=ours,
            logs=self._logs([seen.target[name] for name in existing]),
            opened=self._opened(),
        )

    def again(self, seen: RestoreSnapshot) -> RestoreSnapshot:
        """Observe the target again after steps; what was observed of the source is kept."""
        del seen
        return self.observe()

    def diff(self, seen: RestoreSnapshot, around: SubjectContext) -> Difference[TopicStep]:
        """Return the difference between the target and what the file asks for."""
        restored = frozenset(around.caught_up())
        steps: list[TopicStep] = []
        notes: list[Note] = [*seen.topics.notes]
        problems: list[Problem] = [*seen.topics.problems]
        blamed = {each.about for each in (*problems, *self.scope.problems)}
        fine: dict[TopicName, TopicName] = {}
        for name, topic in self.scope.topics.items():
            found = [*self._problems(topic, seen)]
            problems += found
            if found or name in blamed:
                continue
            fine[name] = topic.target
            notes += (Note(name, text) for text in too_large(topic, seen.topics.request_bytes))
            made, said = self._steps(topic, seen, is_restored=name in restored)
            steps += made
            notes += (Note(name, text) for text in said)
        return Difference(fine, tuple(steps), tuple(dict.fromkeys(notes)), tuple(problems))

    def foresee(
        self, seen: RestoreSnapshot, found: Difference[TopicStep]
    ) -> Iterable[Note | Problem]:
        """Return further notes and problems for people who decide on a plan; runs skip this."""
        del seen, found
        return ()

    def check(self, steps: Sequence[TopicStep]) -> CheckedSteps[TopicStep]:
        """Let the target check steps without doing them."""
        return narrowed(steps, self.to.target)

    def present(self, steps: Sequence[TopicStep]) -> Mapping[str, TopicId]:
        """Return the ids of those things that steps are about and that exist, by name."""
        return present(steps, self.to.target)

    def apply(self, steps: Sequence[TopicStep]) -> Changed:
        """Apply steps of one kind together, each about another thing."""
        return apply_all(steps, self.to.target)

    def settle(self, steps: Sequence[TopicStep]) -> Mapping[str, SettledStep]:
        """Return the outcome of steps that a process began before it died, by name."""
        return settled([s for s in steps if isinstance(s, CreateTopic)], self.to.target)

    def owned(self, steps: Sequence[TopicStep]) -> frozenset[str]:
        """Return an empty set: the restore recognises its topics by their ids."""
        del steps
        return frozenset()

    def outdated(self, step: TopicStep) -> StepOutdatedError | None:
        """Return why a step would not be planned now; `None` if nothing more is known."""
        del step
        return None

    # What is there

    def _logs(self, topics: Iterable[Topic]) -> dict[TopicPartition, tuple[int, int]]:
        tps = [TopicPartition(each.name, n) for each in topics for n in range(each.partitions)]
        if not tps:
            return {}
        offsets = self.to.target.offsets
        first, end = offsets.earliest(tps), offsets.latest(tps)
        return {tp: (first[tp], end[tp]) for tp in tps if tp in first and tp in end}

    def _opened(self) -> frozenset[TopicId]:
        partitions = self.to.books.partitions.values()
        return frozenset(each.opened.target_topic_id for each in partitions if each.opened)

    def _problems(self, topic: RestoreTopic, seen: RestoreSnapshot) -> Iterator[Problem]:
        """Yield why a topic cannot be restored into what is there."""
        there = seen.topics.target.get(topic.target)
        if there is None:
            return
        yield from unwritable(topic.topic.name, there)
        if topic.layout is not None and there.partitions > topic.count:
            text = (
                f"topic {there.name} exists on the target with {there.partitions} partitions, and"
                f" records are to be placed by their keys among {topic.count}: set"
                f" `count: {there.partitions}` under `restore.partitions`, or delete it there"
            )
            yield Problem(topic.topic.name, text, Cause.TOPIC)
        if there.id in seen.opened:
            yield from contradicted(topic, there.id, self.to.books, follow=self.follow)
            return
        if self.rules.topics.shared:
            return  # others may write there, so offsets are mapped
        if taken := _taken(there, seen):
            partition, first, end = taken[0]
            text = (
                f"topic {there.name} exists on the target and has records (partition {partition},"
                f" offsets {first} to {end - 1}), so no part of the archive can have its own"
                " offsets there; delete it there, restore under another name with"
                " `restore.topics.rename`, or append what comes back to what is there, at other"
                " offsets, with `restore.topics.shared: true`"
            )
            yield Problem(topic.topic.name, text, Cause.TOPIC)

    # What is done

    def _steps(
        self, topic: RestoreTopic, seen: RestoreSnapshot, *, is_restored: bool
    ) -> tuple[list[TopicStep], list[str]]:
        there = seen.topics.target.get(topic.target)
        if there is None:
            return self._create(topic, seen.topics)
        steps: list[TopicStep] = []
        if there.partitions < topic.count:
            name = topic.topic.name
            steps.append(AddPartitions(name, there.name, there.partitions, topic.count))
        if not is_restored:
            fitting, notes = self._fit(topic, there, seen)
            return [*steps, *fitting], [*notes, *_appended(there, seen)]
        released = release_steps(topic, there, seen.ours, CLEANING if self.follow else None)
        return [*steps, *(released or self._changed(topic, there, seen, CLEANING))], []

    def _create(
        self, topic: RestoreTopic, seen: ObservedTopics
    ) -> tuple[list[TopicStep], list[str]]:
        rules = self.rules.topics
        if not topic.described and rules.replication_factor is Replicas.SOURCE:
            rules = rules.model_copy(update={"replication_factor": Replicas.BROKER_DEFAULT})
        given, notes = replicas(topic.topic, seen, rules)
        known = seen.default_replicas if given < 0 else given
        asked = self._wanted(topic, seen, known)
        back = configs_to_withhold(asked.values, seen.defaults, seen, topic.topic.configs)
        step = CreateTopic(
            source=topic.topic.name,
            target=topic.target,
            partitions=topic.count,
            replication_factor=given,
            configs={**asked.values, **back.meanwhile},
            held=back.final,
        )
        return [step], [*asked.reasons.values(), *asked.notes, *notes, *holding_notes(back.final)]

    def _wanted(
        self, topic: RestoreTopic, seen: ObservedTopics, given: int | None
    ) -> WantedConfigs:
        """Return the configs that a new topic gets in the end."""
        return wanted(as_taken(topic.topic, seen), seen, self._config_rules(topic), given)

    def _config_rules(self, topic: RestoreTopic) -> ConfigRules:
        rules, override = self.rules.topics.configs, {}
        own = topic.topic.configs
        if stamps_itself(own) and rules.selects(TIMESTAMP_TYPE):
            override[TIMESTAMP_TYPE] = own[TIMESTAMP_TYPE]
        if self.rules.retention is RestoredRetention.UNLIMITED:
            override |= dict.fromkeys(RETENTIONS, UNLIMITED)
        return ConfigRules(
            include=rules.include, exclude=rules.exclude, override=override | rules.override
        )

    def _fit(
        self, topic: RestoreTopic, there: Topic, seen: RestoreSnapshot
    ) -> tuple[list[TopicStep], list[str]]:
        """Hold back the configs of a topic that is there."""
        steps: list[TopicStep] = []
        name = topic.topic.name
        if self.follow and there.id in seen.opened:
            # It may have caught up before, and keeps what it got then.
            return self._changed(topic, there, seen, frozenset()), []
        back = configs_to_withhold(there.own, there.configs, seen.topics, topic.topic.configs)
        waits = seen.ours.waiting(there.name, there.own)
        fresh = {key: value for key, value in back.meanwhile.items() if key not in waits}
        if fresh and there.configs:
            final = {key: there.own.get(key) for key in fresh}
            steps.append(
                SetConfigs(
                    source=name,
                    target=there.name,
                    set=fresh,
                    remove=(),
                    before=final,
                    id=there.id,
                    held=final,
                )
            )
        begun = there.id in seen.opened or there.name in seen.ours.created
        return steps, [
            *([] if begun else beside_notes(topic, there)),
            *holding_notes({**waits, **fresh}),
        ]

    def _changed(
        self, topic: RestoreTopic, there: Topic, seen: RestoreSnapshot, cleaning: Collection[str]
    ) -> list[TopicStep]:
        """Let a topic that this restore made follow configs that were changed at the source.

        Configs that can be held back are left alone but for those of `cleaning`: what they say may
        be meant for records that still come.
        """
        is_ours = there.name in seen.ours.created
        if not (self.follow and is_ours and topic.described):
            return []
        rules = self._config_rules(topic)
        archived = as_taken(topic.topic, seen.topics)
        step = sync(archived, there, seen.topics, rules, seen.ours).step
        kept = {key for key in step.before if key not in ANY or key in cleaning} if step else set()
        return [step.only(kept)] if step and kept else []


def _taken(there: Topic, seen: RestoreSnapshot) -> list[tuple[int, int, int]]:
    """Return the partitions of a topic that hold records, and their offsets [first, end)."""
    return [
        (tp.partition, first, end)
        for tp, (first, end) in sorted(seen.logs.items())
        if tp.topic == there.name and end > first
    ]


def _appended(there: Topic, seen: RestoreSnapshot) -> list[str]:
    """Tell where records are appended to those of others, as `shared` allows."""
    taken = [] if there.id in seen.opened else _taken(there, seen)
    return [
        f"partition {partition} holds records of others up to offset {end - 1}: what comes back is"
        " appended behind them, and its offsets will be mapped"
        for partition, _, end in taken
    ]
