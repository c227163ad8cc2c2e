"""Search for the offset from which a source's log differs from the archive.

Two logs of a partition are equal up to some offset and share no record behind it. So the last
records of segments are compared with the source's, by halves, until the segment is found where they
differ; that one is compared as a whole. What retention took from the source cannot be compared: it
counts as it was archived, unless the leader's epochs say that the log differs before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parts import PackedBatches
from towpath.archive.format.wanted import Wanted
from towpath.archive.log import Archive, SegmentPiece
from towpath.archive.model import PartitionId, Segment
from towpath.archive.read.verify.source_records import LEFT_OUT, SourceRecords, left_out, portion
from towpath.archive.write.histories.evidence import Doubt
from towpath.compare.cursor import Cursor, Reader
from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SourceOffset, TopicPartition

_SAMPLE = 1_000
"""Offsets at the end of a segment that tell whether the source still has it."""


@dataclass(frozen=True, slots=True)
class BesideFork:
    """The result of comparing archived records with the source's at some offsets.

    Attributes:
        same: The last offset before `differs` with the same record, `None` if there is none.
        differs: The first offset where one has another record than the other, or none at all.
    """

    same: int | None = None
    differs: int | None = None

    def then(self, other: BesideFork) -> BesideFork:
        """Return the combined result with that of the offsets that follow."""
        return BesideFork(self.same if other.same is None else other.same, other.differs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLog:
    """The log of a partition at the source, and its reader.

    Attributes:
        reader: Reads it.
        tp: The partition.
        start: Its log start offset.
        end: Its log end offset.
        cleans: Whether its log cleaner removes records, or may do so.
    """

    reader: Reader
    tp: TopicPartition
    start: int
    end: int
    cleans: bool


def find_fork(
    archive: Archive, partition: PartitionId, log: SourceLog, doubt: Doubt
) -> SourceOffset | None:
    """Return the offset from which the source's records differ from the archive.

    Args:
        archive: The archive.
        partition: The history of the partition that is archived now.
        log: The partition at the source.
        doubt: What speaks for it that they differ.

    Returns:
        `None` if the source has all that is archived, as far as that can be told.

    Raises:
        ClusterError: The source did not answer.
        StoreError: The store does not give an object.
    """
    return _Search(archive, partition, log).fork(doubt)


class _Search:
    def __init__(self, archive: Archive, partition: PartitionId, log: SourceLog) -> None:
        self._archive, self._log = archive, log
        place = archive.single(partition)
        assert place is not None  # noqa: S101  # the caller got it from the archive
        self._archived_to = place.archived_to
        found = archive.pieces(partition, log.start)
        self._pieces = [each for each in found if each.segment.records or not _hides(each.segment)]

    def fork(self, doubt: Doubt) -> SourceOffset | None:
        same, differs = self._narrowed()
        if differs < len(self._pieces):
            found = self._compared(self._pieces[differs], self._log.start)
            same = same if found.same is None else found.same
        elif not self._is_cut(doubt, same):
            return None
        first = self._log.start if same is None else same + 1
        bound = self._archived_to if doubt.bound is None else doubt.bound
        return SourceOffset(min(first, bound, self._log.end, self._archived_to))

    def _is_cut(self, doubt: Doubt, same: int | None) -> bool:
        """Whether the log is another one although no record that was compared differs."""
        if self._log.end < self._archived_to:
            return True
        last = max((min(each.segment.last or 0, each.end - 1) for each in self._pieces), default=0)
        return doubt.sure and (same is None or same < last)

    def _narrowed(self) -> tuple[int | None, int]:
        """Return the last offset known to be the same, and the first piece that differs."""
        low, high, same = 0, len(self._pieces), None
        while low < high:
            middle = (low + high) // 2
            at, found = middle, self._at_end(self._pieces[middle])
            while found == BesideFork() and at > low:  # all of it was cleaned away
                at -= 1
                found = self._at_end(self._pieces[at])
            if found.differs is not None:
                high = at
            else:
                same = found.same if found.same is not None else same
                low = middle + 1
        return same, high

    def _at_end(self, piece: SegmentPiece) -> BesideFork:
        last = piece.segment.last
        end = piece.end if last is None else min(piece.end, last + 1)
        return self._compared(piece, end - _SAMPLE)

    def _compared(self, piece: SegmentPiece, first: int) -> BesideFork:
        """Compare the records of a piece from an offset on, until something differs."""
        low, place = max(piece.first, self._log.start, first), piece.segment.place
        made = BesideFork()
        if low >= piece.end:
            return made
        cursor = Cursor(self._log.reader, self._log.tp, low, piece.end, None)
        theirs, store = SourceRecords(cursor), self._archive.log.store
        nothing = PackedBatches(bytearray(), piece.end)
        if place is None:
            return self._window(nothing, None, theirs, piece.end)
        try:
            file = read_object(piece.segment.format, store.reader(place.key), place.key)
            try:
                footer = file.segment(place.first_row_group)
                parts = file.batches(footer, Wanted(low, piece.end))
                for ours in chain(parts, [nothing]):
                    made = made.then(self._window(ours, footer, theirs, piece.end))
                    if made.differs is not None:
                        break
            finally:
                file.close()
        except (CorruptSegmentError, ObjectMissingError):
            pass  # `verify` tells of it; others are compared
        return made

    def _window(
        self, ours: PackedBatches, footer: SegmentFooter | None, theirs: SourceRecords, until: int
    ) -> BesideFork:
        """Compare the records before the end of some batches."""
        at, end = theirs.position, min(ours.end, until)
        if end <= at:
            return BesideFork()
        offsets, hashes = portion(ours, at, end)
        there, wanted = theirs.upto(end)
        _, mine, other = np.intersect1d(offsets, there, return_indices=True)
        equal = hashes[mine] == wanted[other]
        lacking = np.setdiff1d(there, offsets)
        alone = np.setdiff1d(offsets, there)
        least = max(theirs.log_start, self._log.end if self._log.cleans else 0)
        differing = np.concatenate(
            [offsets[mine][~equal], lacking[~left_out(footer, lacking)], alone[alone >= least]]
        )
        agreeing = offsets[mine][equal]
        if len(differing):
            agreeing = agreeing[agreeing < differing.min()]
        return BesideFork(
            int(agreeing.max()) if len(agreeing) else None,
            int(differing.min()) if len(differing) else None,
        )


def _hides(segment: Segment) -> bool:
    """Whether the source may have records where the archive says why it has none."""
    return any(segment.gaps.get(kind) for kind in LEFT_OUT)
