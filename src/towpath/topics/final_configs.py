"""Configs that mirror topics still lack are set once clients use these. Blocking.

A link lets the target delete and compact nothing until a mirror topic has caught up, and brings
changed configs each `run.sync_interval` alone. No run does anything about a topic that was promoted
or failed over, so what is missing then would be missing for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from towpath.cluster.metadata import TopicInfo, non_default
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.topics.cleaners import look_at_cleaner
from towpath.topics.drift import sync
from towpath.topics.observe import described, look_at_target, with_cleaner
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import ours_of
from towpath.topics.policies import as_taken
from towpath.topics.refused_configs import narrowed
from towpath.topics.steps import SetConfigs

_DEFAULT = "the default"
_CHANGED = "those that the source changed since the link last looked"
_PULSE = 2.0
"""Seconds within which the source answers, or is not asked: members of groups wait."""

Failed = Mapping[TopicName, object]
"""Topics about which something is not known, or not done, each with why."""


def set_as_source(link: OpenLink, topics: Collection[TopicName]) -> list[Reason]:
    """Give promoted topics the configs that a sync would give them; return what is left, and why.

    Where the source does not tell its configs, what the link holds back is set, as it is known.

    Args:
        link: The link that copied them, with its books read.
        topics: The source topics.

    Raises:
        ClusterError: The target does not answer.
    """
    names, _ = link.config.topics.target_names(topics)
    if link.config.topics.twin is not None:  # each side keeps its own configs
        return [*set_final(link, names.values()).values()]
    found = link.target.topics.describe(names.values())
    there = {name: info for name, info in found.items() if not info.error}
    names = {name: mirror for name, mirror in names.items() if mirror in there}
    known, unknown = _at_source(link, names)
    seen = _seen(link, known, names, there)
    hidden = [topic.name for topic in known if not seen.target[names[topic.name]].configs]
    unknown |= dict.fromkeys(hidden, "the login may not see the configs of the mirror topic")
    unset = [
        Reason.of(ReasonCode.PROMOTE_CONFIGS, topic=str(name), configs=_CHANGED, why=str(why))
        for name, why in unknown.items()
    ]
    unset += set_final(link, [names[name] for name in unknown]).values()
    return unset + _set(link, _steps(link, seen, there))


def _at_source(
    link: OpenLink, names: Collection[TopicName]
) -> tuple[Sequence[Topic], dict[TopicName, object]]:
    """Return the topics of the source with their configs, and those that it does not tell."""
    source = link.source
    try:
        source.cluster.pulse(_PULSE)
        infos = source.topics.describe(names)
        configs = source.configs.describe(names)
        topics = [described(infos[n], each) for n, each in configs.items() if n in infos]
        cleaner = look_at_cleaner(source, Side.SOURCE, (each.configs for each in topics))
    except ClusterError as error:
        return (), dict.fromkeys(names, error)
    return [with_cleaner(topic, cleaner) for topic in topics], dict(configs.failed)


def _seen(
    link: OpenLink,
    topics: Sequence[Topic],
    names: Mapping[TopicName, TopicName],
    there: Mapping[TopicName, TopicInfo],
) -> ObservedTopics:
    rules, where = link.config.topics, link.config.target
    return look_at_target(link.target, there, tuple(topics), names, rules, where)


def _steps(
    link: OpenLink, seen: ObservedTopics, there: Mapping[TopicName, TopicInfo]
) -> list[SetConfigs]:
    """Return what brings topics in line with the source, where nothing is held back any more."""
    rules, every = link.config.topics.configs, frozenset(topic.name for topic in seen.source)
    ours = ours_of(link.books, {name: info.id for name, info in there.items()})
    ours = replace(ours, caught_up=every, cut_over=every)
    made = (
        sync(as_taken(topic, seen), seen.target[seen.names[topic.name]], seen, rules, ours)
        for topic in seen.source
    )
    return [each.step for each in made if each.step is not None]


def _set(link: OpenLink, steps: Sequence[SetConfigs]) -> list[Reason]:
    """Set configs, without those that the target refuses; return these."""
    if not steps:
        return []
    checked = narrowed(steps, link.target)
    told = {each.about: each.text for each in checked.problems}
    why: dict[TopicName, object] = {s.target: told[s.source] for s in steps if s.source in told}
    why |= {step.target: error for step, error in checked.refused}
    refused = {step.target for step, _ in checked.refused}
    changes = {
        each.target: each.changes
        for each in checked.steps
        if isinstance(each, SetConfigs) and each.target not in refused
    }
    failed = link.target.configs.change_all(changes).failed if changes else {}
    why |= failed
    left = {
        step.target: {
            key: value
            for key, value in step.changes.items()
            if step.target in failed or key not in changes.get(step.target, {})
        }
        for step in steps
    }
    return [*_left(left, {name: why.get(name, "") for name, each in left.items() if each}).values()]


def set_final(link: OpenLink, topics: Iterable[TopicName]) -> dict[TopicName, Reason]:
    """Set the configs that a link still holds back from topics; return where that failed, and why.

    Args:
        link: The link that copied them, with its books read.
        topics: The mirror topics.

    Raises:
        ClusterError: The target does not answer.
    """
    target = link.target
    found = target.topics.describe(topics)
    ours = ours_of(link.books, {name: info.id for name, info in found.items() if not info.error})
    held = [name for name in found if ours.held.get(name)]
    if not held:
        return {}
    there = target.configs.describe(held)
    waiting = {name: ours.waiting(name, non_default(each)) for name, each in there.items()}
    changes = {name: configs for name, configs in waiting.items() if configs}
    made = target.configs.change_all(changes).failed if changes else {}
    return _left(ours.held, {**there.failed, **made})


def _left(
    changes: Mapping[TopicName, Mapping[str, str | None]], failed: Failed
) -> dict[TopicName, Reason]:
    """Return the topics that keep what was held back, each with the reason."""
    found = {}
    for topic, why in failed.items():
        wanted = ", ".join(f"{key}={value or _DEFAULT}" for key, value in changes[topic].items())
        found[topic] = Reason.of(
            ReasonCode.PROMOTE_CONFIGS, topic=str(topic), configs=wanted, why=str(why)
        )
    return found
