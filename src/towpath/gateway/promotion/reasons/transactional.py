"""The reasons by which transactional producers cannot be promoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from towpath.gateway.promotion.reasons.producers import RECENT
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.ledger.entries import MovedTransactional
from towpath.model.nouns import ProducerId, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

MOST_IDS = 2_000
"""Transactional ids of which one record of the ledger can tell."""


@dataclass(slots=True)
class JoinedWrites:
    """What one transactional id writes.

    Attributes:
        topics: The topics; `groups`, the groups for which it commits offsets.
        producer: Its producer id at the source, as far as topics tell.
        last: When it wrote last to one of the topics, in ms since 1970; `where`, to which, and
            `by`, under which producer id and epoch.
    """

    topics: set[TopicName] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    producer: ProducerId | None = None
    last: int = -1
    where: TopicPartition | None = None
    by: tuple[int, int] = -1, -1


def of_transactional(
    joined: Mapping[str, JoinedWrites],
    topics: Set[TopicName],
    groups: Set[str],
    seen: Mapping[str, SeenTransactional],
    now: int,
    known: Mapping[str, MovedTransactional] = MappingProxyType({}),
) -> Iterator[Reason]:
    """Yield the reasons by which transactional producers cannot move.

    Args:
        joined: What each of them writes.
        topics: The topics that move.
        groups: The names of the groups that move.
        seen: What ids did through this gateway.
        now: Now, in ms since 1970.
        known: The ids that moved before. What they moved to no client holds: gateways alone write
            under that.
    """
    for name, each in sorted(joined.items()):
        about = f"transactional id {name}"
        for topic in sorted(each.topics - topics):
            yield Reason.of(ReasonCode.PROMOTE_TOGETHER, group=about, topic=topic, does="writes to")
        for group in sorted(each.groups - groups):
            yield Reason.of(ReasonCode.PROMOTE_TOGETHER_GROUP, who=about, group=group)
        direct = name not in seen or each.producer not in {None, *seen[name].producers}
        if name in known and each.by == (known[name].there_id, known[name].there_epoch):
            direct = False
        if direct and now - each.last < RECENT and each.where is not None:
            yield Reason.of(
                ReasonCode.PROMOTE_DIRECT, partition=str(each.where), who=f"{about}, a producer"
            )
    if len(joined) > MOST_IDS:
        yield Reason.of(ReasonCode.PROMOTE_PRODUCERS, count=len(joined), most=MOST_IDS)
