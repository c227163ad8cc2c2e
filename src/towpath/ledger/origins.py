"""The source topics of mirror topics, from the ledger on the same cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import (
    MIRROR,
    Cut,
    DefinedChange,
    Gap,
    LinkIdentity,
    LinkState,
    Opened,
    ReadEntry,
    Receipt,
    Repaired,
    Session,
    Twinned,
    Unreadable,
)
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.neighbours import is_removed
from towpath.ledger.topic import TOPIC
from towpath.model.nouns import ClusterId, LinkName, TopicId, TopicName, TopicPartition


@dataclass(frozen=True, slots=True)
class QueryCuts:
    """The cutovers of a topic into which a link writes through a query.

    Attributes:
        cuts: The last cutover of each partition, by number.
        since: How many records the link has written since.
    """

    cuts: Mapping[int, Cut]
    since: int


@dataclass(frozen=True, slots=True)
class MirrorOrigin:
    """The link and source topic that a mirror topic comes from.

    Attributes:
        link: The link that mirrors it.
        cluster: The cluster that it is mirrored from.
        topic: The name of its source topic.
        runs: Whether a link that mirrors it seems to run now. One that was failed over, or turned
            round, writes nothing any more.
        by: What the ledger knows of all links that mirrored it from that cluster, without runs.
        running: Those of these links that seem to run now.
        others: Its origins in other clusters, if links bring it from several.
        query: Its cutovers, if records go through a query; `None` for links that copy.
    """

    link: LinkName
    cluster: ClusterId
    topic: TopicName
    runs: bool
    by: tuple[LinkBooks, ...] = ()
    running: frozenset[LinkName] = frozenset()
    others: tuple[MirrorOrigin, ...] = ()
    query: QueryCuts | None = None

    def of(self, cluster: ClusterId, topic: TopicName) -> MirrorOrigin:
        """Return the origin that is a topic of a cluster, if any is, else the last one."""
        wanted = cluster, topic
        return next((o for o in self.others if (o.cluster, o.topic) == wanted), self)


MirrorOrigins = Mapping[tuple[TopicName, TopicId], MirrorOrigin]
"""By name and id of the mirror topic."""

_KINDS = {
    each.kind
    for each in (
        LinkIdentity, LinkState, Opened, Receipt, Repaired, Cut, Gap, Twinned, DefinedChange,
    )
}  # fmt: skip


def mirror_origins(admin: Admin, client: Client) -> MirrorOrigins:
    """Return the link and source topic of each mirror topic in a cluster.

    Args:
        admin: The cluster. It may have no ledger.
        client: A client of it.

    Raises:
        ClusterError: The cluster cannot be asked.
        LedgerError: An entry cannot be read: that link, too, may mirror a topic.
    """
    if admin.topics.find(TOPIC) is None:
        return {}
    ledger = Ledger(admin, client)
    facts = ledger.read(wanted=lambda key: key.kind in _KINDS)
    return dict(_found((*facts, *ledger.read(SESSIONS))))


def mirrored(
    mirror: tuple[TopicName, TopicId], source: TopicId | None, by: Sequence[LinkBooks]
) -> Iterator[tuple[LinkName, TopicPartition, PartitionBooks]]:
    """Yield the source partitions whose copies a mirror topic holds.

    Args:
        mirror: Name and id of the mirror topic.
        source: The id of its source topic; what was copied from an earlier one is left out.
        by: What the ledger knows of each link that made it.
    """
    for link in by:
        for tp, books in link.partitions.items():
            if is_mirrored(books, mirror, source):
                yield link.link, tp, books


def is_mirrored(
    books: PartitionBooks, mirror: tuple[TopicName, TopicId], source: TopicId | None
) -> bool:
    """Return whether a link has opened a partition of a mirror topic."""
    opened = books.opened
    return opened is not None and (
        (opened.target_topic, opened.target_topic_id, opened.source_topic_id) == (*mirror, source)
    )


def _found(
    entries: Iterable[ReadEntry],
) -> Iterator[tuple[tuple[TopicName, TopicId], MirrorOrigin]]:
    clusters: dict[LinkName, ClusterId] = {}
    sessions: dict[LinkName, Session] = {}
    links: dict[LinkName, LinkBooks] = {}
    opened: list[Opened] = []
    for entry in entries:
        match entry:
            case LinkIdentity():
                clusters.setdefault(entry.link, entry.source_cluster)
            case Session() if entry.work == MIRROR:
                sessions[entry.link] = entry
            case (
                Opened() | Receipt() | Repaired() | Cut() | Gap() | LinkState() | Twinned()
                | DefinedChange()
            ):  # fmt: skip
                links.setdefault(entry.link, LinkBooks(entry.link)).take(entry)
                opened += [entry] if isinstance(entry, Opened) else []
                if is_removed(entry):
                    opened = [each for each in opened if each.link != entry.link]
            case Unreadable():
                raise entry.error  # becomes a note: that link, too, may copy in a circle
            case _:
                pass
    by: dict[tuple[ClusterId, TopicName, TopicId], dict[LinkName, LinkBooks]] = {}
    last: dict[tuple[TopicName, TopicId], dict[ClusterId, Opened]] = {}
    for entry in opened:
        if entry.link in clusters:
            mirror, cluster = (entry.target_topic, entry.target_topic_id), clusters[entry.link]
            of = last.setdefault(mirror, {})
            of.pop(cluster, None)
            of[cluster] = entry  # behind those of other clusters that were opened before
            by.setdefault((cluster, *mirror), {})[entry.link] = links[entry.link]
    for mirror, of in last.items():
        *others, latest = (
            _origin(entry, cluster, by[cluster, *mirror], sessions) for cluster, entry in of.items()
        )
        yield mirror, replace(latest, others=tuple(others))


def _origin(
    entry: Opened,
    cluster: ClusterId,
    beside: Mapping[LinkName, LinkBooks],
    sessions: Mapping[LinkName, Session],
) -> MirrorOrigin:
    topic = entry.topic
    alive = frozenset(
        each
        for each, known in beside.items()
        if each in sessions and sessions[each].may_live and known.closed(topic) is None
    )
    by = tuple(beside.values())
    return MirrorOrigin(entry.link, cluster, topic, bool(alive), by, alive)
