"""The comparison of observed topics with the file. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from towpath.model.at_risk import AtRisk
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import NO_TOPIC_ID, TopicName
from towpath.model.target_kinds import TargetKind, refusal, refused_overrides
from towpath.plan.subject import Difference
from towpath.settings import ConfigRules, LinkConfig, LinkTopics, Replicas, TopicsConfig
from towpath.settings.sections.own_topics import is_own
from towpath.topics.advice import remarks
from towpath.topics.configs import TOO_OLD, wanted
from towpath.topics.drift import sync
from towpath.topics.foresight import NOTHING as NOTHING_FORESEEN
from towpath.topics.holds import held_new, note_of_new, notes_of_foresight
from towpath.topics.observed import ObservedTopics, Topic, name_in_metrics
from towpath.topics.owned import NOTHING, OwnedTopics
from towpath.topics.policies import NOTE as EMPTY_POLICY
from towpath.topics.policies import as_taken
from towpath.topics.releases import release_notes
from towpath.topics.steps import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    SetConfigs,
    TopicStep,
)

_BY_THE_TARGET = -1
_UNKNOWN = (
    "or another topic that had this name: without topic ids they cannot be told apart, so it is"
    " never deleted; delete it by hand if it is not needed"
)
_OWN = "which the target's brokers may use by now, so it is never deleted"
_SOME = 3


def diff(
    observed: ObservedTopics, config: LinkConfig, ours: OwnedTopics = NOTHING
) -> Difference[TopicStep]:
    """Return the steps and findings that make the target's topics match the file.

    Args:
        observed: The topics of both clusters.
        config: The link's configuration.
        ours: What earlier steps of this link have made.
    """
    shared = _shared_names(observed)
    problems = [
        *observed.problems,
        *_shared(shared, config.topics),
        *_circles(observed),
        *_overrides(observed, config.topics.configs),
    ]
    left_out = {problem.about for problem in problems} | observed.circular
    left_out.update(name for claimants in shared.values() for name in claimants)
    topics = [topic for topic in observed.source if topic.name not in left_out]
    steps, said, at_risk = _mirrored(topics, observed, config, ours)
    pruned, said_of_them = _orphans(observed, ours, prune=config.prune)
    notes = (*observed.notes, *_colliding(observed), *said, *said_of_them)
    return Difference(
        {topic.name: observed.names[topic.name] for topic in topics},
        (*steps, *pruned),
        tuple(dict.fromkeys(notes)),
        (*problems, *at_risk),
    )


def _mirrored(
    topics: Iterable[Topic], seen: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> tuple[list[TopicStep], list[Note], list[Problem]]:
    """Return the steps that create mirror topics or bring them back in line, and what to know.

    The problems keep nothing from being mirrored: what the target deletes of these topics.
    """
    steps: list[TopicStep] = []
    notes: list[Note] = []
    at_risk: list[Problem] = []
    for topic in topics:
        name = seen.names[topic.name]
        there, taken = seen.target.get(name), as_taken(topic, seen)
        if there is None:
            made, said = _create(taken, name, seen, config, ours)
        else:
            made, said, risk = _follow(taken, there, seen, config, ours)
            at_risk += [Problem(topic.name, str(each), Cause.KEEPS_LESS) for each in risk]
        steps += made
        said = said if taken is topic else [EMPTY_POLICY, *said]
        notes += (Note(topic.name, text) for text in said)
        notes += release_notes(topic, made, seen, config.topics.configs)
    return steps, notes, at_risk


def _create(
    topic: Topic, name: TopicName, seen: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> tuple[list[TopicStep], list[str]]:
    given, notes = replicas(topic, seen, config.topics)
    known = seen.default_replicas if given == _BY_THE_TARGET else given
    asked = wanted(topic, seen, config.topics.configs, known)
    held = held_new(topic, asked.values, seen, config, ours)
    configs = {**asked.values, **held.meanwhile}
    notes = [*asked.reasons.values(), *asked.notes, *notes]
    notes += (note_of_new(key, held) for key in held.final)
    foreseen = seen.foresights.get(topic.name, NOTHING_FORESEEN)
    notes += notes_of_foresight(foreseen)
    late = {key: value for key, value in held.meanwhile.items() if key == TOO_OLD}
    final = {**seen.defaults, **asked.values, **(configs if foreseen.reasons else late)}
    notes += remarks(topic, final, seen.request_bytes)
    return [
        CreateTopic(
            source=topic.name,
            target=name,
            partitions=partitions_of(topic, config.topics),
            replication_factor=given,
            configs=configs,
            held=held.final,
        )
    ], notes


def partitions_of(topic: Topic, topics: TopicsConfig) -> int:
    """Return how many partitions a new mirror topic gets."""
    asked = topics.partitions if isinstance(topics, LinkTopics) else None
    return topic.partitions if asked is None else int(asked)


def replicas(topic: Topic, seen: ObservedTopics, topics: TopicsConfig) -> tuple[int, list[str]]:
    """Return the replication factor of a new topic, and why it differs from the request.

    It is -1 where it is left to the target.
    """
    wish = topics.replication_factor
    if wish is Replicas.BROKER_DEFAULT:
        return _BY_THE_TARGET, []
    if seen.kind is TargetKind.SERVERLESS:
        return _BY_THE_TARGET, [f"the replication factor is left to {seen.kind}"]
    if isinstance(wish, Replicas):
        asked = topic.replication_factor
        instead = f"the source's {asked}"
    else:
        asked = int(wish)
        instead = f"{asked}, which `topics.replication_factor` asks for"
    given, why = min(asked, seen.brokers), "the target has no more brokers"
    if seen.kind is TargetKind.REDPANDA and given % 2 == 0:
        given, why = given - 1, f"{seen.kind} takes odd ones only"
    note = f"replication factor {given} instead of {instead}: {why}"
    return given, [note] if given != asked else []


def _follow(
    topic: Topic, there: Topic, seen: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> tuple[list[TopicStep], list[str], list[AtRisk]]:
    """Return what brings a mirror topic back in line: steps, notes, and what stays at risk."""
    synced = sync(topic, there, seen, config.topics.configs, ours)
    steps: list[TopicStep] = []
    if there.partitions < topic.partitions and config.topics.partitions is None:
        steps.append(AddPartitions(topic.name, there.name, there.partitions, topic.partitions))
    step, kept = synced.step, list[str]()
    if step is not None and (config.topics.twin is not None or topic.name in seen.two_ways):
        step, kept = _own_alone(step, ours.waiting(there.name, there.own))
    if step is not None:
        steps.append(step)
    notes = [*_beside(topic, there, seen, config.topics), *synced.notes, *kept]
    cut_over = topic.name in ours.cut_over
    notes += remarks(topic, synced.configs, seen.request_bytes, cut_over=cut_over)
    meant = config.topics.lets_delete(topic.name)
    reasons = () if meant else synced.at_risk
    ranges = seen.foresights.get(topic.name, NOTHING_FORESEEN).ranges
    return steps, notes, [AtRisk(topic.name, reasons, ranges)] if reasons else []


def _own_alone(
    step: SetConfigs, waiting: Mapping[str, str | None]
) -> tuple[SetConfigs | None, list[str]]:
    """Return the part of a step that links in both directions do not undo for each other.

    Each would bring the topic of its target in line with the other one, again and again. So only
    what this link holds back, or gives free again, is changed.
    """
    own = step.changes.keys() & (waiting.keys() | step.held.keys())
    rest = sorted(step.changes.keys() - own)
    note = (
        f"{', '.join(rest)} of {step.target} differ from the source and stay as they are:"
        " where both sides are written, each keeps its own configs once its topic is there"
    )
    return step.only(own) if own else None, [note] if rest else []


def _beside(
    topic: Topic, there: Topic, seen: ObservedTopics, topics: TopicsConfig
) -> Iterator[str]:
    """Return differences of a mirror topic that no step changes."""
    asked = topics.partitions if isinstance(topics, LinkTopics) else None
    if asked is not None and there.partitions != asked:
        yield (
            f"has {there.partitions} partitions on the target, where `topics.partitions` asks for"
            f" {asked}; it keeps them, as keys would move to other partitions"
        )
    elif asked is None and there.partitions > topic.partitions:
        yield (
            f"has {there.partitions} partitions on the target and {topic.partitions} on the source;"
            " the additional ones get no mirrored records, and producers there distribute keys"
            " differently"
        )
    wanted_replicas, _ = replicas(topic, seen, topics)
    if there.replication_factor < wanted_replicas:
        yield (
            f"has replication factor {there.replication_factor} on the target instead of"
            f" {wanted_replicas}; the replication factor of an existing topic is not changed:"
            " reassign its replicas"
        )


def _orphans(
    observed: ObservedTopics, ours: OwnedTopics, *, prune: bool
) -> tuple[list[TopicStep], list[Note]]:
    """Return steps and notes about mirror topics whose source topics are no longer mirrored."""
    steps: list[TopicStep] = []
    notes = []
    for orphan in observed.orphans:
        source, mirror = orphan.source, orphan.mirror
        unsure = mirror.name in ours.unsure or mirror.id == NO_TOPIC_ID
        own = is_own(mirror.name)
        if prune and not unsure and not own:
            steps.append(DeleteTopic(source, mirror.name, mirror.id, mirror.partitions))
            continue
        why = "the source no longer has it" if orphan.gone else "the file no longer asks for it"
        fate = _OWN if own else _UNKNOWN if unsure else "which `prune: true` would delete"
        held = ", ".join(ours.held.get(mirror.name, ()))
        still = f"; held back there, as it was never filled: {held}" if held else ""
        text = f"{why}; this link made its mirror topic {mirror.name}, {fate}{still}"
        notes.append(Note(source, text))
    return steps, notes


_OVERRIDE = "topics.configs.override"


def _overrides(observed: ObservedTopics, rules: ConfigRules) -> Iterator[Problem]:
    """Refuse configs in the file that the target does not know."""
    for key in sorted(rules.override.keys() - observed.known) if observed.source else ():
        text = f"the target knows no topic config {key}, or does not take {rules.override[key]}"
        yield Problem(f"{_OVERRIDE}.{key}", f"{text}; correct it", Cause.FILE)
    for key in refused_overrides(observed.kind, rules.override.keys() & observed.known):
        yield Problem(f"{_OVERRIDE}.{key}", refusal(observed.kind, key), Cause.FILE)


def _shared_names(observed: ObservedTopics) -> dict[TopicName, list[TopicName]]:
    """Return the names on the target that several topics would share, with these topics."""
    claimed: dict[TopicName, list[TopicName]] = defaultdict(list)
    for topic in observed.source:
        claimed[observed.names[topic.name]].append(topic.name)
    return {name: claimants for name, claimants in claimed.items() if len(claimants) > 1}


def _shared(
    shared: Mapping[TopicName, Sequence[TopicName]], topics: TopicsConfig
) -> Iterator[Problem]:
    for name, claimants in shared.items():
        if topics.names_alike:
            text = (
                f"has no placeholder such as {{topic}}, so {_some(claimants)} would all be named"
                f" {name}; add one, or exclude all but one of them"
            )
            yield Problem("topics.rename", text, Cause.FILE)
            continue
        ordered = sorted(claimants)
        for claimant in claimants:
            others = [other for other in ordered[: _SOME + 1] if other != claimant]
            text = (
                f"would be named {name} on the target, as {_some(others, len(ordered) - 1)} would;"
                " change `topics.rename`, or exclude all but one"
            )
            yield Problem(claimant, text, Cause.FILE)


def _circles(observed: ObservedTopics) -> Iterator[Problem]:
    """Refuse to copy a topic onto itself, or mirror topics into further mirror topics endlessly."""
    same = [name for name in observed.circular if observed.names[name] == name]
    again = [observed.names[name] for name in observed.circular - set(same)]
    if same:
        text = (
            f"source and target are the same cluster ({observed.one_cluster}), so {_some(same)}"
            " would be copied onto itself; give the mirror topics another name, such as"
            " copy.{topic}, or correct `target.bootstrap`"
        )
        yield Problem("topics.rename", text, Cause.FILE)
    if again:
        text = (
            f"source and target are the same cluster ({observed.one_cluster}) and the mirror topics"
            f" match `topics.include` again ({_some(again)}), so mirror topics would be"
            " mirrored without end; name the mirror topics under `topics.exclude`"
        )
        yield Problem("topics.include", text, Cause.FILE)


def _some(names: Sequence[str], of: int | None = None) -> str:
    shown = sorted(names)[:_SOME]
    more = (len(names) if of is None else of) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _colliding(observed: ObservedTopics) -> Iterator[Note]:
    """Tell of names that differ only by `.` and `_`: Kafka refuses to create the second topic."""
    families: dict[str, set[TopicName]] = defaultdict(set)
    for name in (*observed.target, *observed.names.values()):
        families[name_in_metrics(name)].add(name)
    for source, name in observed.names.items():
        others = sorted(families[name_in_metrics(name)] - {name})
        if others and name not in observed.target:
            text = (
                f"{name} differs from {', '.join(others)} only by '.' and '_', which Kafka's"
                " metrics cannot tell apart; brokers refuse to create the second one"
            )
            yield Note(source, text)
