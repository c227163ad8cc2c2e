"""The reasons that forbid a promotion, with codes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set

from towpath.cluster.metadata import Answers, ProducerState, TopicInfo
from towpath.gateway.client_logins import ClientLogin
from towpath.gateway.producer_eras import FIRST_ID, is_adopted
from towpath.gateway.promotion.committed_groups import CommittedGroups
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import GatewaySign, LinkStage, LinkState
from towpath.ledger.producers import is_private
from towpath.model.groups import ClientGroup, Commit, GroupKind
from towpath.model.nouns import Mode, ProducerId, Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.scram import Credential, Mechanism
from towpath.records.target.fences import EPOCH
from towpath.settings import LinkConfig

RECENT = 300_000
"""Milliseconds for which a producer counts as one that writes."""
MOST = 8_000
"""Producers, over all partitions, of which one record of the ledger can tell."""

_PAUSED = "it is paused; `towpath resume FILE` goes on"
_HINTS: Mapping[str, str] = {
    LinkStage.SEALED: "`towpath failover FILE` ends what began",
    LinkStage.FAILED_OVER: "clients use the target; `towpath failback FILE` turns the link round",
    LinkStage.REVERSED: (
        "link {back} copies back; give `towpath failback` with the file of that link, and promote"
        " with the file that this writes"
    ),
    LinkStage.STOPPED: "`towpath topics start FILE` takes it up again",
}
"""What to do about topics that are not copied, by their state."""

_SCRAM = frozenset(map(str, Mechanism))


def of_settings(config: LinkConfig) -> Iterator[Reason]:
    """Yield the reasons by which clients of these two clusters cannot move."""
    sides = (Side.SOURCE, config.source), (Side.TARGET, config.target)
    asking = [side for side, cluster in sides if cluster.sasl is not None]
    if len(asking) == 1:
        why = f"it asks for one (`{asking[0]}.sasl`), and the other cluster for none"
        yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=str(asking[0]), why=why)
    for side, cluster in sides:
        if cluster.tls is not None and cluster.tls.cert is not None:
            yield Reason.of(ReasonCode.PROMOTE_CERTIFICATE, side=str(side))


def of_logins(
    seen: Iterable[ClientLogin],
    offered: Set[str],
    known: Set[Credential] | None,
) -> Iterator[Reason]:
    """Yield a reason for each login of clients that the target would not accept.

    Args:
        seen: The logins of clients, which the cluster that they leave accepted.
        offered: The SASL mechanisms of the target.
        known: The SCRAM credentials of the target, `None` if it does not tell them.
    """
    side, logins = str(Side.TARGET), sorted(seen)
    for name in sorted({each.mechanism for each in logins} - offered):
        why = f"clients log in by {name}, and it offers {', '.join(sorted(offered)) or 'nothing'}"
        yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)
    for each in logins:
        if each.token:
            why = (
                f"it does not know delegation token {each.name}, by which clients of this gateway"
                " log in: a token is of one cluster; restart them with a login that both have"
            )
            yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)
    if known is None:
        return
    for each in logins:
        if each.mechanism in _SCRAM and each.name and not each.token:
            credential = Credential(each.name, Mechanism(each.mechanism))
            if credential not in known:
                why = f"it has no credential of {credential}, whose clients use this gateway"
                yield Reason.of(ReasonCode.PROMOTE_LOGIN, side=side, why=why)


def of_gateway(each: GatewaySign, why: str) -> Reason:
    """Return the reason by which another gateway forbids it, whose clients would not be held."""
    return Reason.of(
        ReasonCode.PROMOTE_GATEWAYS, host=each.host, pid=each.pid, name=each.name, why=why
    )


def of_topic(
    name: TopicName,
    there: TopicInfo | None,
    mirror: TopicInfo | None,
    books: LinkBooks,
    *,
    included: bool = True,
) -> Iterator[Reason]:
    """Yield the reasons by which a topic cannot move.

    Args:
        name: The topic.
        there: As the source has it, `None` if it does not.
        mirror: As the target has it.
        books: What the ledger says of its partitions.
        included: Whether the file of the gateway includes it.
    """
    if there is not None and not included and not _is_opened(name, books):
        why = "is not copied: `topics.include` of the link does not name it"
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=f"topic {name}", why=why)
        return
    for side, info in ((Side.SOURCE, there), (Side.TARGET, mirror)):
        if info is None or info.error is not None:
            yield Reason.of(ReasonCode.PROMOTE_ABSENT, topic=name, side=str(side))
    if there is None or there.error or mirror is None or mirror.error:
        return
    about = f"topic {name}"
    if len(mirror.partitions) != len(there.partitions):
        what = "another number of partitions on the target"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)
    if not (there.id and mirror.id):
        what = "no topic id, as brokers before Kafka 2.8 give none"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)
    closed = books.closed(name)
    if closed is not None or books.pause_of(name) is not None:
        why = _of_state(closed) if closed is not None else _PAUSED
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=about, why=f"is not copied now: {why}")
    for each in there.partitions:
        yield from _of_partition(TopicPartition(name, each.partition), books)


def _is_opened(name: TopicName, books: LinkBooks) -> bool:
    return any(tp.topic == name and each.opened for tp, each in books.partitions.items())


def _of_state(state: LinkState) -> str:
    """Return why a topic with a state of its own is not copied, and what to do."""
    hint = _HINTS.get(state.state, "").format(back=state.back)
    return f"it is {state.state.replace('_', ' ')}" + (f"; {hint}" if hint else "")


def _of_partition(tp: TopicPartition, books: LinkBooks) -> Iterator[Reason]:
    known = books.partitions.get(tp)
    if known is None or known.opened is None:
        why = "is not copied yet; `towpath status` tells when it is"
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=f"partition {tp}", why=why)
    elif known.opened.target != tp or known.mode is not Mode.IDENTICAL:
        what = "other offsets or another name on the target"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=f"partition {tp}", what=what)


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
            is_relayed = each.id >= FIRST_ID or (adopts and is_adopted(each.id))
            count += is_relayed or each.id in transactional
            if is_transactional(each, transactional):
                if _is_unknown(each, transactional, now):
                    names.add(transactional.get(each.id, f"of producer id {each.id}"))
            elif not is_relayed and now - each.last_timestamp < RECENT and not _is_over(each):
                direct.add(tp)
    for name in sorted(names):
        yield Reason.of(ReasonCode.PROMOTE_TRANSACTIONS, who=name, where="wrote to these topics")
    for tp in sorted(direct):
        yield Reason.of(ReasonCode.PROMOTE_DIRECT, partition=str(tp))
    if count > MOST:
        yield Reason.of(ReasonCode.PROMOTE_PRODUCERS, count=count, most=MOST)


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
        if not (each.id >= FIRST_ID or (adopts and is_adopted(each.id)))
        and not (each.id in marked or is_transactional(each, {}))
    }


def _is_unknown(state: ProducerState, transactional: Mapping[ProducerId, str], now: int) -> bool:
    """Return whether a transactional producer writes of which the source tells no id."""
    if state.id in transactional:
        return False
    return state.open_since >= 0 or now - state.last_timestamp < RECENT


def _may_commit_for(groups: Set[str], others: Collection[str]) -> bool:
    """Return whether a producer may commit for groups, as it did for others, if that is known."""
    return not others or not groups.isdisjoint(others)


def _is_over(state: ProducerState) -> bool:
    """Return whether a producer is a link that can write no more, as it was fenced."""
    return is_private(state.id) and state.epoch == EPOCH


def of_groups(reads: Mapping[ClientGroup, Set[TopicName]], topics: Set[TopicName]) -> list[Reason]:
    """Return the reasons by which groups cannot move.

    Args:
        reads: The topics that each group subscribes to or has offsets in.
        topics: The topics that move.
    """
    found = []
    for group in sorted(group for group, read in reads.items() if read & topics):
        if group.kind is GroupKind.SHARE:
            found.append(
                Reason.of(ReasonCode.PROMOTE_GROUP_KIND, group=str(group), kind=str(group.kind))
            )
            continue
        found += [
            Reason.of(ReasonCode.PROMOTE_TOGETHER, group=str(group), topic=topic)
            for topic in sorted(reads[group] - topics)
        ]
    return found


def of_streams(
    groups: Iterable[ClientGroup],
    inner: Mapping[ClientGroup, Set[TopicName]],
    topics: Set[TopicName],
    barred: Reason | None,
) -> Iterator[Reason]:
    """Yield the reasons by which Streams applications cannot move.

    Args:
        groups: All groups that would move.
        inner: The topics that Kafka Streams keeps for them.
        topics: The topics that move.
        barred: Why no Streams group can go on where they would, `None` where it can.
    """
    for group in groups:
        left = sorted(inner.get(group, frozenset()) - topics)
        if left:
            code = ReasonCode.PROMOTE_STREAMS_TOPICS
            yield Reason.of(code, group=str(group), topics=", ".join(left))
        if barred is not None and group.kind is GroupKind.STREAMS:
            code, kind = ReasonCode.PROMOTE_GROUP_KIND, str(group.kind)
            yield Reason.of(code, group=str(group), kind=kind, why=barred)


def of_commits(commits: Mapping[ClientGroup, Mapping[TopicPartition, Commit]]) -> Iterator[Reason]:
    """Yield a reason for each group with offsets in an open transaction."""
    for group, each in commits.items():
        if any(commit.pending for commit in each.values()):
            yield Reason.of(
                ReasonCode.PROMOTE_TRANSACTIONS, who=str(group), where="commits in transactions"
            )


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
