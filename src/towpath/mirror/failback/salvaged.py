"""Listing and replaying the records in a link's salvage topics, for the commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from towpath.ledger.events import What
from towpath.ledger.link import open_link
from towpath.ledger.wishes import read_begun, signature
from towpath.mirror.failback.clusters import both_clusters
from towpath.mirror.failback.salvage.replay import (
    SalvagedPartition,
    SalvageReplay,
    look,
    of_topics,
    salvaged_partitions,
)
from towpath.model.nouns import TopicName, TopicPartition
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class ReplayWish:
    """A request to replay salvaged records.

    Attributes:
        topics: Which topics; all for none.
        agreed: Called with what would be replayed; returns whether to do it.
        stop: Set to end early.
        told: Called with how many records are replayed, and how many are to be.
    """

    topics: frozenset[TopicName]
    agreed: Callable[[Sequence[SalvagedPartition]], bool]
    stop: threading.Event = field(default_factory=threading.Event)
    told: Callable[[int, int], None] = lambda _done, _of: None


def list_salvaged(
    config: LinkConfig, topics: frozenset[TopicName] = frozenset()
) -> list[SalvagedPartition]:
    """Return the salvaged partitions of a link, with what their topics hold now.

    A cluster that does not answer is named at its partitions.

    Raises:
        ClusterError: The target, which has the ledger, cannot be reached.
        LedgerError: The link never ran.
    """
    with open_link(config) as link:
        read_begun(link)
        known = of_topics(salvaged_partitions(link.books), topics)
        with both_clusters(link) as clusters:
            return look(clusters, known)


def replay_salvaged(config: LinkConfig, wish: ReplayWish) -> list[SalvagedPartition]:
    """Replay all salvaged records that were not replayed; return the state of each partition.

    Raises:
        ClusterError: A cluster cannot be used. What was written is marked, and stays.
        LedgerError: The link never ran.
        StoppedError: The user asked to stop.
    """
    with open_link(config) as link:
        read_begun(link)
        known = of_topics(salvaged_partitions(link.books), wish.topics)
        with both_clusters(link) as clusters:
            found = look(clusters, known)
            due = [each for each in found if each.left and not each.trouble]
            if not due or not wish.agreed(due):
                return found
            total, done = sum(each.left for each in due), dict[TopicPartition, int]()

            def show(tp: TopicPartition, number: int) -> None:
                done[tp] = number
                wish.told(sum(done.values()), total)

            replay = SalvageReplay(link.name, clusters, signature, stop=wish.stop, show=show)
            after = {each.place: each for each in replay.replay(due)}
            again = sum(each.left for each in due) - sum(each.left for each in after.values())
            link.events.tell(What.SALVAGE_REPLAYED, records=again)
            return [after.get(each.place, each) for each in found]
