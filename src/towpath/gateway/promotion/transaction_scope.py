"""The transactional ids that a promotion would move, and what they write besides. Blocking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from towpath.cluster.metadata import Answers, ProducerState, every_partition
from towpath.gateway.promotion.committed_groups import CommittedGroups, committed_groups
from towpath.gateway.promotion.reasons.transactional import MOST_IDS, JoinedWrites
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.ledger.link import OpenLink
from towpath.model.nouns import ProducerId, TopicName, TopicPartition

OFFSETS = TopicName("__consumer_offsets")
States = Answers[TopicPartition, tuple[ProducerState, ...]]


@dataclass(frozen=True, slots=True)
class TransactionLook:
    """What is asked of the transactional ids of a promotion.

    Attributes:
        link: The link whose source has them.
        names: The transactional ids of the source, by producer id; without those that moved.
        seen: What ids did through this gateway.
        groups: The names of the groups that move; `all_groups`, of all that the source has.
        states: What the source remembers of the producers of the topics that move.
    """

    link: OpenLink
    names: Mapping[ProducerId, str]
    seen: Mapping[str, SeenTransactional]
    groups: Set[str]
    all_groups: Set[str]
    states: States
    committed: CommittedGroups = field(default_factory=dict)


def joined_ids(look: TransactionLook) -> dict[str, JoinedWrites]:
    """Return the ids that write to what moves, with all that they write.

    Raises:
        ClusterError: The source does not answer.
    """
    topics = {tp.topic for tp in look.states}
    found: dict[str, JoinedWrites] = defaultdict(JoinedWrites)
    _add(found, look.states, look.names)
    for groups in look.committed.values():
        for producer, committed in groups.items():
            if producer in look.names and not look.groups.isdisjoint(committed):
                found[look.names[producer]].groups |= committed
    known = {*look.names.values()}
    for name, each in look.seen.items():
        if name in known and (each.topics & topics or each.groups & look.groups):
            found[name].topics |= {*map(TopicName, each.topics)}
            found[name].groups |= each.groups
    if found:
        _complete(look, found, topics)
    return dict(found)


def unused_ids(look: TransactionLook, joined: Set[str]) -> frozenset[str]:
    """Return ids of clients of gateways that wrote nothing yet, neither to what moves nor besides.

    Args:
        look: What is asked.
        joined: The ids that write to what moves; with them no more than a record can tell of.

    Raises:
        ClusterError: The source does not answer.
    """
    unused = {name for name, each in look.seen.items() if each.is_unused} - joined
    names = {number: name for number, name in look.names.items() if name in unused}
    found = {*names.values()} - elsewhere(look.link, names, {tp.topic for tp in look.states}).keys()
    return frozenset(sorted(found)[: max(MOST_IDS - len(joined), 0)])


def elsewhere(
    link: OpenLink, names: Mapping[ProducerId, str], but: Iterable[str]
) -> dict[str, JoinedWrites]:
    """Return what transactional ids write to other topics of the source than these.

    What the login may not see is left out.

    Raises:
        ClusterError: The source does not answer.
    """
    found: dict[str, JoinedWrites] = defaultdict(JoinedWrites)
    if not names:
        return {}
    without = {*but}
    topics = link.source.topics.describe().items()
    others = every_partition(
        {name: info for name, info in topics if name not in without and not info.internal}
    )
    if others:
        _add(found, link.source.producers.states(others, patience=_PATIENCE), names)
    return dict(found)


_PATIENCE = 10.0
"""Seconds for the producers of all other topics."""


def _complete(
    look: TransactionLook, found: dict[str, JoinedWrites], topics: Set[TopicName]
) -> None:
    """Add the other topics and groups of ids."""
    names = {number: name for number, name in look.names.items() if name in found}
    for name, each in elsewhere(look.link, names, topics).items():
        found[name].topics |= each.topics
    source = look.link.source
    info = source.topics.find(OFFSETS)
    places = [TopicPartition(OFFSETS, each.partition) for each in info.partitions] if info else []
    states = source.producers.states(places, patience=_PATIENCE) if places else {}
    writers = {
        tp: ids
        for tp, each in states.items()
        if tp not in look.committed and (ids := {one.id for one in each} & names.keys())
    }
    read = committed_groups(look.link.config.source, source, writers) if writers else {}
    for of_partition in (*look.committed.values(), *read.values()):
        for producer, committed in of_partition.items():
            if producer in names:
                found[names[producer]].groups |= committed
    for each in found.values():
        each.groups &= look.all_groups


def _add(found: dict[str, JoinedWrites], states: States, names: Mapping[ProducerId, str]) -> None:
    for tp, each in states.items():
        for state in each:
            if state.id in names:
                joined = found[names[state.id]]
                joined.topics.add(tp.topic)
                joined.producer = state.id
                if state.last_timestamp > joined.last:
                    joined.last, joined.where = state.last_timestamp, tp
                    joined.by = state.id, state.epoch
