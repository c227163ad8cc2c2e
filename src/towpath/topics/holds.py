"""Configs that are withheld from mirror topics until they have caught up. Pure.

Records keep their timestamps, so retention would delete old records as soon as they arrive. And
brokers check a record against the configs of the moment in which it is appended: a source may have
records that its present configs would refuse, such as those without keys that are older than
`cleanup.policy=compact`, and batches that are larger than `segment.bytes` or `max.message.bytes`
is now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from towpath.ledger.entries.foretold import RELEASE, kept_back
from towpath.model.errors import StepOutdatedError
from towpath.model.nouns import TopicName
from towpath.model.reasons import Reason
from towpath.settings import ConfigRules, LinkConfig, StartAt
from towpath.topics.cleaning import cleaning, withheld
from towpath.topics.configs import (
    ANY_TIME,
    MOST_BYTES,
    POLICY,
    RETENTIONS,
    TIME_LIMITS,
    TOO_OLD,
    compacts,
    deletes,
    limit,
    tighter,
    wanted,
)
from towpath.topics.drift import in_effect, released
from towpath.topics.foresight import Foresight, note_of_meant
from towpath.topics.held_there import Holder, may_clean
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import DELETE, UNLIMITED, HeldConfigs, OwnedTopics
from towpath.topics.policies import as_taken
from towpath.topics.releases import SEGMENT_BYTES
from towpath.topics.retention import differs
from towpath.topics.steps import CLEANING, SetConfigs

LARGEST = 8 << 20
"""Bytes of a batch that a mirror topic takes at least while it is filled, if its source topic sets
a limit: how high that was before, nobody tells. Managed clusters allow no more (MSK Serverless,
Confluent Cloud)."""


@dataclass(frozen=True, slots=True)
class HeldTopic:
    """A topic whose mirror topic has withheld limits, or will have.

    Attributes:
        source: The source topic.
        mirror: The name of the mirror topic.
        exists: Whether the mirror topic exists.
        final: The configs in effect on it once it has these limits, as far as known.
        holdable: Whether the link may hold them back.
        by: Why the target does not have the source's values, for the sentence of a reason; see
            `model/reason_texts.py`.
    """

    source: Topic
    mirror: TopicName
    exists: bool
    final: Mapping[str, str]
    holdable: bool = True
    by: str = ""


def held_back(
    observed: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> dict[TopicName, HeldTopic]:
    """Return the topics whose limits are withheld, or will be, by source topic."""
    found: dict[TopicName, HeldTopic] = {}
    for topic in observed.source:
        name = observed.names[topic.name]
        there, taken = observed.target.get(name), as_taken(topic, observed)
        rules = config.topics.configs
        if there is None:
            values = wanted(taken, observed, rules, None).values
            final: Mapping[str, str] = {**observed.defaults, **values}
            held = held_new(taken, values, observed, config, ours).final
            if held.keys() & CLEANING and _cleans(topic, final, rules):
                found[topic.name] = HeldTopic(topic, name, exists=False, final=final)
        elif there.configs and (made := _held_there(topic, taken, there, observed, config, ours)):
            found[topic.name] = made
    return found


def _held_there(
    topic: Topic,
    taken: Topic,
    there: Topic,
    seen: ObservedTopics,
    config: LinkConfig,
    ours: OwnedTopics,
) -> HeldTopic | None:
    """Return a topic whose mirror topic exists, `None` if the target keeps what the source does."""
    rules = config.topics.configs
    waits = _waits(topic, there, seen, config, ours)
    if not waits and (topic.name in ours.cut_over or not may_clean(topic, there, rules)):
        return None
    final, by = released(taken, there, seen, rules, ours), ""
    if not any(differs(topic.configs, final, rules)):
        now = released(taken, there, seen, rules, ours, filled=False)
        if any(differs(topic.configs, now, rules)):
            final, by = now, "not yet"
        elif not waits:
            return None
    values = Holder.of(there, seen, rules, ours).values(topic, final)
    holdable = values is not None
    return HeldTopic(topic, there.name, exists=True, final=final, holdable=holdable, by=by)


def _cleans(topic: Topic, final: Mapping[str, str], rules: ConfigRules) -> bool:
    """Whether a target may remove what the source has, as far as configs tell."""
    return deletes(final) or any(cleaning(topic.configs, final, rules))


def _waits(
    topic: Topic, there: Topic, seen: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> bool:
    """Whether cleaning is held back from a mirror topic, or it is to be compacted."""
    if ours.waiting(there.name, there.own).keys() & CLEANING:
        return True
    ways = (topic.configs, config.topics.configs.override, seen.defaults)
    return not compacts(there.configs) and any(map(compacts, ways))


def holds_new(config: LinkConfig, ours: OwnedTopics) -> bool:
    """Return whether new mirror topics get the records that the source already has.

    A topic that appears while a link runs is copied from its beginning in any case.
    """
    return ours.begun or config.records.start is not StartAt.LATEST


def held_new(
    topic: Topic,
    values: Mapping[str, str],
    seen: ObservedTopics,
    config: LinkConfig,
    ours: OwnedTopics,
) -> HeldConfigs:
    """Return the configs withheld from a new mirror topic of a link.

    Where the mirror topic gets no record of before, nothing is withheld but what would delete
    records that the source keeps.

    Args:
        topic: The source topic.
        values: The configs that the mirror topic has itself in the end.
        seen: The topics of both clusters.
        config: The link's configuration.
        ours: What the link has made on the target.
    """
    held = held_of(values, seen)
    if holds_new(config, ours):
        return held
    final, rules = {**seen.defaults, **values}, config.topics.configs
    if config.topics.lets_delete(topic.name) or not any(differs(topic.configs, final, rules)):
        return HeldConfigs()
    meanwhile = {key: value for key, value in held.meanwhile.items() if key in CLEANING}
    return HeldConfigs(meanwhile, {key: held.final[key] for key in meanwhile})


def held_of(final: Mapping[str, str], seen: ObservedTopics) -> HeldConfigs:
    """Return the configs withheld from a new mirror topic until it is filled.

    Args:
        final: The configs that the topic has itself in the end.
        seen: The topics of both clusters.
    """
    limits = dict(_refusing(final))
    wanted = {**limits, **dict(_meanwhile({**seen.defaults, **final, **limits}))}
    meanwhile = {key: value for key, value in wanted.items() if key in seen.accepted}
    return HeldConfigs(meanwhile, {key: final.get(key) for key in meanwhile})


def _refusing(final: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield limits that the topic sets itself, which records of before may exceed."""
    for key in TIME_LIMITS:
        if tighter(final.get(key), ANY_TIME):
            yield key, ANY_TIME
    if tighter(final.get(MOST_BYTES), str(LARGEST)):
        yield MOST_BYTES, str(LARGEST)


def _meanwhile(configs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if compacts(configs):
        yield POLICY, DELETE
    if compacts(configs) or deletes(configs):
        for key in RETENTIONS:
            if limit(configs.get(key)) != limit(UNLIMITED):
                yield key, UNLIMITED
    most = configs.get(MOST_BYTES)
    if most is not None and tighter(configs.get(SEGMENT_BYTES), most):
        yield SEGMENT_BYTES, most


def note_of_new(key: str, held: HeldConfigs) -> str:
    """Return the note about a config that is withheld from a new mirror topic."""
    value = held.final[key]
    end = "the target's default holds" if value is None else f"it is set to {value}"
    why = _WHY.get(key, "the target would delete old records as they arrive")
    if key == TOO_OLD:
        return (
            f"{key} is held back ({held.meanwhile[key]}) until the cutover, else {why}; then {end}"
        )
    return (
        f"{key} is held back ({held.meanwhile[key]}) while the mirror topic is filled, else {why};"
        f" {end} once the mirror topic has caught up"
    )


_LARGER = "the target would refuse larger batches that the source has had before"
_WHY = {
    TOO_OLD: "the target would refuse records that arrive late",
    TIME_LIMITS[1]: "the target would refuse records that the source took before",
    MOST_BYTES: _LARGER,
    POLICY: "the target would refuse old records without keys",
    SEGMENT_BYTES: _LARGER,
}


def after(step: SetConfigs, seen: ObservedTopics) -> dict[TopicName, HeldTopic]:
    """Return the topic of a step that releases withheld configs, with the new configs.

    The step may be older than the configs of its source topic. Nothing is returned where nothing is
    held back.
    """
    there = seen.target.get(step.target)
    if step.source not in seen.foresights or there is None:
        return {}
    if step.held:
        return {}  # it holds back what was foretold
    (topic,) = (each for each in seen.source if each.name == step.source)
    final = in_effect(there, step.changes, seen.defaults)
    holdable = seen.foresights[step.source].holdable
    return {step.source: HeldTopic(topic, step.target, exists=True, final=final, holdable=holdable)}


def caused(foreseen: Foresight, by: str) -> Foresight:
    """Return a forecast whose reasons name no cause, with this one."""
    reasons = (
        Reason.of(each.code, **{**dict(each.values), "by": by})
        if ("by", "") in each.values
        else each
        for each in foreseen.reasons
    )
    return replace(foreseen, reasons=tuple(reasons))


def outdated_release(step: SetConfigs, foreseen: Foresight) -> StepOutdatedError | None:
    """Return why a step must not release withheld configs now, `None` if it may.

    Args:
        step: The step.
        foreseen: What the target would delete of the topic that the source keeps.
    """
    if withheld(foreseen).isdisjoint(step.changes.keys() - step.held.keys()):
        return None
    return StepOutdatedError(
        f"topic {step.target}", "nothing that only the target would delete", f"some ({foreseen})"
    )


def notes_of_foresight(foresight: Foresight) -> list[str]:
    """Return the note about a new mirror topic on which the target would keep less."""
    if not foresight.reasons:
        return []
    if foresight.meant:
        return [note_of_meant(foresight)]
    word = kept_back(foresight.reasons)
    text = f"its {word} stays held back when it has caught up, too: {foresight}; {RELEASE}"
    return [text]
