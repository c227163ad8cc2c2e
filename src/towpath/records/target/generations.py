"""Takeover of a partition from earlier copiers, by producer id generations. Blocking.

After a marker with epoch 1, the target refuses every later batch of the same producer id with epoch
0 (docs/decisions/0024). So a copier that takes over a mapped partition fences the present
generation, reads the log end offset, writes the next generation to the ledger, and then writes
records under that one. Of two copiers that take over at once, the one whose ledger entry comes
first continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import Marker, refuses
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import Receipt
from towpath.ledger.keys import new_name
from towpath.ledger.producers import of_generation
from towpath.model.changes import RecordChange
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Mode, Side, TargetOffset, TopicPartition
from towpath.records.standing import known_standing, receipt_of
from towpath.records.target.claims import taken_over
from towpath.records.target.state import TargetState
from towpath.records.target.tail import Tails, Underway
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms

_PATIENCE = 5.0
"""Seconds for the markers of all partitions of one takeover."""
_EPOCH = 1
"""We write with epoch 0, so a higher epoch of one of our producer ids means that it is fenced."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """A partition to take over from the copiers of `generation`.

    Attributes:
        marked: The generation is fenced already, by its own copier or by another takeover.
        identical: Its offsets are identical, so that no second fence may take one.
    """

    work: Assignment
    generation: int
    marked: bool
    identical: bool = False

    @property
    def marker(self) -> Marker:
        """The marker that fences the earlier generation."""
        if not self.identical:
            return fence(self.work, self.generation)
        claim = taken_over(None)
        claim = replace(claim, epoch=claim.epoch + 1)
        return claim.marker(of_generation(self.work.producer_id, self.generation))


class Generations:
    """Takes over mapped partitions of one slice from earlier copiers."""

    def __init__(self, work: Slice, admin: Admin, tails: Tails) -> None:
        self._link, self._admin, self._tails = work.link, admin, tails
        self._going_by: dict[TopicPartition, int] = {}
        """The generation under which this slice writes."""
        self._refused = False

    def due(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Takeover | None:
        """Return the takeover that must precede any write, `None` if none is needed.

        Another change than that of the ledger is such a reason, too (docs/decisions/0034), and
        records that are to be left out (0036). A log that has lost records is not touched: a marker
        would take the offset of a lost record. In an identical partition, a marker takes the offset
        of the first record that is left out.
        """
        if books.writers or state.log_end < _end(books):
            return None
        generation = books.generation
        if books.mode is Mode.IDENTICAL:
            return self._due_identical(a, books, state)
        if self._going_by.setdefault(a.source, generation) != generation:
            self._going_by[a.source] = generation
            self._tails.may_arrive(a.source, Underway())  # another copier took over
        present, following = (of_generation(a.producer_id, generation + n) for n in range(2))
        if following in state.producers:
            return None  # the next generation was used before, and its producer state still exists
        marked = state.is_fenced(present)
        outdated = books.change != a.change.digest or bool(books.pending)
        wanted = outdated or self._tails.in_doubt(a, state, present)
        return Takeover(a, generation, marked) if marked or (wanted and not self._refused) else None

    def _due_identical(
        self, a: Assignment, books: PartitionBooks, state: TargetState
    ) -> Takeover | None:
        """Return the takeover that lets records be left out, once all before them are there."""
        begins = min((each.first for each in books.pending), default=None)
        if begins is None or state.log_end < begins or self.fenceless(a, books, state):
            return None
        marked = state.is_fenced(of_generation(a.producer_id, books.generation))
        return Takeover(a, books.generation, marked, identical=True)

    def fenceless(self, a: Assignment, books: PartitionBooks, state: TargetState) -> bool:
        """Return whether the present generation of our producer id cannot be fenced now."""
        return self._refused or of_generation(a.producer_id, books.generation + 1) in (
            state.producers
        )

    def fence(self, due: Sequence[Takeover]) -> list[Takeover]:
        """Fence older copiers' requests at the target; return the successful takeovers.

        The other partitions are opened without a fence, and wait until nothing older can arrive.
        """
        markers = {t.work.target: [t.marker] for t in due if not t.marked}
        answers = self._admin.producers.write_markers(markers, patience=_PATIENCE)
        self._refused |= any(map(refuses, answers.failed.values()))
        return [t for t in due if t.marked or t.work.target in answers]

    def claim(
        self, t: Takeover, books: PartitionBooks, change: RecordChange, state: TargetState
    ) -> Receipt:
        """Return the receipt that claims the next generation.

        It names the change of the file if the target holds nothing of ours behind the last receipt.
        Otherwise that was written under the change of the ledger, and is passed over under it.

        Args:
            t: The takeover.
            books: What the ledger knows of the partition.
            change: The change that it names.
            state: The state of the target partition after the fence.

        Raises:
            ClusterError: The target could not be read.
        """
        standing, receipt = known_standing(books, now_ms(), change), books.receipt
        position = standing.position
        mapped = standing.mode is Mode.MAPPED
        ours_alone = mapped and not t.marked and state.log_end == position.target + 1
        standing.position = replace(
            position, target=TargetOffset(position.target + ours_alone), generation=t.generation + 1
        )
        if change.digest != t.work.change.digest and (
            ours_alone or self._tails.nothing_behind(t.work, position, state)
        ):
            standing.change_to(t.work.change)
        claim = receipt_of(
            t.work,
            self._link,
            standing,
            copier=new_name(),
            packed=receipt.packed if receipt else "",
        )
        return replace(claim, claim=True)

    def taken(self, a: Assignment, claim: Receipt) -> None:
        """Record a successful claim, after which no request of older copiers is accepted."""
        self._going_by[a.source] = claim.generation
        self._tails.opened(a.source)


def fence(a: Assignment, generation: int) -> Marker:
    """Return the marker after which the target refuses all batches of a generation."""
    return Marker(of_generation(a.producer_id, generation), _EPOCH, 0)


def overtaken(a: Assignment) -> UnreachableError:
    """Return the retriable error that another copier took the partition over first."""
    why = "another copier of this link is taking over the partition at the same time"
    return UnreachableError(Side.TARGET, f"opening {a.target}", why)


def require_no_fence(a: Assignment, books: PartitionBooks, state: TargetState) -> None:
    """Raise if the target refuses a producer id because it is fenced.

    Raises:
        UnreachableError: The id is fenced and the partition could not be taken over: the ledger
            does not know yet that it is mapped, or the next generation still has producer state.
    """
    if not books.writers and state.is_fenced(of_generation(a.producer_id, books.generation)):
        raise UnreachableError(
            Side.TARGET,
            f"opening {a.target}",
            "our producer id was fenced, and the target still has state for the next one, which"
            " expires after producer.id.expiration.ms",
        )


def _end(books: PartitionBooks) -> int:
    """Return the target offset after the last acknowledged record."""
    return books.receipt.target_end if books.receipt is not None else 0
