"""Copying of what one cluster alone has to salvage topics, with the ledger's entries about it.

A failback does so with what loses, `salvage keep` with what came to the source too late.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

from towpath.ledger.entries import Salvaged
from towpath.ledger.link import OpenLink
from towpath.mirror.failback.clusters import BothClusters
from towpath.mirror.failback.divergence import Divergence, LoneRecords
from towpath.mirror.failback.failback_plan import salvaged
from towpath.mirror.failback.salvage.salvage import Rescue, Salvage, SalvagePlaces
from towpath.model.nouns import Side, TopicPartition
from towpath.runtime.clock import now_ms

_POLICY, _COMPACT = "cleanup.policy", "compact"

Lone = Sequence[tuple[Divergence, LoneRecords]]
"""Partitions with the records that one cluster alone has, the same one for all."""


def save(
    link: OpenLink,
    clusters: BothClusters,
    side: Side,
    lone: Lone,
    *,
    told: Callable[[int, int], None],
    stop: threading.Event,
    hold: Callable[[], None] = lambda: None,
    places: SalvagePlaces | None = None,
    pace: Callable[[int], None] = lambda _: None,
) -> list[Salvaged]:
    """Copy records to salvage topics; return the ledger's entry about each partition.

    Args:
        link: The link.
        clusters: Both clusters.
        side: The cluster that has them.
        lone: The partitions.
        told: Called with how many records are there, and how many are to be at most.
        stop: Set to end early.
        hold: Raises if this process must not write any more.
        places: Where the records of earlier calls lie in salvage topics.
        pace: Called with the bytes that will be written next; it may wait.

    Raises:
        ClusterError: A cluster cannot be used. What is there is not copied again.
        SalvageDiffersError: A salvage topic does not hold what it should.
        StoppedError: The user asked to stop.
    """
    total, done = sum(own.most for _, own in lone), dict[TopicPartition, int]()

    def show(tp: TopicPartition, number: int) -> None:
        done[tp] = number
        told(sum(done.values()), total)

    rescues = [*_rescues(link, clusters, side, lone)]
    salvage = Salvage(
        link.name, clusters, side, hold=hold, stop=stop, show=show, places=places, pace=pace
    )
    saved, at = salvage.save(rescues), now_ms()
    return [
        salvaged(link.name, one, own, saved[own.place], rescue.place.topic, at)
        for (one, own), rescue in zip(lone, rescues, strict=True)
    ]


def _rescues(link: OpenLink, clusters: BothClusters, side: Side, lone: Lone) -> Iterator[Rescue]:
    """Yield what is to be salvaged of each partition; each topic is asked about once."""
    admin, topics = clusters.of(side).admin, {own.place.topic for _, own in lone}
    there, configs = admin.topics.describe(topics), admin.configs.describe(topics)
    for one, own in lone:
        opened, topic = link.books.of(one.tp).opened, own.place.topic
        assert opened is not None  # noqa: S101  # it was looked at
        policy = configs.get(topic, {}).get(_POLICY)
        yield Rescue(
            own,
            opened.source_topic_id if side is Side.SOURCE else opened.target_topic_id,
            len(there[topic].partitions),
            one.own(side.other).place,
            compacted=policy is not None and _COMPACT in (policy.value or ""),
        )
