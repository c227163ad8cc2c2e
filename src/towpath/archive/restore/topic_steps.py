"""Steps and notes for topics that already exist on a restore's target. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from towpath.archive.restore.model import RestoreTopic
from towpath.topics.configs import POLICY, RETENTIONS
from towpath.topics.observed import Topic
from towpath.topics.owned import OwnedTopics
from towpath.topics.steps import SetConfigs, TopicStep

_HELD = (
    "held back while the topic is restored, else the target would delete, compact, refuse or"
    " restamp old records as they arrive"
)
CLEANING = frozenset({POLICY, *RETENTIONS})
"""Configs that let the target delete or compact records."""


def release_steps(
    topic: RestoreTopic, there: Topic, ours: OwnedTopics, only: Collection[str] | None
) -> list[TopicStep]:
    """Return the steps that set the withheld configs of a restored topic, or some of them."""
    waits = {
        key: value
        for key, value in ours.waiting(there.name, there.own).items()
        if only is None or key in only
    }
    if not waits:
        return []
    return [
        SetConfigs(
            source=topic.topic.name,
            target=there.name,
            set={key: value for key, value in waits.items() if value is not None},
            remove=tuple(sorted(key for key, value in waits.items() if value is None)),
            before={key: there.own.get(key) for key in waits},
            owned=tuple(sorted(waits)),
            id=there.id,
        )
    ]


def holding_notes(final: Mapping[str, str | None]) -> Iterator[str]:
    """Yield a note that lists the withheld configs."""
    if final:
        yield f"{', '.join(sorted(final))}: {_HELD}"


def beside_notes(topic: RestoreTopic, there: Topic) -> Iterator[str]:
    """Yield notes about an empty topic that the target already has."""
    if there.partitions > topic.count:
        yield (
            f"has {there.partitions} partitions on the target and {topic.count} in the archive; the"
            " additional ones stay empty, and producers there distribute keys differently (or place"
            " records by their keys: `restore.partitions`)"
        )
    else:
        yield "exists on the target and is empty; it keeps its own configs"
