"""What a promotion moves, and what forbids it. Blocking; changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from towpath.cluster.admin.groups import GroupListing, GroupState
from towpath.cluster.metadata import ProducerState, TopicInfo
from towpath.gateway.own import FIRST_ID
from towpath.ledger.alive import Life, RunLife
from towpath.ledger.ledger import Ledger
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted
from towpath.model.groups import ClientGroup, GroupKind
from towpath.model.nouns import Mode, TopicName, TopicPartition
from towpath.plan.lease import last_signs
from towpath.runtime.clock import now_ms

_RECENT = 300_000
"""Milliseconds for which a producer counts as one that writes."""
MOST = 8_000
"""Producers, over all partitions, of which one record of the ledger can tell."""


@dataclass(slots=True)
class PromotionScope:
    """What a promotion moves.

    Attributes:
        topics: The topics as the source has them; `mirrors`, as the target has them.
        groups: The groups that read them.
        others: Other groups of the source.
        producers: Producers that write through a gateway, by partition.
        forbidden: Why it cannot be, in sentences.
    """

    topics: Mapping[TopicName, TopicInfo]
    mirrors: Mapping[TopicName, TopicInfo] = field(default_factory=dict)
    groups: dict[ClientGroup, GroupState] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    producers: dict[TopicPartition, tuple[ProducerState, ...]] = field(default_factory=dict)
    forbidden: list[str] = field(default_factory=list)

    @property
    def partitions(self) -> list[TopicPartition]:
        """All partitions."""
        return [
            TopicPartition(name, each.partition)
            for name, info in self.topics.items()
            for each in info.partitions
        ]


def scope_of(
    link: OpenLink, ledger: Ledger, wanted: Sequence[TopicName], promoted: set[str]
) -> PromotionScope:
    """Look what a promotion would move, and what forbids it.

    Args:
        link: The link; its books are read anew.
        ledger: A reader of the ledger for heartbeats of runs.
        wanted: The topics, none for all of the link that are not promoted.
        promoted: Topics that are promoted already.

    Raises:
        ClusterError: A cluster does not answer.
        LedgerError: The link joins other clusters, or a newer version wrote of it.
    """
    link.look()
    copied = {tp.topic for tp, each in link.books.partitions.items() if each.opened}
    names = [*wanted] or sorted(copied - promoted)
    found = link.source.topics.describe(names)
    scope = PromotionScope({name: found[name] for name in names if name in found})
    scope.mirrors = link.target.topics.describe(names)
    scope.forbidden += _settings(link)
    scope.forbidden += [f"topic {name} is not at the source" for name in names if name not in found]
    scope.forbidden += [f"topic {name} is promoted already" for name in names if name in promoted]
    if not names:
        scope.forbidden.append("there is no topic left to promote")
    scope.forbidden += _run(link, ledger)
    for name, info in scope.topics.items():
        scope.forbidden += _topic(link, name, info, scope.mirrors.get(name))
    scope.forbidden += _producers(link, scope)
    scope.forbidden += _groups(link, scope)
    return scope


def _settings(link: OpenLink) -> Iterator[str]:
    for side, cluster in (("source", link.config.source), ("target", link.config.target)):
        if cluster.sasl is not None:
            yield f"clients log in to the {side}, and the gateway cannot do that for them elsewhere"
        if cluster.tls is not None and cluster.tls.cert is not None:
            yield f"the {side} asks for certificates of clients, which the gateway has none of"


def _run(link: OpenLink, ledger: Ledger) -> Iterator[str]:
    session, _ = last_signs(ledger, link.name)
    if session is None or RunLife.of(session).state is not Life.ALIVE:
        yield "no run of the link lives that copies the last records; start `towpath run FILE`"


def _topic(
    link: OpenLink, name: TopicName, info: TopicInfo, mirror: TopicInfo | None
) -> Iterator[str]:
    if mirror is None or mirror.error is not None:
        yield f"topic {name} is not on the target"
        return
    if len(mirror.partitions) != len(info.partitions):
        yield f"topic {name} has another number of partitions on the target"
    if not (info.id and mirror.id):
        yield f"topic {name} has no topic id, as brokers before Kafka 2.8 give none"
    state, pause = link.books.closed(name), link.books.pause_of(name)
    if state is not None or pause is not None:
        yield f"topic {name} is not copied: {state or pause}"
    for each in info.partitions:
        tp = TopicPartition(name, each.partition)
        books = link.books.partitions.get(tp)
        if books is None or books.opened is None:
            yield f"partition {tp} is not copied yet"
        elif books.opened.target != tp or books.mode is not Mode.IDENTICAL:
            yield f"partition {tp} has other offsets or another name on the target"


def _producers(link: OpenLink, scope: PromotionScope) -> Iterator[str]:
    """Note the producers that write through a gateway, and name those that forbid it."""
    found = link.source.producers.states(scope.partitions)
    yield from (f"the producers of {tp} are unknown: {why}" for tp, why in found.failed.items())
    transactional = link.source.producers.transactional_ids()
    names, direct = set[str](), set[TopicPartition]()
    now, count = now_ms(), 0
    for tp, states in found.items():
        scope.producers[tp] = tuple(each for each in states if each.id >= FIRST_ID)
        count += len(scope.producers[tp])
        for each in states:
            if each.id in transactional or each.open_since >= 0 or each.coordinator_epoch >= 0:
                names.add(transactional.get(each.id, f"of producer id {each.id}"))
            elif each.id < FIRST_ID and now - each.last_timestamp < _RECENT:
                direct.add(tp)
    for name in sorted(names):
        yield f"transactional producers are not moved yet: {name}"
    for tp in sorted(direct):
        yield f"a producer wrote to {tp} within five minutes that does not use the gateway"
    if count > MOST:
        yield f"{counted(count, 'producer')} are too many for one promotion; name fewer topics"


def _groups(link: OpenLink, scope: PromotionScope) -> Iterator[str]:
    """Note the groups that read the topics, and name those that forbid it."""
    listing = link.source.groups.listed()
    yield from (f"groups are unknown: {error}" for error in listing.failed.values())
    reads, troubles = _read_by(link, listing)
    yield from troubles
    of_topics = {group for group, topics in reads.items() if topics & scope.topics.keys()}
    for group in sorted(of_topics):
        if group.kind is not GroupKind.CONSUMER:
            yield f"{group} reads the topics, and groups of its kind are not moved yet"
            continue
        for other in sorted(reads[group] - scope.topics.keys()):
            yield f"{group} also reads topic {other}; promote both together"
        scope.groups[group] = listing.groups[group.name]
    moved = {group.name for group in scope.groups}
    scope.others = frozenset(listing.groups.keys() - moved)


def _read_by(
    link: OpenLink, listing: GroupListing
) -> tuple[dict[ClientGroup, set[TopicName]], list[str]]:
    """Return the topics of each group, and what could not be found out, in sentences."""
    groups = [each.group for each in listing.groups.values()]
    known = {each.group: each.coordinator for each in listing.groups.values()}
    offsets = link.source.groups.offsets(groups, known, telling=True)
    reads = {group: {tp.topic for tp in commits} for group, commits in offsets.items()}
    pending = [
        f"{group} commits in transactions, which are not moved yet"
        for group, commits in offsets.items()
        if any(each.pending for each in commits.values())
    ]
    with_members = [each for each in listing.groups.values() if each.has_members]
    for group, topics in link.source.groups.subscriptions(with_members).items():
        reads.setdefault(group, set()).update(topics)
    unknown = [f"what {group} reads is unknown: {why}" for group, why in offsets.failed.items()]
    return reads, pending + unknown


def lags(
    source: Mapping[TopicPartition, int], target: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return by how much partitions of the target are shorter, or longer as a negative number."""
    return {tp: end - target.get(tp, -1) for tp, end in source.items() if target.get(tp) != end}


def first_of(lines: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """Return some of many sentences, and how many more there are."""
    every = [*lines]
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return tuple(every[:most] + more)
