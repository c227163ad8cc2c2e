"""Pairs of a Redpanda Connect file that copy the same topics in both directions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from towpath.model.errors import ConfigError
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig
from towpath.topics.told_apart import first_alone


def both_ways(links: Mapping[str, LinkConfig]) -> Iterator[str]:
    """Yield a note on each two pairs whose header lets records of a third cluster go round.

    Args:
        links: The pairs by their labels.
    """
    for (label, link), (other, back) in combinations(links.items(), 2):
        topic = _shared(link, back)
        if topic is None or not _opposite(link, back):
            continue
        kept = first_alone(link, topic) | first_alone(back, topic)
        if kept:
            yield (
                f"pairs {label} and {other} copy topic {topic} in both directions. The header"
                f" {min(kept)} names the first cluster of a record alone: records that one of both"
                " clusters has from a third one, with its id in that header, are left out by"
                " neither pair, and are copied again and again, as Redpanda Connect does. Bring"
                " such topics one way only, or `towpath convert` both pairs and use `topics.twin`"
            )


def _opposite(link: LinkConfig, back: LinkConfig) -> bool:
    """Return whether the source of each has an address of the other one's target."""
    sides = ((link.source, back.target), (back.source, link.target))
    return all({*each.bootstrap} & {*other.bootstrap} for each, other in sides)


def _shared(link: LinkConfig, back: LinkConfig) -> TopicName | None:
    """Return a topic, or an expression for topics, that both select and give the same name."""
    named = {*link.topics.include, *back.topics.include}
    alike = {*link.topics.include} & {*back.topics.include}
    both = {each for each in named if link.topics.matches(each) and back.topics.matches(each)}
    found = sorted(each for each in both | alike if _keep(link, each) and _keep(back, each))
    return TopicName(found[0]) if found else None


def _keep(link: LinkConfig, topic: str) -> bool:
    try:
        return link.topics.keeps_names or link.topics.target_name(topic) == topic
    except ConfigError:  # a regular expression is no name of a topic
        return False
