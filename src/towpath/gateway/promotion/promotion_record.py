"""The ledger entry of a promotion, with producer states of the cluster that is left. Blocking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from towpath.cluster.metadata import Answers, ProducerState
from towpath.gateway.producer_eras import is_relayed
from towpath.gateway.promotion.promotion_scope import PromotionScope
from towpath.gateway.promotion.reasons.producers import is_transactional, unrelayed
from towpath.gateway.promotion.transactional_cut import LeavingTransactional
from towpath.gateway.promotion.undo_errors import undone, unknown
from towpath.ledger.entries import (
    LastBatch,
    Promoted,
    PromotedPartition,
    PromotedTopic,
    Promotion,
)
from towpath.ledger.link import OpenLink
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import ReasonCode
from towpath.runtime.clock import now_ms


def record_of(
    asked: Promotion,
    link: OpenLink,
    scope: PromotionScope,
    ends: Mapping[TopicPartition, int],
    eras: Mapping[TopicName, int],
    patience: float,
    stay: Set[str] | None = None,
    transactional: Sequence[LeavingTransactional] = (),
) -> Promoted:
    """Return the ledger entry of a promotion.

    Args:
        asked: The request.
        link: The link that copied.
        scope: What moves.
        ends: Where both logs end.
        eras: How often topics went back before.
        patience: Seconds for the answers.
        stay: Groups that stay, of those that could go back; `None` unless only some topics go back.
        transactional: The transactional ids that move with them.

    Raises:
        ClusterError: The cluster does not answer.
        UndoneError: A topic is another one than before, or somebody writes in transactions, or
            without the gateway.
    """
    section = link.config.gateway
    adopts = section is not None and section.adopt and not asked.back
    found = link.source.producers.states(scope.partitions, patience=patience)
    for tp, error in found.failed.items():
        raise unknown(f"the producers of {tp} are", error)
    _require_no_transactions(found, scope.marked | {each.producer for each in transactional})
    for (tp, producer), last in unrelayed(found, scope.marked, adopts=adopts).items():
        if scope.sequences.get((tp, producer)) != last:
            raise undone(ReasonCode.PROMOTE_DIRECT, partition=str(tp))
    _require_same(link, scope)
    return Promoted(
        link=asked.link,
        name=asked.name,
        topics=tuple(
            _topic(name, scope, ends, found, eras.get(name, 0), back=asked.back, adopts=adopts)
            for name in scope.topics
        ),
        groups=tuple(sorted(group.name for group in scope.groups)),
        at=now_ms(),
        back=asked.back,
        by=link.name,
        stay=tuple(sorted(stay or ())),
        transactional=tuple(each.moved(found) for each in transactional),
        staying=_staying(scope, transactional) if stay is not None else (),
    )


def _staying(
    scope: PromotionScope, transactional: Iterable[LeavingTransactional]
) -> tuple[str, ...]:
    """Return the transactional ids that do not go back, as not all topics do."""
    return tuple(sorted(scope.known - {each.entry.id for each in transactional}))


def _topic(
    name: TopicName,
    scope: PromotionScope,
    ends: Mapping[TopicPartition, int],
    found: Mapping[TopicPartition, tuple[ProducerState, ...]],
    era: int,
    *,
    back: bool,
    adopts: bool,
) -> PromotedTopic:
    left, new = scope.topics[name], scope.mirrors[name]
    source, target = (new, left) if back else (left, new)
    return PromotedTopic(
        topic=name,
        source_id=source.id,
        target_id=target.id,
        partitions=tuple(
            PromotedPartition(
                partition=each.partition,
                end=ends[tp],
                producers=tuple(
                    LastBatch(id=state.id, epoch=state.epoch, sequence=state.last_sequence)
                    for state in found[tp]
                    if state.last_sequence >= 0
                    and is_relayed(
                        state.id, adopts=adopts and not era and state.id not in scope.marked
                    )
                ),
            )
            for each in left.partitions
            for tp in [TopicPartition(name, each.partition)]
        ),
        era=era,
    )


def _require_same(link: OpenLink, scope: PromotionScope) -> None:
    now = link.source.topics.describe(scope.topics)
    for name, info in scope.topics.items():
        same = name in now and (now[name].id, len(now[name].partitions))
        if same != (info.id, len(info.partitions)):
            about, what = f"topic {name}", "been made again or grown meanwhile"
            raise undone(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)


def _require_no_transactions(
    found: Answers[TopicPartition, tuple[ProducerState, ...]], known: Set[int]
) -> None:
    """Raise if somebody writes in transactions who does not move.

    Args:
        found: What the cluster that is left remembers of producers.
        known: Those that move, or have not written for long.

    Raises:
        UndoneError: The marker that ends one would come to the cluster that is left alone.
    """
    for tp, states in found.items():
        for each in states:
            is_new = is_transactional(each, {}) and each.id not in known
            if each.open_since >= 0 or is_new:
                who, where = f"of producer id {each.id}", f"wrote to {tp} meanwhile"
                raise undone(ReasonCode.PROMOTE_TRANSACTIONS, who=who, where=where)
