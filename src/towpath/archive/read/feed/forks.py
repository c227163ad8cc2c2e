"""Detection of a mirror that copied a log which the source has since truncated.

A source whose log was cut gives offsets to other records. A mirror that had copied the old ones,
and finds that the source has deleted what comes next, must not go on with the new ones as if they
were of one log. Leader epochs tell: they only grow, and logs that have the same one at an offset
are equal up to there (KIP-101).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.wanted import Wanted
from towpath.archive.log import Archive
from towpath.archive.model import PartitionId
from towpath.model.errors import ObjectMissingError
from towpath.model.nouns import SourceOffset

_COLUMNS = ("offset", "leader_epoch")
_LOOK = 1_000
"""Offsets on both sides of the place whose epochs are read."""


def forked_at(
    archive: Archive, newest: PartitionId, at: SourceOffset, epoch: int
) -> SourceOffset | None:
    """Return the offset from which the mirrored log differs from the archive, or `None`.

    Args:
        archive: The archive.
        newest: The newest history of the partition.
        at: The offset up to which it was copied.
        epoch: The leader epoch of the last record before it, -1 if unknown.

    Returns:
        `None` if it does not differ, as far as that can be told.

    Raises:
        StoreError: The store does not give an object now.
    """
    if epoch < 0:
        return None
    fork = at
    for number in range(newest.history, 0, -1):
        history = newest.of_history(number)
        place = archive.single(history)
        if place is None or place.fork is None or _agrees(archive, history, at, epoch):
            break
        fork = min(fork, place.fork)
    return fork if fork < at else None


def _agrees(archive: Archive, history: PartitionId, at: SourceOffset, epoch: int) -> bool:
    """Whether a record of a leader epoch may stand before an offset of a history."""
    offsets, epochs = _epochs(archive, history, at)
    before, behind = epochs[offsets < at], epochs[offsets >= at]
    if len(before) and offsets[len(before) - 1] == at - 1:
        return bool(before[-1] == epoch)
    return not ((len(before) and before[-1] > epoch) or (len(behind) and behind[0] < epoch))


def _epochs(
    archive: Archive, history: PartitionId, at: SourceOffset
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return offsets around a place, in order, and the leader epochs of their records."""
    offsets, epochs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for segment, low, high in archive.pieces(history, max(0, at - _LOOK), at + _LOOK):
        place = segment.place
        if place is None:
            continue
        try:
            file = read_object(segment.format, archive.open(place.key), place.key)
            try:
                footer = file.segment(place.first_row_group)
                for rows in file.rows(footer, Wanted(low, high), _COLUMNS):
                    offsets.append(rows["offset"].to_numpy(zero_copy_only=False))
                    epochs.append(rows["leader_epoch"].fill_null(-1).to_numpy(zero_copy_only=False))
            finally:
                file.close()
        except (CorruptSegmentError, ObjectMissingError):
            continue  # whoever reads what is wanted tells of it
    found, known = np.concatenate(offsets), np.concatenate(epochs)
    return found[known >= 0], known[known >= 0]
