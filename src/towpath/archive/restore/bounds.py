"""The offset ranges to restore in each partition, by the file's range.

A time means the first record that has it or a later one, as brokers answer where they are asked for
the offset of a time. The commit log tells which segment that is in, the segment which record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from towpath.archive.config import Bound, RestoredRange
from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.schema import OFFSET, TIMESTAMP, TIMESTAMP_RAW
from towpath.archive.format.wanted import Wanted
from towpath.archive.log import Archive, ArchivedTo, SegmentPiece
from towpath.archive.model import PartitionId
from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectMissingError,
    TowpathError,
)
from towpath.model.foreign import foreign
from towpath.model.nouns import SourceOffset

_OF_ONE_OBJECT = (
    CorruptSegmentError,
    ObjectChangedError,
    ObjectColdError,
    ObjectMissingError,
)
Offsets = tuple[SourceOffset, SourceOffset]
"""Offsets [first, end)."""


class BoundError(TowpathError):
    """The offset for a time cannot be found, as a part of the archive is unreadable.

    Args:
        time: The time in ms.
        why: Why not.
    """

    code = "ARCHIVE_LOST"
    exit_code = 3

    def __init__(self, time: int, why: str) -> None:
        super().__init__(time, why)
        self.time, self.why = time, why

    def __str__(self) -> str:
        return (
            f"{self.why}; so it is not known which offset time {self.time} has; give an offset"
            " instead"
        )


def narrowed(
    archive: Archive, there: Mapping[PartitionId, ArchivedTo], wanted: RestoredRange
) -> dict[PartitionId, Offsets | BoundError]:
    """Return the offsets to restore in each partition, or why they cannot be determined.

    Args:
        archive: The archive.
        there: The partitions, and what is archived of them.
        wanted: What the file asks for.

    Raises:
        StoreError: The store could not be read at all.
    """
    if wanted.is_whole:
        return {id_: (known.begin, known.archived_to) for id_, known in there.items()}

    def bounds(id_: PartitionId) -> Offsets | BoundError:
        known = there[id_]
        whole = known.begin, known.archived_to
        try:
            first = _offset(archive, id_, whole, wanted.first, known.begin)
            end = _offset(archive, id_, whole, wanted.end, known.archived_to)
        except BoundError as error:
            return error
        return first, max(first, end)

    return dict(zip(there, archive.log.store.threads.map(bounds, there), strict=True))


def _offset(
    archive: Archive,
    partition: PartitionId,
    whole: Offsets,
    bound: Bound | None,
    default: SourceOffset,
) -> SourceOffset:
    if bound is None:
        return default
    first, end = whole
    if bound.time is not None:
        found = _first_at(archive, archive.pieces(partition, first, end), bound.time)
        return end if found is None else SourceOffset(min(max(first, found), end))
    return SourceOffset(min(max(first, bound.offset or 0), end))


def _first_at(archive: Archive, pieces: Iterable[SegmentPiece], time: int) -> int | None:
    """Return the offset of the first record with a time or a later one.

    Raises:
        BoundError: The object of its segment cannot be read.
        StoreError: The store could not be read at all.
    """
    for piece in pieces:
        segment = piece.segment
        if segment.max_time is None or segment.max_time < time or segment.place is None:
            continue
        found = _in_segment(archive, piece, time)
        if found is not None:
            return found
    return None


def _in_segment(archive: Archive, piece: SegmentPiece, time: int) -> int | None:
    segment = piece.segment
    assert segment.place is not None  # noqa: S101  # by `_first_at`
    key = segment.place.key
    try:
        reader = read_object(segment.format, archive.open(key), key)
        try:
            footer = reader.segment(segment.place.first_row_group)
            columns = OFFSET, TIMESTAMP, TIMESTAMP_RAW
            wanted = Wanted(piece.first, piece.end, since=time)
            for rows in reader.rows(footer, wanted, columns):
                return int(np.asarray(rows.column(0))[0])
        finally:
            reader.close()
    except _OF_ONE_OBJECT as error:
        raise BoundError(time, foreign(error)) from error
    return None
