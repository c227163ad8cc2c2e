"""Records that came to the source of topics whose clients use the target: they are kept aside.

The run of the link does not copy them, as clients write to the target by now. They are copied to
salvage topics there, counted and compared, so that retention at the source takes none; a replay
brings them into their topics (`salvage/replay.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from towpath.ledger.books.link import sealed
from towpath.ledger.entries import LinkStage, LinkState
from towpath.ledger.events import What
from towpath.ledger.link import OpenLink, open_link
from towpath.ledger.wishes import read_begun
from towpath.mirror.failback.clusters import BothClusters, both_clusters
from towpath.mirror.failback.divergence_search import look
from towpath.mirror.failback.salvage.replay import (
    SalvagedPartition,
    of_topics,
    salvaged_partitions,
)
from towpath.mirror.failback.salvage.replay import look as look_at
from towpath.mirror.failback.salvaging import save
from towpath.mirror.failback.scope import part_of
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class KeepWish:
    """A request to keep records aside.

    Attributes:
        topics: Which topics; all for none.
        stop: Set to end early.
        told: Called with how many records are kept, and how many are to be at most.
    """

    topics: frozenset[TopicName] = frozenset()
    stop: threading.Event = field(default_factory=threading.Event)
    told: Callable[[int, int], None] = lambda _done, _of: None


@dataclass(frozen=True, slots=True)
class KeptStrays:
    """What became of such a request.

    Attributes:
        records: How many were kept now.
        found: All that is in salvage topics now, of the topics of the request.
        left: Why some could not be kept now, in sentences.
    """

    records: int
    found: tuple[SalvagedPartition, ...]
    left: tuple[str, ...] = ()


def keep_strays(config: LinkConfig, wish: KeepWish) -> KeptStrays:
    """Copy what the source has behind the cut of topics that are over to salvage topics.

    What was kept before is not copied again.

    Raises:
        ClusterError: A cluster cannot be used. What is kept stays, and is not kept again.
        LedgerError: The link never ran.
        LinkSealedError: It was turned round, so what comes to its source is copied there.
        SalvageDiffersError: A salvage topic does not hold what it should.
        StoppedError: The user asked to stop; a repeated request goes on.
    """
    with open_link(config) as link:
        read_begun(link)
        link.books.check_clusters(link.source.cluster.id(), link.target.cluster.id())
        with both_clusters(link) as clusters:
            records, left = _kept(link, clusters, wish)
            known = of_topics(salvaged_partitions(link.books), wish.topics)
            return KeptStrays(records, tuple(look_at(clusters, known)), left)


def _kept(link: OpenLink, clusters: BothClusters, wish: KeepWish) -> tuple[int, tuple[str, ...]]:
    """Keep what is to be kept; return how many records, and what is left."""
    states = _over(link)
    if not states:
        return 0, ()
    part = part_of(link, states)
    part.partitions = {
        tp: each
        for tp, each in part.partitions.items()
        if each.opened and each.cut and _is_meant(tp, each.opened.target_topic, wish.topics)
    }
    found = look(clusters, part, link.ledger)
    due = [(one, own) for one in found.partitions if (own := one.unsaved(Side.SOURCE)).any]
    if due:
        entries = save(link, clusters, Side.SOURCE, due, told=wish.told, stop=wish.stop)
        link.ledger.append(entries)
        link.read()
        count = sum(each.records for each in entries)
        link.events.tell(What.STRAYS_KEPT, records=count)
    else:
        count = 0
    left = [f"{each.about}: {each.text}" for each in found.problems]
    left += [
        f"{one.tp}: a transaction is open at the source from offset {one.source.end} on; what it"
        " leaves is kept once it has ended"
        for one in found.partitions
        if one.source.is_open
    ]
    return count, tuple(left)


def _is_meant(tp: TopicPartition, mirror: TopicName, topics: frozenset[TopicName]) -> bool:
    return not topics or bool(topics & {tp.topic, mirror})


def _over(link: OpenLink) -> Mapping[TopicName, LinkState]:
    """Return the states of the link, or of topics, whose clients use the target.

    Raises:
        LinkSealedError: The whole link was turned round.
    """
    whole = link.books.state_of()
    if whole is not None and whole.state == LinkStage.REVERSED:
        raise sealed(whole)
    return {
        topic: each
        for topic, each in link.books.states.items()
        if each.state == LinkStage.FAILED_OVER and topic not in link.books.stopped
    }
