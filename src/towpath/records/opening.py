"""Where a partition stands before a slice copies it. Blocking; done once per partition and slice.

A new partition is first opened in the ledger, so that every copier goes by the same decision. A
known one goes on from its last receipt, joined with what the target broker says of our producer
id: records that the target has beyond the receipt are passed over, not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client
from towpath.config import OffsetsPolicy
from towpath.ledger.books import Ledger, LinkBooks, PartitionBooks
from towpath.ledger.entries import Entry, Gap, Opened
from towpath.model.clock import now_ms
from towpath.model.deadline import Deadline
from towpath.model.errors import (
    NotIdenticalError,
    TargetLostError,
    TargetReplacedError,
    TowpathError,
    UnreachableError,
)
from towpath.model.nouns import Mode, ProducerId, Side, TopicPartition
from towpath.records.fencing import Fences
from towpath.records.modes import mode_at_opening
from towpath.records.passed import Passed
from towpath.records.progress import Standing, is_abandoned
from towpath.records.trouble import RECREATED
from towpath.records.work import Assignment, Position, Slice
from towpath.records.written import Wanted, find
from towpath.wire import batch as wire

_LOST = wire.SEQUENCES // 2
_AGAIN = 15.0
"""Seconds after which a second look at records that do not show is a first one: the target was away
meanwhile, and a new leader does not show at once what it has."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """What the target says of one partition."""

    earliest: int
    latest: int
    producers: Mapping[ProducerId, int]
    """The last sequence of each producer id that it remembers."""


class Opener:
    """Opens and resumes the partitions of a slice.

    Attributes:
        thread: Where to call `open`: one call at a time, and nothing else waits for it.
    """

    def __init__(
        self, work: Slice, admin: Admin, client: Client, ledger: Ledger, books: LinkBooks
    ) -> None:
        self._work = work
        self._admin, self._client = admin, client
        self._ledger, self._books = ledger, books
        self._read_at = 0
        self._fences = Fences(work, admin)
        self._missing: dict[TopicPartition, tuple[Deadline, Deadline]] = {}
        """Until when records that do not show are waited for, if they are looked for in time."""
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="towpath-opener")

    def close(self) -> None:
        """Open no more; an opening under way ends by itself."""
        self.thread.shutdown(wait=False, cancel_futures=True)

    def refused(self, assignment: Assignment, name: str) -> None:
        """The target refused our producer id with the error `name`: open in another way."""
        self._fences.refused(assignment, name)

    def open(
        self, assignments: Iterable[Assignment]
    ) -> dict[TopicPartition, Standing | TowpathError]:
        """Return where each source partition stands, or why it cannot be copied now."""
        wanted = list(assignments)
        answers: dict[TopicPartition, Standing | TowpathError] = {}
        self._read()  # first: what the target says then is never older than a receipt
        states = self._observe(wanted, answers)
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
        answers |= self._replaced(wanted)
        tps = [a.target for a in wanted if a.source not in answers]
        earliest, latest = self._admin.earliest(tps), self._admin.latest(tps)
        producers = self._admin.producers(tps)
        failed = {**earliest.failed, **latest.failed, **producers.failed}
        answers |= {a.source: failed[a.target] for a in wanted if a.target in failed}
        return {
            tp: TargetState(earliest[tp], latest[tp], producers[tp])
            for tp in tps
            if tp not in failed
        }

    def _replaced(self, wanted: list[Assignment]) -> dict[TopicPartition, TowpathError]:
        """Tell of partitions whose copy is another topic than the one that is to be written."""
        found = self._admin.topics({a.target.topic for a in wanted})
        return {
            a.source: TargetReplacedError(a.target.topic)
            for a in wanted
            if (topic := found.get(a.target.topic)) is not None
            and not topic.error
            and topic.id != a.target_id
        }

    def _read(self) -> None:
        self._read_at = now_ms()
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
            policy = self._work.offsets
            mode, reason = mode_at_opening(
                policy, assignment.start, state.latest, compacted=assignment.compacted
            )
            if mode is Mode.MAPPED and policy is OffsetsPolicy.IDENTICAL:
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

    def _opened(self, a: Assignment, mode: Mode, reason: str, state: TargetState) -> Opened:
        target_start = a.start if mode is Mode.IDENTICAL else state.latest
        return Opened(
            self._work.link, a.source.topic, a.source.partition, a.source_id,
            a.target.topic, a.target_id, a.producer_id, mode, reason,
            a.start, target_start, self._work.run_id, now_ms(),
        )  # fmt: skip

    def _resume(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Standing:
        if self._fences.needed(a, books):
            return self._resume_fenced(a, books, state)
        assert books.opened is not None  # noqa: S101  # by `_known`
        standing = known_standing(books, self._read_at)
        standing.passed = self._beyond(a, standing, state)
        fresh = books.receipt is None and books.opened.mode is Mode.IDENTICAL
        standing.front = _front(books.opened.target_start, state) if fresh else None
        return standing

    def _beyond(self, a: Assignment, standing: Standing, state: TargetState) -> Passed:
        """Find the records of ours that the target has beyond the position."""
        position = standing.position
        start = max(position.target, state.earliest)
        last = state.producers.get(a.producer_id)
        if last is None:
            # Nothing behind the position, so no reading: there may be thousands of partitions.
            return self._forgotten(a, position, start) if state.latest > start else Passed()
        ahead = _ahead(last, position)
        if ahead > _LOST:
            ahead = self._ahead_now(a, position)
        return self._find(a, Wanted(start, 0, ahead, a.producer_id)) if ahead else Passed()

    def _forgotten(self, a: Assignment, position: Position, start: int) -> Passed:
        """Find our records where the broker tells nothing of us any more, but their headers do."""
        found = find(self._client, a.target, Wanted(start, 0, 0, a.producer_id))
        if found.plain and _ahead(found.last, position) != found.plain:
            # What is missing between them would be taken for new, and what is there doubled.
            raise TargetLostError(str(a.target), found.last + 1, position.sequence + found.plain)
        return found.passed()

    def _ahead_now(self, a: Assignment, position: Position) -> int:
        """Ask again: another copier may have told the ledger more since the target was asked."""
        last = self._admin.producers([a.target])[a.target].get(a.producer_id)
        if last is None:
            return 0
        ahead = _ahead(last, position)
        if ahead > _LOST:
            raise TargetLostError(str(a.target), position.sequence, last + 1)
        return ahead

    def _find(self, a: Assignment, wanted: Wanted) -> Passed:
        """Find what is wanted; who asks comes again for what does not show yet.

        So nobody else waits for it. Retention, a cleaner or an unclean leader election may have
        taken it, and then it shows never.
        """
        found = find(self._client, a.target, wanted)
        until, again = self._missing.pop(a.source, (None, None))
        if found.complete:
            return found.passed()
        if until is None or again is None or again.over:
            until = Deadline.after(self._work.target.request_timeout)
        if until.over:
            raise TargetLostError(str(a.target), wanted.plain, found.plain)
        self._missing[a.source] = until, Deadline.after(_AGAIN)
        raise UnreachableError(
            Side.TARGET, f"reading {a.target} again",
            "records that it took do not show, as they do not while an in-sync replica lacks them",
        )  # fmt: skip

    def _resume_fenced(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Standing:
        """Resume a partition that is written in transactions; see `fencing` for the order."""
        writer = self._fences.raise_one(a, books)
        self._read()
        log_end = self._admin.latest([a.target])[a.target]
        entry = self._fences.entry(a, books, writer, log_end)
        if entry is not None:
            self._ledger.append([entry])
            self._read()
        standing = known_standing(books, self._read_at)
        ahead = 0 if _told(books) else self._plain_ahead(a, standing, state)
        standing.become_transactional(self._fences.reason(a, books), writer)
        start = max(standing.position.target, state.earliest)
        if log_end < standing.position.target:
            raise TargetLostError(str(a.target), standing.position.target, log_end, "offset")
        wanted = Wanted(start, log_end, ahead, a.producer_id, books.writers.keys())
        if ahead or log_end > start:
            standing.passed = self._find(a, wanted)
        return standing

    def _plain_ahead(self, a: Assignment, standing: Standing, state: TargetState) -> int:
        """Return how many records the target took under our own id since the last receipt."""
        last = state.producers.get(a.producer_id)
        if last is None:
            return 0
        ahead = _ahead(last, standing.position)
        return ahead if ahead <= _LOST else 0


def _ahead(last: int, position: Position) -> int:
    """Return how many records the target took beyond the position; many, where it lost some."""
    return (last + 1 - position.sequence) % wire.SEQUENCES


def _front(start: int, state: TargetState) -> int | None:
    """Return from where on the log must be filled, up to `start`, to be cut there then."""
    return state.latest if state.earliest < start and state.latest <= start else None


def known_standing(books: PartitionBooks, at: int) -> Standing:
    """Return where a partition stands by what the ledger said at a time."""
    opened, receipt = books.opened, books.receipt
    assert opened is not None  # noqa: S101  # by `Opener._known`
    if receipt is None:
        target = min([opened.target_start, *(w.target_start for w in books.writers.values())])
        run = (opened.source_start, opened.target_start, 0)
        return Standing(Position(opened.source_start, target, 0), opened.mode, opened.reason, run)
    position = Position(
        receipt.source_end, receipt.target_end, receipt.sequence, receipt.source_epoch
    )
    return Standing(
        position, receipt.mode, receipt.reason, receipt.run, receipt.records,
        receipt.bytes, receipt.first_timestamp, receipt.last_timestamp, receipt.digest,
        error=receipt.error, cuts=receipt.cuts,
        abandoned=tuple(each for each in books.standing if is_abandoned(each, at)),
    )  # fmt: skip


def _told(books: PartitionBooks) -> bool:
    """Whether the last receipt is of a time when the partition was written in transactions."""
    told = books.receipt.reason if books.receipt is not None else ""
    return any(writer.reason in told for writer in books.writers.values())
