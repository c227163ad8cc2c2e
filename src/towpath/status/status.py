"""Where a link stands: the ledger's books compared with the present state of both clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from towpath.cluster.admin import Admin
from towpath.cluster.admin.leaders import leader_is_away
from towpath.cluster.metadata import TopicInfo
from towpath.config import LinkConfig, OnGap
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Gap
from towpath.model.clock import now_ms
from towpath.model.nouns import TopicName, TopicPartition
from towpath.records.trouble import DELETED, RECREATED
from towpath.status.losses import Losses, LostRecords

_MOMENTS = 60.0
"""Upper bound on the lag of a mirror topic that counts as filled, in seconds."""


class State(StrEnum):
    """The state of a partition."""

    NOT_STARTED = "not started"
    BEHIND = "behind"
    CAUGHT_UP = "caught up"
    NO_LEADER = "no leader now"
    """The partition has no leader at the source or target, or the leader does not answer."""
    STOPPED = "stopped"
    EXCLUDED = "excluded"
    """The file no longer asks for its topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """The status of a source partition.

    Attributes:
        producer_id: Our private producer id, which names the incarnation; -1 before the opening.
        lag_records: Lag in source offsets; -1 if the end of the source is unknown.
        lag_seconds: Lag in seconds; -1 if unknown.
        lost: Acknowledged records that the target lost; `error` then says so.
        holes: Number of offsets left empty by compaction and filled with markers.
        transacted: Number of offsets filled in transactions, as the target takes no markers.
    """

    topic: TopicName
    partition: int
    target_topic: TopicName
    state: State
    mode: str
    reason: str
    producer_id: int
    source_end: int
    target_end: int
    lag_records: int
    lag_seconds: float
    records: int
    bytes: int
    gaps: tuple[Gap, ...]
    error: str
    lost: LostRecords | None = None
    holes: int = 0
    transacted: int = 0

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def left_out(self) -> bool:
        """Whether records of this partition are not copied for another reason than lag."""
        return bool(self.error or self.gaps)

    @property
    def why(self) -> str:
        """The sentence about what is not copied."""
        if self.error:
            return self.named(self.error)
        if self.gaps:
            gap = self.gaps[0]
            copied = f"offsets {gap.first} to {gap.end - 1} were not copied: "
            return self.named((copied if gap.end > gap.first else "") + gap.cause)
        if self.lag_records < 0:
            return self.named("the source did not tell where it ends")
        return self.named(self.behind)

    @property
    def stands_still(self) -> bool:
        """Whether copying has stopped, at least for now, and `error` tells why."""
        return self.state in {State.STOPPED, State.NO_LEADER}

    def named(self, text: str) -> str:
        """Return a sentence about the partition that names it once."""
        name = f"{self.topic}-{self.partition}: "
        return text if text.startswith(name) else name + text

    @property
    def behind(self) -> str:
        """A sentence about the offsets that are not yet copied."""
        first, last = self.source_end, self.source_end + self.lag_records - 1
        return f"offsets {first} to {last} not yet copied"


def status(
    config: LinkConfig,
    books: LinkBooks,
    source: Admin,
    target: Admin,
    losses: Losses | None = None,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the status of every partition that matches or that the ledger knows.

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
    topics = {
        n: info for n, info in source.topics.describe().items() if config.topics.mirrors(info)
    }
    tps = [TopicPartition(name, p.partition) for name, i in topics.items() for p in i.partitions]
    ends = source.offsets.latest(tps, committed=True, patience=patience)
    known = {tp for tp, b in books.partitions.items() if b.opened is not None}
    gone = {tp.topic for tp in known} - topics.keys()
    hidden = (
        {n: info for n, info in source.topics.describe(gone).items() if info.error} if gone else {}
    )
    names, misnamed = config.topics.target_names({tp.topic for tp in {*tps, *known}})
    there = target.topics.describe(names.values())
    stop = config.records.on_gap is OnGap.STOP
    troubles: dict[TopicPartition, str] = {}
    for tp in filter(lambda tp: config.topics.matches(tp.topic), {*tps, *known}):
        info, copy = topics.get(tp.topic) or hidden.get(tp.topic), names.get(tp.topic)
        trouble = _identity(books.of(tp), info, there.get(copy) if copy else None, stop=stop)
        troubles[tp] = misnamed.get(tp.topic) or trouble
    untold = {tp: error for tp, error in ends.failed.items() if troubles.get(tp) == ""}
    begun = {tp: books.of(tp) for tp in known if troubles.get(tp) == "" and tp not in untold}
    lost, hidden_ends = (losses or Losses()).find(target, begun, patience)
    untold |= hidden_ends
    troubles |= {tp: str(error) for tp, error in untold.items()}
    away = {tp for tp, error in untold.items() if leader_is_away(error)}
    rows = {
        tp: _row(tp, names.get(tp.topic, TopicName("")), books.of(tp), ends, trouble, lost.get(tp))
        for tp, trouble in troubles.items()
    }
    rows |= {tp: replace(rows[tp], state=State.NO_LEADER) for tp in away}
    return tuple(
        rows[tp] if tp in rows else _excluded(tp, books.of(tp)) for tp in sorted({*tps, *known})
    )


def _identity(
    books: PartitionBooks, source: TopicInfo | None, target: TopicInfo | None, *, stop: bool
) -> str:
    """Return why the topics are not those of the books, or cannot be described, else ""."""
    if books.opened is None:
        return ""
    if source is None:
        return f"source: {DELETED}"
    for seen in (source, target):
        if seen is not None and seen.error is not None:
            return str(seen.error)
    if books.opened.source_topic_id != source.id:
        return f"source: {RECREATED}" if stop else ""
    if target is None or target.id != books.opened.target_topic_id:
        return "target: the topic is not the one that was written; `towpath run` copies it again"
    return ""


def _row(
    tp: TopicPartition,
    target: TopicName,
    books: PartitionBooks,
    ends: Mapping[TopicPartition, int],
    trouble: str,
    lost: LostRecords | None = None,
) -> PartitionStatus:
    opened, receipt = books.opened, books.receipt
    position = receipt.source_end if receipt else opened.source_start if opened else 0
    lag = max(0, ends[tp] - position) if tp in ends else -1
    error = trouble or str(lost or (receipt.error if receipt else ""))
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
        gaps=books.gaps,
        error=error,
        lost=lost,
        holes=receipt.holes if receipt else 0,
        transacted=receipt.transacted if receipt else 0,
    )


def _excluded(tp: TopicPartition, books: PartitionBooks) -> PartitionStatus:
    """Return the last status of a partition that the file no longer asks for."""
    target = books.opened.target_topic if books.opened else TopicName("")
    row = _row(tp, target, books, {tp: 0}, "")
    return replace(row, state=State.EXCLUDED, error="", gaps=())


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
        if row.state is State.NOT_STARTED
        or row.stands_still
        or (row.lag_records and not 0 < row.lag_seconds < _MOMENTS)
    }
    return frozenset(row.topic for row in known) - behind
