"""The twin of a link, from the ledger on the source, for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.ledger.topic import TOPIC
from towpath.ledger.twins import KINDS, Direction, PrivateWriters
from towpath.mirror.verify.ranges import Sized
from towpath.model.nouns import NO_CLUSTER, NO_LINK, ClusterId, LinkName, ProducerId, Side
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True)
class TwinView:
    """The link that mirrors records of the target to the source.

    Attributes:
        books: What the ledger on the source knows of the twin.
    """

    books: LinkBooks
    _mine: LinkBooks
    _clusters: tuple[ClusterId, ClusterId] = (NO_CLUSTER, NO_CLUSTER)
    _ids: Mapping[Direction, frozenset[ProducerId]] = field(default_factory=dict)

    def without(self, whole: Sized) -> Sized:
        """Return a range that leaves out what came from the target."""
        source, target = self._clusters
        back = Direction(source, whole.part.source, whole.part.target).back(target)
        ids = self._ids.get(back, frozenset())
        return replace(whole, part=replace(whole.part, twin=ids)) if ids else whole

    def of(self, whole: Sized | None) -> LinkName:
        """Return the twin that copies what others write to the target of a range, "" for none."""
        if whole is None:
            return NO_LINK
        opened = self.books.of(whole.part.target).opened
        own = self._mine.of(whole.part.source).opened
        if opened is None or own is None:
            return NO_LINK
        there = opened.target, opened.target_topic_id
        return self.books.link if there == (own.tp, own.source_topic_id) else NO_LINK


def twin_view(config: LinkConfig, source: Admin, target: Admin, mine: LinkBooks) -> TwinView:
    """Return the twin from the ledger on the source; nothing if the file names no twin.

    Args:
        config: The file.
        source: The source.
        target: The target.
        mine: What the ledger on the target knew of the link, read before.

    Raises:
        ClusterError: The source cannot be asked.
        LedgerError: Its ledger cannot be read.
    """
    twin = config.topics.twin
    if twin is None or source.topics.find(TOPIC) is None:
        return TwinView(LinkBooks(twin or NO_LINK), mine)
    with Client(config.source, Side.SOURCE, source) as client:
        books, writers = Ledger(source, client).books(twin, runs=False), PrivateWriters()
        for entry in Ledger(source, client).read(wanted=lambda key: key.kind in KINDS):
            writers.take(entry)
    clusters = source.cluster.id(), target.cluster.id()
    return TwinView(books, mine, clusters, writers.by_direction())
