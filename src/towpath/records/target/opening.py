"""Where a partition stands before a slice copies it. Blocking; done once per partition and slice.

A new partition is first opened in the ledger, so that every copier follows the same decision. A
known partition continues from its last receipt. Records that the target holds after it (`tail`) are
passed over, not sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Attempt, DefinedChange, Entry, Receipt
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import SESSIONS, Ledger
from towpath.ledger.producers import of_generation
from towpath.model.clock import now_ms
from towpath.model.errors import (
    NotIdenticalError,
    TargetLostError,
    TowpathError,
)
from towpath.model.nouns import Mode, TargetOffset, TopicPartition
from towpath.records.modes import dropped
from towpath.records.standing import Standing, known_standing, receipt_of
from towpath.records.target.fencing import Fences
from towpath.records.target.first import first_entries
from towpath.records.target.generations import Generations, overtaken, require_no_fence
from towpath.records.target.state import TargetState, observed
from towpath.records.target.tail import BACKWARDS, Tails, Underway, ahead_of
from towpath.records.work import Assignment, Slice

Openings = dict[TopicPartition, Standing | TowpathError]
"""Where each source partition stands, or why it cannot be copied now."""


class Opener:
    """Opens and resumes the partitions of a slice.

    Attributes:
        thread: The thread for `open`: one call at a time, and nothing else waits for it.
    """

    def __init__(
        self, work: Slice, admin: Admin, client: Client, ledger: Ledger, books: LinkBooks
    ) -> None:
        self._work = work
        self._admin, self._client = admin, client
        self._ledger, self._books = ledger, books
        self._read_at = 0
        self._fences = Fences(work, admin)
        self._tails = Tails(client, work.target.request_timeout, work.target_memory_ms)
        self._generations = Generations(work, admin, self._tails)
        self._awaited: dict[TopicPartition, frozenset[str]] = {}
        """Decisions to leave records out that wait until nothing older can arrive, by name."""
        self._preceded = False
        if not work.settled:
            self._doubt(work.assignments)
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="towpath-opener")

    def close(self) -> None:
        """Open no more. A running opening ends by itself."""
        self.thread.shutdown(wait=False, cancel_futures=True)

    def preceded(self) -> None:
        """An earlier attempt at the slice was announced: what it sent may still arrive."""
        self._preceded = True
        self._doubt(self._work.assignments)

    def _doubt(self, assignments: Iterable[Assignment]) -> None:
        for assignment in assignments:
            self._tails.may_arrive(assignment.source, Underway())

    def refused(self, assignment: Assignment, generation: int, name: str) -> None:
        """Note that the target refused our producer id with the error `name`."""
        self._fences.refused(assignment, generation, name)

    def may_arrive(self, assignment: Assignment, sent: Underway) -> None:
        """Note that a broker did not answer batches of a partition."""
        self._tails.may_arrive(assignment.source, sent)

    def settled(self, tp: TopicPartition) -> bool:
        """Whether no earlier batch for source partition `tp` can still arrive."""
        return self._tails.settled(tp)

    def settle(self, assignments: Iterable[Assignment]) -> None:
        """The slices before sent nothing for these partitions that can still arrive.

        An earlier attempt at this slice may have.
        """
        for assignment in () if self._preceded else assignments:
            self._tails.opened(assignment.source)

    def rehearse(self, assignments: Iterable[Assignment], ready: Attempt) -> None:
        """Ask all that `open` asks, so that it finds connections; to be called in `thread`.

        Args:
            assignments: The partitions.
            ready: Written to the ledger then.

        Raises:
            ClusterError: The target could not be reached.
        """
        self._read()
        observed(self._admin, [*assignments])
        self._ledger.append([ready], SESSIONS)

    def add(self, assignments: Iterable[Assignment], facts_from: int, *, settled: bool) -> None:
        """Serve more partitions; to be called in `thread`, before they are opened.

        Args:
            assignments: The partitions.
            facts_from: The first offset of the ledger at which something may be about them.
            settled: No request of an earlier copier can still arrive for them, unless there was an
                earlier attempt at the slice, as it had them then.
        """
        fresh = frozenset(assignment.source for assignment in assignments)
        if self._books.only is not None:
            self._books.only |= fresh
        for entry in self._ledger.read_about(fresh, self._books, facts_from):
            self._books.take(entry)
        if self._preceded or not settled:
            self._doubt(assignments)

    def open(self, assignments: Iterable[Assignment]) -> Openings:
        """Return where each source partition stands, or why it cannot be copied now."""
        wanted = list(assignments)
        answers: Openings = {}
        self._read()  # first, so that the state of the target is newer than every receipt
        self._define(wanted)
        generations = {a: self._books.of(a.source).generation for a in wanted}
        states, failed = observed(self._admin, wanted)
        answers |= failed
        wanted = [assignment for assignment in wanted if assignment.source not in answers]
        self._open_new([a for a in wanted if self._known(a) is None], states, answers)
        self._let_go_of_offsets([a for a in wanted if a.source not in answers], answers)
        left = [a for a in wanted if a.source not in answers]
        claimed = self._take_over(left, states, answers)
        generations |= {a: claim.generation for a, claim in claimed.items()}
        for assignment in wanted:
            books = self._known(assignment)
            if books is not None and assignment.source not in answers:
                try:
                    state, mine = states[assignment.target], assignment in claimed
                    seen_at = generations[assignment]
                    standing = self._resume(assignment, books, state, seen_at, claimed=mine)
                    standing.leader = state.leader
                    answers[assignment.source] = standing
                except TowpathError as error:
                    answers[assignment.source] = error
        self._check_passed(wanted, answers)
        return answers

    def _check_passed(self, wanted: Iterable[Assignment], answers: Openings) -> None:
        """Make sure that records behind a position are counted by all that they were written by.

        What a generation, a decision to leave records out, or a change is, stands in the ledger
        before the first record that goes by it is in the log. So the ledger is read again behind
        the log (docs/decisions/0040).
        """
        found = {
            a: standing
            for a in wanted
            if isinstance(standing := answers.get(a.source), Standing) and standing.passed
        }
        if found:
            self._read()
        for a, standing in found.items():
            books = self._known(a)
            if books is None or not standing.agrees(books):
                answers[a.source] = overtaken(a)
            elif standing.mode is Mode.IDENTICAL:
                standing.others = self._books.other_changes_of(books, standing.change)

    def _read(self) -> None:
        self._read_at = now_ms()
        for entry in self._ledger.read(wanted=self._books.wants):
            self._books.take(entry)

    def _known(self, assignment: Assignment) -> PartitionBooks | None:
        books = self._books.partitions.get(assignment.source)
        if books is None or books.opened is None:
            return None
        return books if books.opened.producer_id == assignment.producer_id else None

    def _define(self, wanted: Iterable[Assignment]) -> None:
        """Write down what the changes of partitions are, before any record is changed so."""
        changes = {a.change.digest: a.change for a in wanted}
        fresh = [each for each in changes if each and each not in self._books.changes]
        if fresh:
            link = self._work.link
            self._ledger.append(
                [DefinedChange(link=link, digest=each, change=changes[each]) for each in fresh]
            )
            self._read()

    def _let_go_of_offsets(self, wanted: Iterable[Assignment], answers: Openings) -> None:
        """Let identical partitions become mapped, if the file now leaves out records of them."""
        entries: list[Entry] = []
        for a in wanted:
            books = self._known(a)
            if books is None or books.mode is Mode.MAPPED or not a.change.drops:
                continue
            if a.must_be_identical:
                answers[a.source] = NotIdenticalError(str(a.source), dropped(a.change))
            elif books.receipt is not None:
                standing = known_standing(books, self._read_at, self._books.change_of(books))
                standing.mode, standing.reasons = Mode.MAPPED, (dropped(a.change),)
                entries.append(self._receipt(a, books, standing))
        if entries:
            self._ledger.append(entries)
            self._read()

    def _receipt(self, a: Assignment, books: PartitionBooks, standing: Standing) -> Receipt:
        packed = books.receipt.packed if books.receipt is not None else ""
        return receipt_of(a, self._work.link, standing, copier=new_name(), packed=packed)

    def _open_new(
        self,
        fresh: list[Assignment],
        states: Mapping[TopicPartition, TargetState],
        answers: Openings,
    ) -> None:
        entries: list[Entry] = []
        for assignment in fresh:
            books, state = self._books.of(assignment.source), states[assignment.target]
            try:
                entries += first_entries(self._work, assignment, books, state)
            except NotIdenticalError as error:
                answers[assignment.source] = error
        if entries:
            self._ledger.append(entries)
            self._read()

    def _take_over(
        self,
        wanted: list[Assignment],
        states: dict[TopicPartition, TargetState],
        answers: Openings,
    ) -> Mapping[Assignment, Receipt]:
        """Take over partitions to which earlier copiers may still write. Returns the claims."""
        known = {a: books for a in wanted if (books := self._known(a)) is not None}
        due = [self._generations.due(a, books, states[a.target]) for a, books in known.items()]
        fenced = {t.work: t for t in self._generations.fence([t for t in due if t is not None])}
        seen, failed = observed(self._admin, list(fenced))
        answers |= failed
        claims: dict[Assignment, Receipt] = {}
        for a, t in fenced.items():
            try:
                if a.target in seen:
                    change, after = self._books.change_of(known[a]), seen[a.target]
                    claims[a] = self._generations.claim(t, known[a], change, after)
            except TowpathError as error:
                answers[a.source] = error
        if claims:
            self._ledger.append(claims.values())
            self._read()
        for a, claim in claims.items():
            if not known[a].is_first(claim):
                answers[a.source] = overtaken(a)
                continue
            left = states[a.target].last_sequence(
                of_generation(a.producer_id, fenced[a].generation)
            )
            states[a.target] = replace(seen[a.target], fenced_at=left)
            self._generations.taken(a, claim)
        return claims

    def _resume(
        self,
        a: Assignment,
        books: PartitionBooks,
        state: TargetState,
        generation: int,
        *,
        claimed: bool,
    ) -> Standing:
        """Return where a partition stands.

        Args:
            a: The partition.
            books: What the ledger knows of it.
            state: The state of the target partition.
            generation: The latest one when the state was asked for. Under a later one, a leader
                that has seen no record of it takes any sequence.
            claimed: The generation is claimed by us.
        """
        if self._fences.needed(a, books):
            require_no_fence(a, books, state)
            return self._resume_fenced(a, books, state)
        assert books.opened is not None  # noqa: S101  # by `_known`
        if books.pending and not claimed and self._generations.fenceless(a, books, state):
            self._leave_out_later(a, books, state)
        if books.generation != generation:
            raise overtaken(a)
        standing = known_standing(books, self._read_at, self._books.change_of(books))
        if books.receipt is None and books.opened.mode is Mode.IDENTICAL:
            standing.front = _front(books.opened.target_start, state)
        if standing.front is None:
            self._look_behind(a, standing, state)
        if self._must_stay(a, books, standing) or (claimed and _is_outdated(a, standing)):
            standing.news = True
            return standing
        if _is_outdated(a, standing):
            self._tails.settle(a, standing.position, state)
            self._change(a, books, standing)
        self._tails.opened(a.source)
        return standing

    def _leave_out_later(self, a: Assignment, books: PartitionBooks, state: TargetState) -> None:
        """Let decisions to leave records out hold without a fence.

        Raises:
            ClusterError: A batch of a copier that does not know them may still arrive.
        """
        pending, now = books.pending, now_ms()
        names = frozenset(each.name for each in pending)
        if self._awaited.get(a.source) != names:
            self._tails.may_arrive(a.source, Underway())
            self._awaited[a.source] = names
        position = known_standing(books, self._read_at, self._books.change_of(books)).position
        self._tails.settle(a, position, state)
        self._ledger.append(
            replace(each, generation=-1, name=new_name(), at=now) for each in pending
        )
        self._read()

    def _must_stay(self, a: Assignment, books: PartitionBooks, standing: Standing) -> bool:
        """Whether a partition must go on under the change of the ledger at first.

        The lane passes over what was written under that change, writes a receipt, and is opened
        again.
        """
        begun = books.receipt is not None and standing.front is None and not standing.passed
        shifts = a.change.drops and standing.mode is Mode.IDENTICAL
        return _is_outdated(a, standing) and (not begun or shifts)

    def _change(self, a: Assignment, books: PartitionBooks, standing: Standing) -> None:
        """Let a partition go on under the change of the file: nothing older is under way."""
        standing.change_to(a.change)
        self._ledger.append([self._receipt(a, books, standing)])
        self._read()

    def _look_behind(self, a: Assignment, standing: Standing, state: TargetState) -> None:
        """Find our records that the target holds after the position."""
        tail = self._tails.behind(a, standing.position, state)
        standing.passed, standing.tail_end = tail.passed, tail.end
        read, identical = tail.end >= 0, standing.mode is Mode.IDENTICAL
        if read and identical and state.earliest > standing.position.target:
            standing.begin_at(state.earliest, tail.retained)
            standing.passed.begins_here()
        elif not identical and not tail.passed:
            standing.reach(tail.end)

    def _resume_fenced(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Standing:
        """Resume a partition that is written in transactions, in the order given in `fencing`."""
        writer = self._fences.raise_one(a, books)
        self._read()
        log_end = TargetOffset(self._admin.offsets.latest([a.target])[a.target])
        entry = self._fences.entry(a, books, writer, log_end)
        if entry is not None:
            self._ledger.append([entry])
            self._read()
        standing = known_standing(books, self._read_at, self._books.change_of(books))
        ahead = 0 if _told(books) else self._plain_ahead(a, standing, state)
        standing.become_transactional(self._fences.why(a, books), writer)
        start = max(standing.position.target, state.earliest)
        if log_end < standing.position.target:
            raise TargetLostError(str(a.target), standing.position.target, log_end, "offset")
        if ahead or log_end > start:
            standing.passed = self._tails.written(
                a, standing.position, start, log_end, ahead, books.writers.keys()
            )
        if self._must_stay(a, books, standing):
            standing.news = True
        elif _is_outdated(a, standing):
            self._change(a, books, standing)
        return standing

    def _plain_ahead(self, a: Assignment, standing: Standing, state: TargetState) -> int:
        """Return how many records the target has of our own id after the last receipt."""
        generation = standing.position.generation
        last = state.last_sequence(of_generation(a.producer_id, generation))
        if last is None:
            return 0
        ahead = ahead_of(last, standing.position)
        return ahead if ahead < BACKWARDS else 0


def _is_outdated(a: Assignment, standing: Standing) -> bool:
    """Whether the file names another change than the ledger."""
    return standing.change.digest != a.change.digest


def _front(start: TargetOffset, state: TargetState) -> TargetOffset | None:
    """Return the offset from which the log must be filled up to `start`, `None` if not at all."""
    return state.log_end if state.earliest < start and state.log_end <= start else None


def _told(books: PartitionBooks) -> bool:
    """Whether the partition was written in transactions at its last receipt."""
    told = books.receipt.reasons if books.receipt is not None else ()
    return any(writer.why in told for writer in books.writers.values())
