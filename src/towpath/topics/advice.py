"""Notes about source topics before they are mirrored. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from towpath.cluster.metadata import TopicInfo
from towpath.model.amounts import counted
from towpath.model.findings import Note
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig, TopicsConfig
from towpath.settings.sections.own_topics import is_own, of_tools
from towpath.topics.configs import (
    MOST_BYTES,
    TIME_LIMITS,
    holding,
    limit,
    stamps_itself,
    tighter,
)
from towpath.topics.observed import ObservedTopics, Topic

_SHOWN = 5
_FOR_EVER = 2**62
"""Milliseconds. Kafka's default for a time limit is larger, which means no limit."""


def remarks(
    topic: Topic,
    configs: Mapping[str, str],
    request_bytes: int | None = None,
    *,
    cut_over: bool = False,
) -> Iterator[str]:
    """Yield sentences about limits of a mirror topic that may block or drop records.

    Args:
        topic: The source topic.
        configs: The configs in effect on the mirror topic, as far as known.
        request_bytes: The largest request that the target's brokers accept, if known.
        cut_over: Whether the topic was cut over, so that records get the times of the target.
    """
    if stamps_itself(configs) and not cut_over:
        yield (
            "the target replaces record timestamps with its own time; set"
            " message.timestamp.type=CreateTime there to keep the source's timestamps"
        )
    yield from _sizes(topic, configs, request_bytes)
    if not cut_over:
        yield from _times(holding(topic.configs), holding(configs))


def _sizes(topic: Topic, configs: Mapping[str, str], request_bytes: int | None) -> Iterator[str]:
    ours, theirs = topic.configs.get(MOST_BYTES), configs.get(MOST_BYTES)
    if tighter(theirs, ours):
        yield (
            f"the target accepts batches of at most {theirs} bytes, the source has up to {ours};"
            f" larger batches are split, but a larger record stops its partition: raise"
            f" {MOST_BYTES} there to {ours}"
        )
    if request_bytes is not None and tighter(str(request_bytes), ours):
        yield (
            f"the target's brokers accept requests of at most {request_bytes} bytes, the source has"
            f" batches of up to {ours}: a record of that size stops its partition; raise"
            " socket.request.max.bytes there"
        )


def _times(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    before, after = TIME_LIMITS
    behind = limit(theirs.get(before))
    if behind is not None and behind < _FOR_EVER:
        yield (
            f"the target refuses records that are older than {before} ({theirs[before]} ms) when"
            " they arrive, which stops their partition; mirrored records arrive late, so set"
            f" {before} to a larger value under `topics.configs.override` until the cutover"
        )
    if tighter(theirs.get(after), ours.get(after)):
        yield (
            f"the target refuses records whose timestamp is more than {after} ({theirs[after]} ms)"
            f" in the future, which stops their partition; the source allows {ours[after]} ms, so"
            f" let `topics.configs` set {after} there"
        )


def unmatched_expressions(observed: ObservedTopics, config: LinkConfig) -> Iterator[Note]:
    """Yield a note for each expression that matches no topic, with the nearest names."""
    matched = [topic.name for topic in observed.source]
    matched += [TopicName(problem.about) for problem in observed.problems]
    matched += filter(is_own, observed.unmatched)  # `own_and_tools` tells of these
    for expression in config.topics.include:
        if any(re.fullmatch(expression, name) for name in matched):
            continue
        near = get_close_matches(expression, observed.unmatched, n=3, cutoff=0.4)
        hint = f"; the nearest names are {', '.join(near)}" if near else ""
        text = (
            f"{expression!r} matches no topic that the login may describe{hint};"
            " a run mirrors such a topic as soon as it exists"
        )
        yield Note("topics.include", text)


def own_and_tools(listed: Iterable[TopicInfo], topics: TopicsConfig) -> Iterator[Note]:
    """Yield notes on source topics that are never mirrored, and on topics of tools.

    Args:
        listed: All topics of the source.
        topics: What the file says of topics.
    """
    asked = [info for info in listed if topics.asks_for(info.name)]
    own = sorted(info.name for info in asked if info.internal or is_own(info.name))
    if own:
        text = (
            f"never mirrored, as each cluster keeps its own: {', '.join(own)} (docs/what-moves.md)"
        )
        yield Note("topics.include", text)
    for tool, names in of_tools(info.name for info in asked if topics.takes(info)).items():
        names.sort()
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        text = (
            f"{counted(len(names), 'topic')} of {tool.tool} will be mirrored ({shown}):"
            f" {tool.advice}; exclude them unless you need the copy"
        )
        yield Note("topics.include", text)
