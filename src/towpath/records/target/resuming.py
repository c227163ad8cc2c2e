"""The position of a known partition before a slice copies it.

It continues from its last receipt. Records that the target holds after it (`tail`) are passed over,
not sent again.
"""

from __future__ import annotations

from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import PartitionBooks
from towpath.ledger.keys import new_name
from towpath.ledger.producers import of_generation
from towpath.model.errors import TargetLostError
from towpath.model.nouns import Mode, TargetOffset, TopicPartition
from towpath.records.standing import Standing
from towpath.records.target.bookkeeping import Bookkeeping
from towpath.records.target.fencing import Fences
from towpath.records.target.generations import Generations, overtaken, require_no_fence
from towpath.records.target.state import TargetState
from towpath.records.target.tail import BACKWARDS, Tails, Underway, ahead_of
from towpath.records.work import Assignment
from towpath.runtime.clock import now_ms


class Resuming:
    """Determines the position of a slice's known partitions.

    Args:
        admin: The target.
        told: The ledger.
        fences: Fences of partitions that are written in transactions.
        tails: What the target holds behind a receipt.
        generations: Under which generation each partition is written.
    """

    def __init__(
        self,
        admin: Admin,
        told: Bookkeeping,
        fences: Fences,
        tails: Tails,
        generations: Generations,
    ) -> None:
        self._admin, self._told, self._fences = admin, told, fences
        self._tails, self._generations = tails, generations
        self._awaited: dict[TopicPartition, frozenset[str]] = {}
        """Decisions to leave records out that wait until nothing older can arrive, by name."""

    def resume(
        self,
        a: Assignment,
        books: PartitionBooks,
        state: TargetState,
        generation: int,
        *,
        claimed: bool,
    ) -> Standing:
        """Return the position from which a run continues to copy a partition.

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
        assert books.opened is not None  # noqa: S101  # by `known`
        if books.pending and not claimed and self._generations.fenceless(a, books, state):
            self._leave_out_later(a, books, state)
        if books.generation != generation:
            raise overtaken(a)
        standing = self._told.standing(books)
        if books.receipt is None and books.opened.mode is Mode.IDENTICAL:
            standing.front = _front(books.opened.target_start, state)
        if standing.front is None:
            look_behind(self._tails, a, standing, state)
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
        position = self._told.standing(books).position
        self._tails.settle(a, position, state)
        self._told.write(replace(each, generation=-1, name=new_name(), at=now) for each in pending)

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
        self._told.write([self._told.receipt(a, books, standing)])

    def _resume_fenced(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Standing:
        """Resume a partition that is written in transactions, in the order given in `fencing`."""
        writer = self._fences.raise_one(a, books)
        self._told.read()
        log_end = TargetOffset(self._admin.offsets.latest([a.target])[a.target])
        entry = self._fences.entry(a, books, writer, log_end)
        if entry is not None:
            self._told.write([entry])
        standing = self._told.standing(books)
        ahead = 0 if _was_transactional(books) else self._plain_ahead(a, standing, state)
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


def look_behind(tails: Tails, a: Assignment, standing: Standing, state: TargetState) -> None:
    """Find the link's records on the target after the position."""
    tail = tails.behind(a, standing.position, state)
    standing.passed, standing.tail_end = tail.passed, tail.end
    read, identical = tail.end >= 0, standing.mode is Mode.IDENTICAL
    if read and identical and state.earliest > standing.position.target:
        standing.begin_at(state.earliest, tail.retained)
        standing.passed.begins_here()
    elif not identical and not tail.passed:
        standing.reach(tail.end)


def _is_outdated(a: Assignment, standing: Standing) -> bool:
    """Whether the file names another change than the ledger."""
    return standing.change.digest != a.change.digest


def _front(start: TargetOffset, state: TargetState) -> TargetOffset | None:
    """Return the offset from which the log must be filled up to `start`, `None` if not at all."""
    return state.log_end if state.earliest < start and state.log_end <= start else None


def _was_transactional(books: PartitionBooks) -> bool:
    """Whether the partition was written in transactions at its last receipt."""
    told = books.receipt.reasons if books.receipt is not None else ()
    return any(writer.why in told for writer in books.writers.values())
