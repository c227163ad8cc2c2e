"""The status of each partition of a link: the ledger compared with the state of both clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import leader_is_away
from towpath.cluster.metadata import TopicInfo, every_partition
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Gap, LinkStage, Pause, Receipt
from towpath.mirror.status.losses import Losses, LostRecords
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.set_aside import set_aside
from towpath.mirror.status.transformed import transformed_status
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.trouble import DELETED, RECREATED, recreated_topic_message
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

_MOMENTS = 60.0
"""Upper bound on the lag of a mirror topic that counts as filled, in seconds."""


@dataclass(frozen=True, slots=True)
class _Trouble:
    """Why a partition is not copied: a sentence, and the codes that it has in the runbook."""

    text: str = ""
    codes: tuple[str, ...] = ()


_NONE = _Trouble()


def status(
    config: LinkConfig,
    books: LinkBooks,
    source: Admin,
    target: Admin,
    losses: Losses | None = None,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the status of every selected partition, and of those that the ledger knows.

    Args:
        config: The link.
        books: What the ledger knows of the link.
        source: Asked for its log end offsets.
        target: Asked for its log end offsets.
        losses: Finds lost records; callers that ask repeatedly keep this object.
        patience: Seconds for the leaders of each side, each of which is asked once; see
            `ask_leaders`.

    Raises:
        ClusterError: A cluster could not be reached.
    """
    if config.transforms is not None:
        return transformed_status(config, books, source, target, patience)
    told = source.topics.with_brokers()
    topics = {n: info for n, info in told.topics.items() if config.topics.takes(info)}
    tps = every_partition(topics)
    leaders = {tp: leader for tp in tps if (leader := told.leader(tp)) is not None}
    # Asked before the stable ends: what lies between is held back, and not just written.
    marks = source.offsets.latest(tps, patience=patience, leaders=leaders)
    ends = source.offsets.latest(tps, committed=True, patience=patience, leaders=leaders)
    known = {tp for tp, b in books.partitions.items() if b.opened is not None}
    gone = {tp.topic for tp in known} - topics.keys()
    hidden = (
        {n: info for n, info in source.topics.describe(gone).items() if info.error} if gone else {}
    )
    names, misnamed = config.topics.target_names({tp.topic for tp in {*tps, *known}})
    there = target.topics.describe(names.values())
    again = books.made_again({name: info.id for name, info in topics.items()})
    troubles: dict[TopicPartition, _Trouble] = {}
    for tp in filter(lambda tp: config.topics.matches(tp.topic), {*tps, *known}):
        info, copy = topics.get(tp.topic) or hidden.get(tp.topic), names.get(tp.topic)
        made_again = tp.topic in again and config.records.stops_on_gap(tp.topic)
        trouble = _identity(books.of(tp), info, there.get(copy) if copy else None, stop=made_again)
        troubles[tp] = _Trouble(misnamed[tp.topic]) if tp.topic in misnamed else trouble
    untold = {tp: error for tp, error in ends.failed.items() if troubles.get(tp) == _NONE}
    begun = {
        tp: books.of(tp)
        for tp in known
        if troubles.get(tp) == _NONE and tp not in untold and _is_copied(books.of(tp), there)
    }
    losses = losses or Losses()
    lost, hidden_ends = losses.find(target, begun, patience)
    untold |= hidden_ends
    troubles |= {tp: _told(error) for tp, error in untold.items()}
    away = {tp for tp, error in untold.items() if leader_is_away(error)}
    rows = {
        tp: _completed(
            row_of(tp, names.get(tp.topic, TopicName("")), books, ends, trouble, lost.get(tp)),
            books,
            target_log_end=losses.ends.get(tp, -1),
            unstable=max(0, marks[tp] - ends[tp]) if tp in marks and tp in ends else -1,
            is_away=tp in away,
        )
        for tp, trouble in troubles.items()
    }
    return tuple(rows[tp] if tp in rows else _excluded(tp, books) for tp in sorted({*tps, *known}))


def _completed(
    row: PartitionStatus, books: LinkBooks, *, target_log_end: int, unstable: int, is_away: bool
) -> PartitionStatus:
    """Return a row with both log ends, and with the state that its leaders and its topic give."""
    row = replace(row, target_log_end=target_log_end, unstable=unstable)
    if is_away:
        row = replace(row, state=State.NO_LEADER)
    return with_state(_with_pause(row, books.pause_of(row.topic)), books)


def _identity(
    books: PartitionBooks, source: TopicInfo | None, target: TopicInfo | None, *, stop: bool
) -> _Trouble:
    """Return why the topics are not those of the books, or cannot be described."""
    if books.opened is None:
        return _NONE
    if source is None:
        return _Trouble(f"source: {DELETED}", DELETED.codes)
    for seen in (source, target):
        if seen is not None and seen.error is not None:
            return _told(seen.error)
    if books.opened.source_topic_id != source.id:
        return _Trouble(recreated_topic_message(source.name), RECREATED.codes) if stop else _NONE
    if target is None or target.id != books.opened.target_topic_id:
        what = "is no more there" if target is None else "is not the one that was written"
        text = f"target: the topic {what}; `towpath run` copies it again"
        return _Trouble(text, (ReasonCode.TARGET_REPLACED,))
    return _NONE


def _is_copied(books: PartitionBooks, there: Mapping[TopicName, TopicInfo]) -> bool:
    """Whether the mirror topic is the one that was written, and not one that a restart has made."""
    opened = books.opened
    seen = there.get(opened.target_topic) if opened is not None else None
    return seen is None or opened is None or seen.id in {"", opened.target_topic_id}


def _told(error: ClusterError) -> _Trouble:
    return _Trouble(str(error), error.reason.codes)


_FENCED = frozenset({"INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING", "PRODUCER_FENCED"})
"""How the target refuses late writes of a link once clients have moved: that is no trouble then."""


def row_of(
    tp: TopicPartition,
    target: TopicName,
    link: LinkBooks,
    ends: Mapping[TopicPartition, int],
    trouble: _Trouble = _NONE,
    lost: LostRecords | None = None,
) -> PartitionStatus:
    """Return the status of a partition.

    Args:
        tp: The source partition.
        target: The mirror topic.
        link: What the ledger knows.
        ends: Where source logs end, as far as that is known.
        trouble: What was found besides.
        lost: What the target lost of it.
    """
    books, restart = link.of(tp), link.restart_of(tp)
    opened, receipt = books.opened, books.receipt
    gaps = tuple(gap for gap in books.gaps if restart is None or not _is_accepted(gap))
    position = receipt.source_end if receipt else opened.source_start if opened else 0
    lag = max(0, ends[tp] - position) if tp in ends else -1
    if trouble == _NONE:
        trouble = _found(lost, receipt) if receipt or not opened else _at_front(gaps)
    if link.closed(tp.topic) is not None and _FENCED.intersection(trouble.codes):
        trouble = _NONE
    error = trouble.text
    reasons = receipt.reasons if receipt else opened.reasons if opened else ()
    mode = receipt.mode if receipt else opened.mode if opened else ""
    return PartitionStatus(
        topic=tp.topic,
        partition=tp.partition,
        target_topic=target,
        state=_state(lag, error, started=opened is not None),
        mode=str(mode),
        reason=receipt.reason if receipt else opened.reason if opened else "",
        producer_id=opened.producer_id if opened else -1,
        source_end=position,
        target_end=receipt.target_end if receipt else opened.target_start if opened else 0,
        lag_records=lag,
        lag_seconds=_lag_seconds(lag, receipt.last_timestamp if receipt else -1),
        records=receipt.records if receipt else 0,
        bytes=receipt.bytes if receipt else 0,
        gaps=gaps,
        error=error,
        lost=lost,
        holes=receipt.holes if receipt else 0,
        transacted=receipt.transacted if receipt else 0,
        codes=_codes(trouble, gaps, reasons),
        source_log_end=ends.get(tp, -1),
        cut=books.cut,
        restart=restart,
        change=books.change,
        tally=receipt.tally if receipt else (),
        set_aside=set_aside(books),
    )


def _is_accepted(gap: Gap) -> bool:
    """Whether a gap only says that the source topic was made again, which a restart accepts."""
    return gap.end == gap.first and gap.why.code == ReasonCode.SOURCE_TOPIC_RECREATED


def _found(lost: LostRecords | None, receipt: Receipt | None) -> _Trouble:
    """Return what the target log, or else the last receipt, says is wrong."""
    if lost is not None:
        return _Trouble(str(lost), (ReasonCode.TARGET_LOST,))
    if receipt is None or receipt.trouble is None:
        return _NONE
    return _Trouble(str(receipt.trouble), receipt.trouble.codes)


def _at_front(gaps: Iterable[Gap]) -> _Trouble:
    """Return why the front of an opened partition without a receipt could not be filled."""
    told = [gap for gap in gaps if gap.first == gap.end and not gap.went_on]
    return _Trouble(told[-1].cause, told[-1].why.codes) if told else _NONE


def _codes(trouble: _Trouble, gaps: Iterable[Gap], reasons: Iterable[Reason]) -> tuple[str, ...]:
    told = (code for reason in (*(gap.why for gap in gaps), *reasons) for code in reason.codes)
    return tuple(dict.fromkeys((*trouble.codes, *told)))


def _excluded(tp: TopicPartition, link: LinkBooks) -> PartitionStatus:
    """Return the last status of a partition that the file no longer asks for."""
    opened = link.of(tp).opened
    row = row_of(tp, opened.target_topic if opened else TopicName(""), link, {tp: 0})
    return replace(row, state=State.EXCLUDED, error="", gaps=(), codes=(), source_log_end=-1)


def _with_pause(row: PartitionStatus, pause: Pause | None) -> PartitionStatus:
    """Return the row of a partition whose topic may be paused; an error shows all the same."""
    if pause is None:
        return row
    return replace(row, pause=pause, state=row.state if row.error else State.PAUSED)


def with_state(row: PartitionStatus, books: LinkBooks) -> PartitionStatus:
    """Return the row, marked as failed over, promoted or stopped if its topic or link is."""
    closed = books.closed(row.topic)
    if closed is None:
        return row
    if closed.state in {LinkStage.STOPPED, LinkStage.REMOVED}:
        return replace(row, state=State.STOPPED_BY_HAND)
    is_promoted = closed.state == LinkStage.FAILED_OVER and row.topic in books.promoted
    kept = [each for each in books.of(row.tp).salvaged if each.side is Side.SOURCE]
    return replace(
        row,
        state=State.PROMOTED if is_promoted else State.FAILED_OVER,
        kept=max(0, max((each.end for each in kept), default=0) - row.source_end),
        strays=sum(each.records for each in kept),
        keepable=closed.state == LinkStage.FAILED_OVER,
    )


def _state(lag: int, error: str, *, started: bool) -> State:
    if error:
        return State.STOPPED
    if not started:
        return State.NOT_STARTED
    return State.BEHIND if lag else State.CAUGHT_UP


def _lag_seconds(lag: int, last_timestamp: int) -> float:
    """Return the age of the last copied record in seconds: an upper bound of the lag."""
    if lag <= 0:
        return float(lag)
    return max(0.0, (now_ms() - last_timestamp) / 1000) if last_timestamp >= 0 else -1.0


def caught_up(rows: Iterable[PartitionStatus]) -> frozenset[TopicName]:
    """Return the topics whose mirror topics have all but the most recent records."""
    known = tuple(rows)
    behind = {
        row.topic
        for row in known
        if row.state in {State.NOT_STARTED, State.PAUSED}
        or row.stands_still
        or (row.lag_records and not 0 < row.lag_seconds < _MOMENTS)
    }
    return frozenset(row.topic for row in known) - behind
