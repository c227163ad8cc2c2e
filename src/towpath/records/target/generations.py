"""Being the only copier of a mapped partition, by generations of its producer id. Blocking.

A marker of epoch 1 makes the target refuse every batch that comes later under the same producer id
with epoch 0 (docs/decisions/0024). So whoever takes a mapped partition over fences the present
generation, looks where the log ends then, tells the ledger of the next generation, and writes under
that one. Of two that take over at once, the one that told the ledger first goes on.
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
from towpath.model.clock import now_ms
from towpath.model.errors import UnreachableError
from towpath.model.nouns import Mode, Side, TargetOffset, TopicPartition
from towpath.records.standing import known_standing, receipt_of
from towpath.records.target.state import TargetState
from towpath.records.target.tail import Tails, Underway
from towpath.records.work import Assignment, Slice

_PATIENCE = 5.0
"""Seconds for the markers of all partitions that are taken over together."""
_EPOCH = 1
"""Ours is 0, so whoever knows a higher one of an id of ours knows that it was fenced."""


@dataclass(frozen=True, slots=True)
class Takeover:
    """A mapped partition that is to be taken over from the copiers of `generation`.

    Attributes:
        marked: It was fenced before, by its own copier or by somebody who takes over as well.
    """

    work: Assignment
    generation: int
    marked: bool


class Generations:
    """Takes mapped partitions of one slice over from earlier copiers."""

    def __init__(self, work: Slice, admin: Admin, tails: Tails) -> None:
        self._link, self._admin, self._tails = work.link, admin, tails
        self._going_by: dict[TopicPartition, int] = {}
        """The generation under which this slice writes."""
        self._refused = False

    def due(self, a: Assignment, books: PartitionBooks, state: TargetState) -> Takeover | None:
        """Return the takeover that must come before anything is sent, if one must.

        A log that lost records is not touched, as a marker would take the place of a lost one.
        """
        if books.mode is not Mode.MAPPED or books.writers or state.log_end < _end(books):
            return None
        generation = books.generation
        if self._going_by.setdefault(a.source, generation) != generation:
            self._going_by[a.source] = generation
            self._tails.may_arrive(a.source, Underway())  # another copier took over
        present, following = (of_generation(a.producer_id, generation + n) for n in range(2))
        if following in state.producers:
            return None  # all generations were used up within the target's memory
        marked = state.is_fenced(present)
        in_doubt = not self._refused and self._tails.in_doubt(a, state, present)
        return Takeover(a, generation, marked) if marked or in_doubt else None

    def fence(self, due: Sequence[Takeover]) -> list[Takeover]:
        """Let the target refuse what older copiers still send; return where it does now.

        The others are opened without it, and wait until nothing older can arrive.
        """
        markers = {t.work.target: [fence(t.work, t.generation)] for t in due if not t.marked}
        answers = self._admin.producers.write_markers(markers, patience=_PATIENCE)
        self._refused |= any(map(refuses, answers.failed.values()))
        return [t for t in due if t.marked or t.work.target in answers]

    def claim(self, t: Takeover, books: PartitionBooks, log_end: TargetOffset) -> Receipt:
        """Return what tells the ledger of the next generation.

        Args:
            t: What was fenced.
            books: What the ledger knows.
            log_end: Where the log ended behind the fence.
        """
        standing, receipt = known_standing(books, now_ms()), books.receipt
        position = standing.position
        ours_alone = not t.marked and log_end == position.target + 1
        position = replace(
            position, target=TargetOffset(position.target + ours_alone), generation=t.generation + 1
        )
        return receipt_of(
            t.work,
            self._link,
            replace(standing, position=position),
            copier=new_name(),
            packed=receipt.packed if receipt else "",
        )

    def taken(self, a: Assignment, claim: Receipt) -> None:
        """The claim came first: nothing of older copiers can arrive any more."""
        self._going_by[a.source] = claim.generation
        self._tails.opened(a.source)


def fence(a: Assignment, generation: int) -> Marker:
    """Return the marker behind which nothing of a generation is taken any more."""
    return Marker(of_generation(a.producer_id, generation), _EPOCH, 0)


def overtaken(a: Assignment) -> UnreachableError:
    """Return the error that another copier took over first; it asks to come again."""
    why = "another copier of this link takes the partition over at the same time"
    return UnreachableError(Side.TARGET, f"opening {a.target}", why)


def require_no_fence(a: Assignment, books: PartitionBooks, state: TargetState) -> None:
    """Make sure that it is no fence for which the target refuses our producer id.

    Raises:
        UnreachableError: It is one, and the partition could not be taken over: the ledger does not
            know yet that it is mapped, or the target still remembers the next generation.
    """
    if not books.writers and state.is_fenced(of_generation(a.producer_id, books.generation)):
        raise UnreachableError(
            Side.TARGET,
            f"opening {a.target}",
            "our producer id was fenced, and the target still remembers the next one; it forgets it"
            " after producer.id.expiration.ms",
        )


def _end(books: PartitionBooks) -> int:
    """Return the target offset behind the last record that was acknowledged."""
    return books.receipt.target_end if books.receipt is not None else 0
