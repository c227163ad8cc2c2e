"""The opening of partitions before a slice copies them. Blocking.

A new partition is first opened in the ledger, so that every copier follows the same decision. A
known partition is taken over from earlier copiers, where that must be, and resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.books.link import sealed
from towpath.ledger.entries import Attempt, DefinedChange, Entry, Receipt
from towpath.ledger.ledger import Ledger
from towpath.ledger.producers import of_generation
from towpath.model.errors import NotIdenticalError, TowpathError
from towpath.model.nouns import Mode, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.modes import dropped
from towpath.records.standing import Standing
from towpath.records.target.bookkeeping import Bookkeeping
from towpath.records.target.fencing import Fences
from towpath.records.target.first import first_entries
from towpath.records.target.generations import Generations, overtaken
from towpath.records.target.resuming import Resuming
from towpath.records.target.state import TargetState, observed
from towpath.records.target.tail import Tails, Underway
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
        self._work, self._admin = work, admin
        self._told = Bookkeeping(work, ledger, books)
        self._fences = Fences(work, admin)
        self._tails = Tails(client, work.target.request_timeout, work.target_memory_ms)
        self._generations = Generations(work, admin, self._tails)
        self._resuming = Resuming(admin, self._told, self._fences, self._tails, self._generations)
        self._preceded = False
        if not work.settled:
            self._doubt(work.assignments)
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="towpath-opener")

    def close(self) -> None:
        """Stop opening; a running opening ends by itself."""
        self.thread.shutdown(wait=False, cancel_futures=True)

    def preceded(self) -> None:
        """Record that an earlier attempt at the slice may still write."""
        self._preceded = True
        self._doubt(self._work.assignments)

    def _doubt(self, assignments: Iterable[Assignment]) -> None:
        for assignment in assignments:
            self._tails.may_arrive(assignment.source, Underway())

    def refused(self, assignment: Assignment, generation: int, name: str) -> None:
        """Record that the target refused a derived producer id with the error `name`."""
        self._fences.refused(assignment, generation, name)

    def may_arrive(self, assignment: Assignment, sent: Underway) -> None:
        """Record that a broker did not answer batches of a partition."""
        self._tails.may_arrive(assignment.source, sent)

    def settled(self, tp: TopicPartition) -> bool:
        """Return whether no earlier batch for source partition `tp` can still arrive."""
        return self._tails.settled(tp)

    def settle(self, assignments: Iterable[Assignment]) -> None:
        """Record that no request of earlier slices for these partitions can still arrive.

        An earlier attempt at this slice may have.
        """
        for assignment in () if self._preceded else assignments:
            self._tails.opened(assignment.source)

    def rehearse(self, assignments: Iterable[Assignment], ready: Attempt) -> None:
        """Send the requests of `open` in advance, to set up connections; call in `thread`.

        Args:
            assignments: The partitions.
            ready: Written to the ledger then.

        Raises:
            ClusterError: The target could not be reached.
        """
        self._told.read()
        observed(self._admin, [*assignments])
        self._told.announce(ready)

    def add(self, assignments: Iterable[Assignment], facts_from: int, *, settled: bool) -> None:
        """Add partitions before they are opened; call in `thread`.

        Args:
            assignments: The partitions.
            facts_from: The first offset of the ledger at which something may be about them.
            settled: No request of an earlier copier can still arrive for them, unless there was an
                earlier attempt at the slice, as it had them then.
        """
        fresh = frozenset(assignment.source for assignment in assignments)
        self._told.read_about(fresh, facts_from)
        if self._preceded or not settled:
            self._doubt(assignments)

    def open(self, assignments: Iterable[Assignment]) -> Openings:
        """Return each source partition's position, or why it cannot be copied now."""
        wanted = list(assignments)
        answers: Openings = {}
        self._told.read()  # first, so that the state of the target is newer than every receipt
        self._refuse_closed(wanted, answers)
        wanted = [a for a in wanted if a.source not in answers]
        self._define(wanted)
        generations = {a: self._told.books.of(a.source).generation for a in wanted}
        states, failed = observed(self._admin, wanted)
        answers |= failed
        wanted = [assignment for assignment in wanted if assignment.source not in answers]
        self._open_new([a for a in wanted if self._told.known(a) is None], states, answers)
        self._let_go_of_offsets([a for a in wanted if a.source not in answers], answers)
        left = [a for a in wanted if a.source not in answers]
        claimed = self._take_over(left, states, answers)
        generations |= {a: claim.generation for a, claim in claimed.items()}
        for a in wanted:
            books = self._told.known(a)
            if books is not None and a.source not in answers:
                try:
                    state, mine = states[a.target], a in claimed
                    standing = self._resuming.resume(a, books, state, generations[a], claimed=mine)
                    standing.leader = state.leader
                    answers[a.source] = standing
                except TowpathError as error:
                    answers[a.source] = error
        self._check_passed(wanted, answers)
        # A failover reads the ledger behind its seal. What was claimed before, it fences.
        self._refuse_closed(wanted, answers)
        return answers

    def _refuse_closed(self, wanted: Iterable[Assignment], answers: Openings) -> None:
        """Refuse partitions of topics that are sealed or failed over."""
        for a in wanted:
            state = self._told.books.closed(a.source.topic)
            if state is not None:
                answers[a.source] = sealed(state)

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
            self._told.read()
        for a, standing in found.items():
            books = self._told.known(a)
            if books is None or not standing.agrees(books):
                answers[a.source] = overtaken(a)
            elif standing.mode is Mode.IDENTICAL:
                standing.others = self._told.books.other_changes_of(books, standing.change)

    def _define(self, wanted: Iterable[Assignment]) -> None:
        """Write down what the changes of partitions are, before any record is changed so."""
        changes = {a.change.digest: a.change for a in wanted}
        fresh = [each for each in changes if each and each not in self._told.books.changes]
        link = self._work.link
        self._told.write(
            DefinedChange(link=link, digest=each, change=changes[each]) for each in fresh
        )

    def _let_go_of_offsets(self, wanted: Iterable[Assignment], answers: Openings) -> None:
        """Let identical partitions become mapped, if the file now leaves out records of them.

        It does so by rules, or as a twin writes them.
        """
        entries: list[Entry] = []
        for a in wanted:
            books = self._told.known(a)
            if books is None or books.mode is Mode.MAPPED:
                continue
            if not (a.change.drops or self._work.twin):
                continue
            why = dropped(a.change) if a.change.drops else Reason.of(ReasonCode.TWO_WAYS)
            if a.must_be_identical:
                answers[a.source] = NotIdenticalError(str(a.source), why)
            elif books.receipt is not None:
                standing = self._told.standing(books)
                standing.mode, standing.reasons = Mode.MAPPED, (why,)
                entries.append(self._told.receipt(a, books, standing))
        self._told.write(entries)

    def _open_new(
        self,
        fresh: list[Assignment],
        states: Mapping[TopicPartition, TargetState],
        answers: Openings,
    ) -> None:
        entries: list[Entry] = []
        for assignment in fresh:
            books, state = self._told.books.of(assignment.source), states[assignment.target]
            try:
                entries += first_entries(self._work, assignment, books, state)
            except NotIdenticalError as error:
                answers[assignment.source] = error
        self._told.write(entries)

    def _take_over(
        self,
        wanted: list[Assignment],
        states: dict[TopicPartition, TargetState],
        answers: Openings,
    ) -> Mapping[Assignment, Receipt]:
        """Take over partitions to which earlier copiers may still write. Returns the claims."""
        known = {a: books for a in wanted if (books := self._told.known(a)) is not None}
        due = [self._generations.due(a, books, states[a.target]) for a, books in known.items()]
        fenced = {t.work: t for t in self._generations.fence([t for t in due if t is not None])}
        seen, failed = observed(self._admin, list(fenced))
        answers |= failed
        claims: dict[Assignment, Receipt] = {}
        for a, t in fenced.items():
            try:
                if a.target in seen:
                    change, after = self._told.books.change_of(known[a]), seen[a.target]
                    claims[a] = self._generations.claim(t, known[a], change, after)
            except TowpathError as error:
                answers[a.source] = error
        self._told.write(claims.values())
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
