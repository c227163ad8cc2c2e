"""Storage of deletion forecasts in the ledger."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from towpath.ledger.entries import Foretold
from towpath.ledger.link import OpenLink
from towpath.model.nouns import NO_TOPIC_ID, TopicName
from towpath.runtime.clock import now_ms
from towpath.topics.observed import ObservedTopics

_AGAIN = 600_000
"""Milliseconds after which ranges that have grown are written again."""


def foretell(link: OpenLink, seen: ObservedTopics, reached: Collection[TopicName]) -> None:
    """Write new forecasts for mirror topics that have caught up.

    Raises:
        ClusterError: The ledger could not be written.
    """
    fresh = [*_fresh(link, seen, reached), *_over(link, seen)]
    if fresh:
        link.ledger.append(fresh)
        for entry in fresh:
            link.books.take(entry)


def _fresh(
    link: OpenLink, seen: ObservedTopics, reached: Collection[TopicName]
) -> Iterator[Foretold]:
    for name, foresight in seen.foresights.items():
        mirror = seen.target.get(seen.names[name])
        if name not in reached or mirror is None:
            continue
        now = Foretold(
            link=link.name,
            topic=name,
            target_id=mirror.id or NO_TOPIC_ID,
            reasons=foresight.reasons,
            ranges=tuple((p, first, end) for p, (first, end) in foresight.ranges.items()),
            kept=foresight.keeps,
            meant=foresight.meant,
            at=now_ms(),
        )
        if _says_more(now, link.books.foretold.get(name)):
            yield now


def _over(link: OpenLink, seen: ObservedTopics) -> Iterator[Foretold]:
    """Yield the end of holds that somebody has ended, by hand or by another command."""
    for name, before in link.books.foretold.items():
        mirror = seen.target.get(seen.names.get(name, name))
        ended = name in seen.names and name not in seen.foresights
        if before.kept and ended and mirror is not None and mirror.configs:
            yield replace(before, kept=False, at=now_ms())


def _says_more(now: Foretold, before: Foretold | None) -> bool:
    if before is None:
        return bool(now.kept or now.ranges)
    alike = (now.target_id, now.reasons, now.kept, now.meant) == (
        before.target_id, before.reasons, before.kept, before.meant,
    )  # fmt: skip
    return not alike or (now.ranges != before.ranges and now.at - before.at >= _AGAIN)
