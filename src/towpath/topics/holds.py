"""The limits that are held back from mirror topics while they are filled. Pure.

Records keep their timestamps, so retention would delete old records as soon as they arrive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.config import LinkConfig, StartAt
from towpath.ledger.entries.foretold import RELEASE
from towpath.model.nouns import TopicName
from towpath.topics.configs import RETENTIONS, deletes, limit, wanted
from towpath.topics.drift import released
from towpath.topics.foresight import Foresight, note_of_meant
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import UNLIMITED, OwnedTopics
from towpath.topics.policies import as_taken


@dataclass(frozen=True, slots=True)
class HeldTopic:
    """A topic whose mirror topic has limits that are held back, or will have.

    Attributes:
        source: The source topic.
        mirror: The name of the mirror topic.
        exists: Whether the mirror topic exists.
        final: The configs in effect on it once it has these limits, as far as known.
    """

    source: Topic
    mirror: TopicName
    exists: bool
    final: Mapping[str, str]


def held_back(
    observed: ObservedTopics, config: LinkConfig, ours: OwnedTopics
) -> dict[TopicName, HeldTopic]:
    """Return the topics from which limits are held back, or will be, by source topic."""
    found: dict[TopicName, HeldTopic] = {}
    for topic in observed.source:
        name = observed.names[topic.name]
        there, taken = observed.target.get(name), as_taken(topic, observed)
        rules = config.topics.configs
        if there is None:
            values = wanted(taken, observed, rules, None).values
            if holds_new(config, ours) and held_of(values, observed):
                final: Mapping[str, str] = {**observed.defaults, **values}
                found[topic.name] = HeldTopic(topic, name, exists=False, final=final)
        elif there.configs and ours.waiting(name, there.own):
            final = released(taken, there, observed, rules, ours)
            found[topic.name] = HeldTopic(topic, name, exists=True, final=final)
    return found


def holds_new(config: LinkConfig, ours: OwnedTopics) -> bool:
    """Whether new mirror topics get the records that the source has already.

    A topic that appears while a link runs is copied from its beginning in any case.
    """
    return ours.begun or config.records.start is not StartAt.LATEST


def held_of(final: Mapping[str, str], seen: ObservedTopics) -> dict[str, str | None]:
    """Return the limits withheld from a new mirror topic until it is filled, with final values.

    Args:
        final: The configs that the topic has itself in the end.
        seen: The topics of both clusters.
    """
    configs = {**seen.defaults, **final}
    return {
        key: final.get(key)
        for key in (RETENTIONS if deletes(configs) else ())
        if key in seen.accepted and limit(configs.get(key)) != limit(UNLIMITED)
    }


def note_of_new(key: str, value: str | None) -> str:
    """Return the note about a limit that is held back from a new mirror topic."""
    end = "the target's default holds" if value is None else f"it is set to {value}"
    return (
        f"{key} is held back ({UNLIMITED}) while the mirror topic is filled, else the target would"
        f" delete old records as they arrive; {end} once the mirror topic has caught up"
    )


def notes_of_foresight(foresight: Foresight) -> list[str]:
    """Return the note about a new mirror topic on which the target would keep less."""
    if not foresight.reasons:
        return []
    if foresight.meant:
        return [note_of_meant(foresight)]
    text = f"its retention stays held back when it has caught up, too: {foresight}; {RELEASE}"
    return [text]
