"""The progress of a restore, from the target's ledger. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from towpath.archive.restore.groups import GivenPositions
from towpath.archive.restore.log_watch import Heard, HeardState
from towpath.archive.restore.model import RestorePart, RestoreScope
from towpath.archive.restore.proof.verdict import PartProof, ProofState
from towpath.archive.restore.target_logs import TargetLogs
from towpath.archive.restore.waking import Notified
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Gap
from towpath.model.amounts import time_left
from towpath.model.errors import TargetLostError
from towpath.model.nouns import SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import ReasonCode

_RECENT = 30.0
"""Seconds of which the rate is told."""


class PartState(StrEnum):
    """The states of a partition during a restore."""

    WAITING = "waiting"
    RESTORING = "restoring"
    LATE = "late"
    """A part of the archive is missing, and waited for."""
    RESTORED = "restored"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRow:
    """The restore progress of one partition.

    Attributes:
        tp: The archived partition.
        target: The topic on the target.
        part: What is archived of it.
        at: The archived offset up to which all is on the target.
        records: Records written so far.
        bytes: Bytes of the batches that were written.
        mode: Whether offsets are identical or mapped; empty before it was opened.
        reason: Why they are mapped.
        error: What keeps it from moving; empty if nothing does.
        gaps: Archived offsets that were lost.
        codes: Codes of errors and reasons, which the runbook explains.
        is_lost: The target has less of it than it acknowledged.
        source: The name of its region among several that are restored; "" for a single one.
    """

    tp: TopicPartition
    target: TopicName
    part: RestorePart
    at: SourceOffset
    records: int = 0
    bytes: int = 0
    mode: str = ""
    reason: str = ""
    error: str = ""
    gaps: tuple[Gap, ...] = ()
    codes: tuple[str, ...] = ()
    is_lost: bool = False
    source: str = ""

    @property
    def named(self) -> str:
        """The archived partition's name, with its source if there are several."""
        return f"{self.source}/{self.tp}" if self.source else str(self.tp)

    @property
    def done(self) -> bool:
        """Whether the partition is restored completely."""
        return bool(self.mode) and self.at >= self.part.end and not self.is_lost

    @property
    def share(self) -> float:
        """The restored share of the partition's offsets, from 0 to 1."""
        length = self.part.end - self.part.start
        return 1.0 if self.done else max(0, self.at - self.part.start) / max(1, length)

    @property
    def state(self) -> PartState:
        """The restore state of the partition."""
        if self.done:
            return PartState.RESTORED
        if self.error:
            is_late = self.codes[0] == ReasonCode.ARCHIVE_LATE
            return PartState.LATE if is_late else PartState.STOPPED
        return PartState.RESTORING if self.mode else PartState.WAITING


def rows_of(
    scope: RestoreScope, books: LinkBooks, logs: TargetLogs | None = None
) -> tuple[RestoreRow, ...]:
    """Return the progress of each partition.

    Args:
        scope: What is restored.
        books: What was read of the ledger.
        logs: The logs on the target; `None` if nobody looked at them.
    """
    return tuple(_rows(scope, books, logs))


def _rows(scope: RestoreScope, books: LinkBooks, logs: TargetLogs | None) -> Iterator[RestoreRow]:
    for topic in scope.topics.values():
        for tp, part in topic.by_partition.items():
            known = books.of(tp)
            opened = known.opened
            is_other = logs is not None and logs.is_other(known, topic.target)
            if opened is None or opened.source_topic_id != part.id.topic_id or is_other:
                yield RestoreRow(tp=tp, target=topic.target, part=part, at=part.start)
                continue
            row = _opened(tp, topic.target, part, known)
            at = TopicPartition(topic.target, tp.partition)
            loss = None if logs is None else logs.loss(known, at)
            yield row if loss is None else _lost(row, loss)


def _lost(row: RestoreRow, loss: TargetLostError) -> RestoreRow:
    advice = f"delete topic {row.target} there, and start the restore again"
    codes = (str(loss.reason.code), *row.codes)
    return replace(row, is_lost=True, error=f"{loss.reason}; {advice}", codes=codes)


def _opened(
    tp: TopicPartition, target: TopicName, part: RestorePart, known: PartitionBooks
) -> RestoreRow:
    receipt, opened = known.receipt, known.opened
    assert opened is not None  # noqa: S101  # by `_rows`
    reasons = receipt.reasons if receipt else opened.reasons
    trouble = (receipt.trouble,) if receipt and receipt.trouble else ()
    gaps = tuple(gap for gap in known.gaps if gap.end > gap.first)
    causes = (*trouble, *(gap.why for gap in gaps), *reasons)
    return RestoreRow(
        tp=tp,
        target=target,
        part=part,
        at=receipt.source_end if receipt else min(part.start, opened.source_start),
        records=receipt.records if receipt else 0,
        bytes=receipt.bytes if receipt else 0,
        mode=str(receipt.mode if receipt else opened.mode),
        reason=receipt.reason if receipt else opened.reason,
        error=receipt.error if receipt else "",
        gaps=gaps,
        codes=tuple(dict.fromkeys(code for each in causes for code in each.codes)),
    )


def restored(rows: Iterable[RestoreRow]) -> frozenset[TopicName]:
    """Return the topics that are restored completely."""
    done: dict[TopicName, bool] = {}
    for row in rows:
        done[row.tp.topic] = done.get(row.tp.topic, True) and row.done
    return frozenset(name for name, whole in done.items() if whole)


class RestorePhase(StrEnum):
    """The phases of a restore."""

    LOOKING = "looking at the archive and the target"
    PREPARING = "preparing the target"
    STARTING = "slices are starting"
    RESTORING = "restoring"
    RELEASING = "giving topics their configs"
    COMPARING = "comparing the target with the archive"
    GIVING = "giving groups of consumers their positions"
    DRAINING = "stopping: slices finish what they have begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredArchive:
    """An archive that is restored.

    Attributes:
        source: Its name among several; "" for a single one.
        store: The URL of its store.
        region: The region.
        version: The version that is restored, written at `at`, in ms.
    """

    source: str
    store: str
    region: str
    version: int
    at: int


@dataclass(slots=True)
class RestoreProgress:
    """The progress of a running restore; `rows` is replaced, never changed.

    Attributes:
        began: When it began, by the monotonic clock.
        phase: What it does now.
        rows: How far each partition is.
        left_out: Sentences about topics that are not restored.
        trouble: What keeps the restore as a whole from going on; empty if nothing does.
        trouble_codes: The codes of that, which the runbook explains, as far as it has some.
        notes: What a person should know.
        takeover: The dead process whose lease was taken over; empty if there was none.
        groups: What became of groups of consumers.
        schemas: Sentences about archived schemas, and ids in records.
        following: Whether the restore goes on with what is archived meanwhile.
        heard: What is heard of the archives that it follows.
        archives: The archives that are restored; each stands there once it is planned.
        asked: How many archives are to be restored.
        proofs: How what was restored compares with the archive; empty if nobody asked.
        unproven: Why nothing was compared; empty if it was, or nobody asked.
        compared: How many slices of the comparison have ended, and how many there are.
        notified: What came from the queue that tells of new objects, `None` if there is none.
    """

    began: float = field(default_factory=time.monotonic)
    phase: RestorePhase = RestorePhase.LOOKING
    rows: tuple[RestoreRow, ...] = ()
    left_out: tuple[str, ...] = ()
    trouble: str = ""
    trouble_codes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    takeover: str = ""
    groups: GivenPositions = field(default_factory=GivenPositions)
    schemas: tuple[str, ...] = ()
    following: bool = False
    heard: tuple[Heard, ...] = ()
    archives: tuple[RestoredArchive, ...] = ()
    asked: int = 1
    proofs: tuple[PartProof, ...] = ()
    unproven: str = ""
    compared: tuple[int, int] = (0, 0)
    notified: Notified | None = None
    _seen: list[tuple[float, float]] = field(default_factory=list)

    def take_trouble(self, why: str = "", codes: tuple[str, ...] = ()) -> None:
        """Record why the whole restore cannot continue, or that nothing stops it."""
        self.trouble, self.trouble_codes = why, codes

    def take(self, rows: Sequence[RestoreRow]) -> None:
        """Take the partitions' newest progress, and reckon the rate of the restore anew."""
        self.rows = tuple(rows)
        now = time.monotonic()
        self._seen = [each for each in self._seen if now - each[0] <= _RECENT]
        self._seen.append((now, self.done_bytes))

    @property
    def all_bytes(self) -> int:
        """Archived bytes of all partitions to restore."""
        return sum(row.part.bytes for row in self.rows)

    @property
    def done_bytes(self) -> float:
        """Approximate archived bytes that are restored so far."""
        return sum(row.part.bytes * row.share for row in self.rows)

    @property
    def rate(self) -> float:
        """Archived bytes per second in the last half minute."""
        if len(self._seen) < 2:
            return 0.0
        (first, before), (last, now) = self._seen[0], self._seen[-1]
        return (now - before) / max(last - first, 0.1)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the restore is complete at this rate; `None` if unknown."""
        return time_left(self.all_bytes - self.done_bytes, self.rate)

    @property
    def proven(self) -> bool:
        """Whether all restored records were compared with the archive and are equal."""
        every = all(each.state is ProofState.EQUAL for each in self.proofs)
        return bool(self.proofs) and every and not self.unproven

    @property
    def complete(self) -> bool:
        """Whether the restore is complete, and no record was skipped or lost.

        A restore that follows is never at its end; it is complete where nothing holds it up.
        """
        lost = any(row.gaps for row in self.rows)
        every = all(row.done for row in self.rows)
        if self.following:
            every = all(each.state is HeardState.FOLLOWED for each in self.heard)
        planned = len(self.archives) >= self.asked  # it may have been stopped before
        return planned and every and not (lost or self.left_out or self.trouble)


def stopped(rows: Iterable[RestoreRow]) -> list[RestoreRow]:
    """Return the partitions whose restore has stopped with an error."""
    return [row for row in rows if row.state is PartState.STOPPED]


def standing_still(
    rows: Iterable[RestoreRow], told: Collection[TopicPartition]
) -> list[RestoreRow]:
    """Return the partitions that are not restored although no problem is known.

    Args:
        rows: The partitions.
        told: Those of which it is known why they were not opened.
    """
    over = PartState.RESTORED, PartState.STOPPED
    return [row for row in rows if row.state not in over and row.tp not in told]
