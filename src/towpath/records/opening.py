"""Where a partition stands before a slice copies it. Blocking; done once per partition and slice.

A new partition is first opened in the ledger, so that every copier goes by the same decision. A
known one goes on from its last receipt, joined with what the target broker says of our producer
id: records that the target has beyond the receipt are passed over, not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client
from towpath.cluster.metadata import ProducerState
from towpath.config import OffsetsPolicy
from towpath.ledger.books import Ledger, LinkBooks, PartitionBooks
from towpath.ledger.entries import Entry, Gap, Opened
from towpath.model.clock import now_ms
from towpath.model.deadline import Deadline
from towpath.model.errors import NotIdenticalError, TargetLostError, TowpathError
from towpath.model.nouns import Mode, ProducerId, TopicPartition
from towpath.records.passed import Passed
from towpath.records.progress import Standing
from towpath.records.trouble import RECREATED
from towpath.records.work import Assignment, Position, Slice
from towpath.wire import batch as wire
from towpath.wire.digest import Hashes, record_hashes
from towpath.wire.filler import LARGEST, filler

_MOST_FILL = 2_000_000_000
"""Offsets worth filling at the front: about four minutes of a broker's time."""
_FETCH_BYTES = 4 << 20
_LOST = wire.SEQUENCES // 2


@dataclass(frozen=True, slots=True)
class TargetState:
    """What the target says of one partition."""

    earliest: int
    latest: int
    producers: Mapping[ProducerId, ProducerState]


class Opener:
    """Opens and resumes the partitions of a slice."""

    def __init__(
        self, work: Slice, admin: Admin, client: Client, ledger: Ledger, books: LinkBooks
    ) -> None:
        self._work = work
        self._admin, self._client = admin, client
        self._ledger, self._books = ledger, books
        self._lock = Lock()

    def open(
        self, assignments: Iterable[Assignment]
    ) -> dict[TopicPartition, Standing | TowpathError]:
        """Return where each source partition stands, or why it cannot be copied now.

        Threads may call it; they take turns.
        """
        with self._lock:
            return self._open(list(assignments))

    def _open(self, wanted: list[Assignment]) -> dict[TopicPartition, Standing | TowpathError]:
        answers: dict[TopicPartition, Standing | TowpathError] = {}
        states = self._observe(wanted, answers)
        self._read()
        wanted = [assignment for assignment in wanted if assignment.source not in answers]
        self._open_new([a for a in wanted if self._known(a) is None], states, answers)
        for assignment in wanted:
            books = self._known(assignment)
            if books is not None and assignment.source not in answers:
                try:
                    state = states[assignment.target]
                    answers[assignment.source] = self._resume(assignment, books, state)
                except TowpathError as error:
                    answers[assignment.source] = error
        return answers

    def _observe(
        self, wanted: list[Assignment], answers: dict[TopicPartition, Standing | TowpathError]
    ) -> dict[TopicPartition, TargetState]:
        """Ask for all partitions at once; those without an answer now get their error."""
        tps = [assignment.target for assignment in wanted]
        earliest, latest = self._admin.earliest(tps), self._admin.latest(tps)
        producers = self._admin.producers(tps)
        failed = {**earliest.failed, **latest.failed, **producers.failed}
        answers |= {a.source: failed[a.target] for a in wanted if a.target in failed}
        return {
            tp: TargetState(earliest[tp], latest[tp], producers[tp])
            for tp in tps
            if tp not in failed
        }

    def _read(self) -> None:
        for entry in self._ledger.read():
            self._books.take(entry)

    def _known(self, assignment: Assignment) -> PartitionBooks | None:
        books = self._books.partitions.get(assignment.source)
        if books is None or books.opened is None:
            return None
        return books if books.opened.producer_id == assignment.producer_id else None

    def _open_new(
        self,
        fresh: list[Assignment],
        states: Mapping[TopicPartition, TargetState],
        answers: dict[TopicPartition, Standing | TowpathError],
    ) -> None:
        entries: list[Entry] = []
        for assignment in fresh:
            state = states[assignment.target]
            mode, reason = self._mode(assignment, state)
            if mode is Mode.MAPPED and self._work.offsets is OffsetsPolicy.IDENTICAL:
                answers[assignment.source] = NotIdenticalError(str(assignment.source), reason)
                continue
            entries.extend(self._recreated(assignment))
            entries.append(self._opened(assignment, mode, reason, state))
        if entries:
            self._ledger.append(entries)
            self._read()

    def _recreated(self, a: Assignment) -> Iterator[Gap]:
        """Tell where the source's topic is another one than the ledger knows."""
        books = self._books.of(a.source)
        if books.opened is None or books.opened.source_topic_id == a.source_id:
            return
        yield Gap(
            self._work.link, a.source.topic, a.source.partition, a.producer_id, a.start, a.start,
            RECREATED, went_on=True, at=now_ms(),
        )  # fmt: skip

    def _mode(self, assignment: Assignment, state: TargetState) -> tuple[Mode, str]:
        start = assignment.start
        if self._work.offsets is OffsetsPolicy.MAPPED:
            return Mode.MAPPED, "asked for by `records.offsets: mapped`"
        if state.latest == start:
            return Mode.IDENTICAL, ""
        if state.latest:
            return Mode.MAPPED, f"the target partition ended at offset {state.latest} already"
        if assignment.compacted:
            return Mode.MAPPED, f"a compacted topic cannot be made to begin at offset {start}"
        if start > _MOST_FILL:
            return Mode.MAPPED, f"the source begins at offset {start}, too far to fill"
        return Mode.IDENTICAL, ""

    def _opened(self, a: Assignment, mode: Mode, reason: str, state: TargetState) -> Opened:
        target_start = a.start if mode is Mode.IDENTICAL else state.latest
        return Opened(
            self._work.link, a.source.topic, a.source.partition, a.source_id,
            a.target.topic, a.target_id, a.producer_id, mode, reason,
            a.start, target_start, self._work.run_id, now_ms(),
        )  # fmt: skip

    def _resume(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Standing:
        opened, receipt = books.opened, books.receipt
        assert opened is not None  # noqa: S101  # by `_known`
        if receipt is None:
            if opened.mode is Mode.IDENTICAL:
                self._fill_front(a, opened, state)
            position = Position(opened.source_start, opened.target_start, 0)
            run = (opened.source_start, opened.target_start, 0)
            standing = Standing(position, opened.mode, opened.reason, run)
        else:
            position = Position(
                receipt.source_end, receipt.target_end, receipt.sequence, receipt.source_epoch
            )
            standing = Standing(
                position, receipt.mode, receipt.reason, receipt.run, receipt.records,
                receipt.bytes, receipt.first_timestamp, receipt.last_timestamp, receipt.digest,
                error=receipt.error,
            )  # fmt: skip
        standing.passed = self._beyond(a, standing, state)
        return standing

    def _beyond(self, a: Assignment, standing: Standing, state: TargetState) -> Passed:
        """Find the records of ours that the target has beyond the position."""
        position = standing.position
        start = max(position.target, state.earliest)
        ours = state.producers.get(a.producer_id)
        if ours is None:
            # Nothing behind the position, so no reading: there may be thousands of partitions.
            return self._written(a, start, None) if state.latest > start else Passed()
        ahead = (ours.last_sequence + 1 - position.sequence) % wire.SEQUENCES
        if ahead > _LOST:
            raise TargetLostError(str(a.target), position.sequence, ours.last_sequence + 1)
        return self._written(a, start, ahead) if ahead else Passed()

    def _written(self, a: Assignment, start: int, count: int | None) -> Passed:
        """Read the target from `start` on and tell which records are ours.

        With a `count`, waits until so many can be read: an append becomes visible only when it
        is on all in-sync replicas.
        """
        deadline = Deadline.after(self._work.target.request_timeout)
        at, found, by_clock = start, 0, False
        parts: list[tuple[wire.Table, Hashes]] = []
        while True:
            chunk = self._client.fetch(a.target, at, max_bytes=_FETCH_BYTES, wait=0.05)
            table = wire.scan(chunk.buffer, chunk.start, chunk.end)
            for row in table[table[:, wire.PRODUCER] == a.producer_id].tolist():
                end = row[wire.POSITION] + row[wire.LENGTH]
                offsets, hashes = record_hashes(chunk.buffer[row[wire.POSITION] : end].data)
                fresh = offsets >= start
                parts.append((offsets[fresh], hashes[fresh]))
                found += int(fresh.sum())
                by_clock |= bool(row[wire.ATTRIBUTES] & wire.LOG_APPEND_TIME)
            if len(table):
                at = int(table[-1, wire.LAST]) + 1
            at_end = at >= chunk.said.high_watermark
            if at_end and (count is None or found >= count):
                return _joined(parts, by_clock=by_clock)
            if deadline.over:
                raise TargetLostError(str(a.target), count or 0, found)

    def _fill_front(self, a: Assignment, opened: Opened, state: TargetState) -> None:
        """Make the target's log begin where the source began when the partition was opened.

        Fillers carry an idempotent producer id of their own and fall on the same sequences for
        every copier, so whoever comes second adds nothing.
        """
        at, start = state.latest, opened.target_start
        while at < start:
            count = min(LARGEST - at % LARGEST, start - at)
            self._client.produce(
                a.target,
                filler(
                    count, now_ms=now_ms(), producer_id=a.filler_id, epoch=0,
                    sequence=at % wire.SEQUENCES,
                ),
            )  # fmt: skip
            at += count
        if state.earliest < start and state.latest <= start:
            self._admin.delete_records({a.target: start})


def _joined(parts: list[tuple[wire.Table, Hashes]], *, by_clock: bool) -> Passed:
    if not parts:
        return Passed()
    offsets = np.concatenate([part[0] for part in parts])
    return Passed(offsets, None if by_clock else np.concatenate([part[1] for part in parts]))
