"""The reasons by which producers cannot be promoted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from towpath.cluster.metadata import Answers, ProducerState
from towpath.gateway.producer_eras import is_relayed
from towpath.gateway.promotion.committed_groups import CommittedGroups
from towpath.ledger.producers import is_private
from towpath.model.groups import ClientGroup
from towpath.model.nouns import ProducerId, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.target.fences import EPOCH

RECENT = 300_000
"""Milliseconds for which a producer counts as one that writes."""
MOST = 8_000
"""Producers, over all partitions, of which one record of the ledger can tell."""


def of_producers(
    states: Answers[TopicPartition, tuple[ProducerState, ...]],
    transactional: Mapping[ProducerId, str],
    now: int,
    *,
    adopts: bool = False,
) -> Iterator[Reason]:
    """Yield a reason for each producer that cannot move.

    Args:
        states: What the source remembers of producers, by partition.
        transactional: The transactional ids of the source, by producer id.
        now: Now, in ms since 1970.
        adopts: Whether producers come through the gateway with ids of the source.
    """
    for tp, error in states.failed.items():
        text = f"the producers of {tp} are unknown: {error}"
        yield Reason.of(ReasonCode.ERROR, error=error.code, text=text)
    names, direct, count = set[str](), set[TopicPartition](), 0
    for tp, found in states.items():
        for each in found:
            relayed = is_relayed(each.id, adopts=adopts)
            count += relayed or each.id in transactional
            if is_transactional(each, transactional):
                if _is_unknown(each, transactional, now):
                    names.add(transactional.get(each.id, f"of producer id {each.id}"))
            elif not relayed and now - each.last_timestamp < RECENT and not _is_over(each):
                direct.add(tp)
    for name in sorted(names):
        yield Reason.of(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where="wrote to these topics")
    for tp in sorted(direct):
        yield Reason.of(ReasonCode.PROMOTE_DIRECT, partition=str(tp))
    if count > MOST:
        yield Reason.of(ReasonCode.PROMOTE_PRODUCERS, count=count, most=MOST)


def of_committers(
    at: Mapping[TopicPartition, Iterable[ClientGroup]],
    states: Answers[TopicPartition, tuple[ProducerState, ...]],
    transactional: Mapping[ProducerId, str],
    known: CommittedGroups,
    now: int,
) -> Iterator[Reason]:
    """Yield a reason for each transactional producer that cannot move, and may commit for groups.

    Brokers tell in which partition of the offsets a producer wrote. A producer of which the log
    there tells that it committed for other groups alone is none of these.

    Args:
        at: The groups that move, by the partition that keeps their offsets.
        states: What the source remembers of the producers of these partitions.
        transactional: The transactional ids of the source, by producer id.
        known: For which groups producers committed offsets, as far as the log tells.
        now: Now, in ms since 1970.
    """
    for tp, error in states.failed.items():
        text = f"whether offsets are committed in transactions is unknown, as {tp} is: {error}"
        yield Reason.of(ReasonCode.ERROR, error=error.code, text=text)
    for tp, groups in at.items():
        moving = {each.name for each in groups}
        names = {
            transactional.get(each.id, f"of producer id {each.id}")
            for each in states.get(tp, ())
            if is_transactional(each, transactional)
            and (_is_unknown(each, transactional, now) or tp not in known)
            and _may_commit_for(moving, known.get(tp, {}).get(each.id, ()))
        }
        those = ", ".join(sorted(map(str, groups)))
        for name in sorted(names):
            where = f"commits offsets in {tp}, where those of {those} are"
            yield Reason.of(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where=where)


def is_transactional(state: ProducerState, transactional: Mapping[ProducerId, str]) -> bool:
    """Return whether a producer writes in transactions, as far as the source remembers.

    Links write markers too, without transactions, under ids of their own.
    """
    marked = state.coordinator_epoch >= 0 and not is_private(state.id)
    return state.id in transactional or state.open_since >= 0 or marked


def unrelayed(
    states: Mapping[TopicPartition, Iterable[ProducerState]],
    marked: Set[ProducerId],
    *,
    adopts: bool = False,
) -> dict[tuple[TopicPartition, ProducerId], tuple[int, int]]:
    """Return epoch and last sequence of each producer that does not write through a gateway.

    Where they differ a moment later, it writes: the time of its last batch is the client's own, so
    it does not tell that of records with times of long ago.

    Args:
        states: What the source remembers of producers, by partition.
        marked: Those that write in transactions.
        adopts: Whether producers come through the gateway with ids of the source.
    """
    return {
        (tp, each.id): (each.epoch, each.last_sequence)
        for tp, found in states.items()
        for each in found
        if not (
            is_relayed(each.id, adopts=adopts) or each.id in marked or is_transactional(each, {})
        )
    }


def _is_unknown(state: ProducerState, transactional: Mapping[ProducerId, str], now: int) -> bool:
    """Return whether a transactional producer writes of which the source tells no id."""
    if state.id in transactional:
        return False
    return state.open_since >= 0 or now - state.last_timestamp < RECENT


def _is_over(state: ProducerState) -> bool:
    """Return whether a producer is a link that can write no more, as it was fenced."""
    return is_private(state.id) and state.epoch == EPOCH


def _may_commit_for(groups: Set[str], others: Collection[str]) -> bool:
    """Return whether a producer may commit for groups, as it did for others, if that is known."""
    return not others or not groups.isdisjoint(others)
