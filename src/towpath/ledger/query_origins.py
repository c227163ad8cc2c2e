"""The source topics of topics into which links write through a query, from the ledger beside them.

Such a link opens no partition. Its positions name the topics that it reads, and its journal the
topics that it created. One that was there before is taken for that of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import TopicInfo
from towpath.ledger.entries import (
    MIRROR,
    Cut,
    Journal,
    LinkIdentity,
    LinkState,
    Phase,
    ReadEntry,
    Session,
    Unreadable,
)
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.neighbours import is_removed
from towpath.ledger.origins import MirrorOrigin, MirrorOrigins, QueryCuts
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.model.nouns import POSITIONS, ClusterId, LinkName, TopicId, TopicName, TopicPartition

_KINDS = {each.kind for each in (LinkIdentity, Cut, Journal, LinkState)}
_CREATE = "CreateTopic"
Positions = Mapping[TopicPartition, TransformedPosition]


@dataclass(slots=True)
class _Told:
    """What the ledger tells of one link."""

    cluster: ClusterId | None = None
    runs: bool = False
    created: dict[TopicName, tuple[TopicName, TopicId]] = field(default_factory=dict)
    cuts: dict[TopicPartition, Cut] = field(default_factory=dict)


def query_origins(admin: Admin, client: Client) -> MirrorOrigins:
    """Return the origin of each topic of a cluster into which a link writes through a query.

    Args:
        admin: The cluster.
        client: A client of it.

    Raises:
        ClusterError: The cluster cannot be asked.
        LedgerError: An entry, or a position, cannot be read.
    """
    there = admin.topics.describe()
    prefix = f"{POSITIONS}."
    links = {LinkName(each.removeprefix(prefix)) for each in there if each.startswith(prefix)}
    if not links:
        return {}
    ledger = Ledger(admin, client)
    facts = (*ledger.read(wanted=lambda key: key.kind in _KINDS), *ledger.read(SESSIONS))
    positions = {each: PositionsTopic(admin, client, each).seen() for each in links}
    return found(facts, positions, there)


def found(
    entries: Iterable[ReadEntry],
    positions: Mapping[LinkName, Positions],
    there: Mapping[TopicName, TopicInfo],
) -> MirrorOrigins:
    """Return the origins, from what was read.

    Args:
        entries: Entries of the ledger.
        positions: The positions of each link.
        there: The topics of the cluster.
    """
    told = _told(entries, positions)
    return {
        key: origin
        for link, each in told.items()
        if each.cluster is not None
        for key, origin in _origins(link, each.cluster, each, positions[link], there)
    }


def _told(
    entries: Iterable[ReadEntry], links: Mapping[LinkName, Positions]
) -> dict[LinkName, _Told]:
    told = {link: _Told() for link in links}
    for entry in entries:
        if isinstance(entry, Unreadable):
            raise entry.error
        if (link := getattr(entry, "link", None)) not in told:
            continue
        match entry:
            case LinkIdentity():
                told[link].cluster = entry.source_cluster
            case Session() if entry.work == MIRROR:
                told[link].runs = entry.may_live
            case Cut():
                told[link].cuts[entry.tp] = entry
            case Journal(do=do, phase=Phase.DONE) if do == _CREATE:
                made = TopicName(entry.step["target"]), entry.topic_id
                told[link].created[TopicName(entry.step["source"])] = made
            case LinkState() if is_removed(entry):
                told.pop(link)
            case _:
                pass
    return told


def _origins(
    link: LinkName,
    cluster: ClusterId,
    told: _Told,
    positions: Positions,
    there: Mapping[TopicName, TopicInfo],
) -> Iterator[tuple[tuple[TopicName, TopicId], MirrorOrigin]]:
    for topic in sorted({tp.topic for tp in positions}):
        mirror, made = told.created.get(topic, (topic, None))
        info = there.get(mirror)
        if info is None or made not in {None, info.id}:
            continue
        cuts = {tp.partition: cut for tp, cut in told.cuts.items() if tp.topic == topic}
        written = sum(at.written for tp, at in positions.items() if tp.topic == topic)
        known = QueryCuts(cuts, since=written - sum(cut.records for cut in cuts.values()))
        yield (mirror, info.id), MirrorOrigin(link, cluster, topic, told.runs, query=known)
