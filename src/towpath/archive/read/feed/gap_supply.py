"""The supply of records that the source deleted, for one partition of a mirror."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

import numpy as np

from towpath.archive.errors import WithheldError
from towpath.archive.format.either_format import read_object
from towpath.archive.log import Archive, CommitLog, newest_history
from towpath.archive.log.state import ArchivedTo
from towpath.archive.model import GapKind, OffsetGap, PartitionId, Segment
from towpath.archive.read.feed.forks import forked_at
from towpath.archive.read.feed.logged_archive import LoggedArchive
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.archive.read.feed.segment_supply import SegmentSupply
from towpath.archive.read.feed.supply import Chunks
from towpath.model.errors import TowpathError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.model.reasons import Reason, ReasonCode
from towpath.store import Store
from towpath.wire.batch import POSITION, scan
from towpath.wire.packing import Packed

_WEIGHT = 32 << 20
"""Approximate bytes of memory that reading takes while the archive is not open yet."""
_EPOCH, _UNKNOWN = 12, b"\xff" * 4
"""Where the leader epoch stands in a batch, and that it is -1."""
LOSSES = (GapKind.RETENTION, GapKind.FILTERED, GapKind.ERASED, GapKind.LOST)
"""Gaps of an archive where the source had records that the mirror does not get."""


class FilledFrom:
    """An archive that is opened when the first record is missing. Threads may share it.

    Args:
        store: The store.
        region: The region whose archive is read.
    """

    def __init__(self, store: Store, region: str) -> None:
        self._store, self._region = store, region
        self._lock = Lock()
        self._log: CommitLog | None = None

    def newest(self) -> tuple[CommitLog, LoggedArchive]:
        """Return the refreshed commit log and its archive. Blocking.

        Raises:
            CommitLogError: The commit log of the archive is of no use.
            StoreError: The store could not be read.
        """
        with self._lock:
            if self._log is None:
                self._log = CommitLog.open(self._store, self._region)
            else:
                self._log.follow()
            return self._log, LoggedArchive(self._store, self._log)


@dataclass(frozen=True, slots=True)
class Taken:
    """Offsets [first, end) that are taken from an archive, and the losses among them."""

    first: SourceOffset
    end: SourceOffset
    losses: tuple[OffsetGap, ...]


class GapSupply:
    """Supplies the archived records that the source has deleted; implements `Supply`.

    Args:
        archive: The archive.
        wanted: What the source has deleted.
        threads: Open objects ahead.
        tell: Gets what is taken, before it is read. Another thread calls it.
        epoch: Leader epoch of the record before the first one that is wanted, -1 if unknown.
    """

    def __init__(
        self,
        archive: FilledFrom,
        wanted: ArchivedRange,
        threads: ThreadPoolExecutor,
        tell: Callable[[Taken], None],
        epoch: int = -1,
    ) -> None:
        self._archive, self._wanted, self._threads = archive, wanted, threads
        self._tell, self._epoch = tell, epoch

    @property
    def weight(self) -> int:
        """Approximate bytes of memory that reading takes, without the chunks already yielded."""
        return _WEIGHT

    def read(self, first: SourceOffset) -> Chunks:
        """Yield the batches from offset `first` on; every failure is retried later.

        Raises:
            WithheldError: The archive does not have what is wanted, or does not give it now; or
                what was copied before is of a log that was cut (`SOURCE_CUT`).
        """
        try:
            yield from self._read(first)
        except WithheldError:
            raise
        except TowpathError as error:
            raise WithheldError(first, self._wanted.end, error.reason) from error

    def _read(self, first: SourceOffset) -> Chunks:
        log, archive = self._archive.newest()
        wanted = self._wanted
        known = Archive(log)
        newest = newest_history(log.state.partitions, wanted.partition)
        if first == wanted.start:
            _require_same_log(known, newest, first, self._epoch)
        end = archived_until(known.place(newest), first, wanted.end)
        part = ArchivedRange(
            partition=newest,
            start=first,
            end=end,
            codec=wanted.codec,
            batch_bytes=wanted.batch_bytes,
        )
        losses = tuple(
            loss
            for segment, low, high in known.pieces(newest, first, end)
            for loss in _losses(archive, segment, low, high)
        )
        self._tell(Taken(first, end, losses))
        for chunk in SegmentSupply(archive, part, self._threads).read(first):
            _forget_epochs(chunk.data)
            yield chunk


def _require_same_log(known: Archive, newest: PartitionId, first: SourceOffset, epoch: int) -> None:
    """Raise where what was copied up to an offset is not what the archive has there now."""
    fork = forked_at(known, newest, first, epoch)
    if fork is not None:
        why = Reason.of(ReasonCode.SOURCE_CUT, end=fork)
        raise WithheldError(fork, first, why, is_final=True)


def _forget_epochs(data: Packed) -> None:
    """Let batches say that their leader epoch is unknown; the checksum does not cover it.

    A source that is fetched from with an epoch that its log does not know any more, or never knew,
    answers that the offset is out of range.
    """
    table = scan(np.frombuffer(data, np.uint8), 0, len(data)) if data else ()
    for row in table:
        data[row[POSITION] + _EPOCH : row[POSITION] + _EPOCH + len(_UNKNOWN)] = _UNKNOWN


def archived_until(
    place: ArchivedTo | None, first: SourceOffset, end: SourceOffset
) -> SourceOffset:
    """Return the end of the archived offsets that follow `first`, at most `end`.

    Args:
        place: How far the archive has the partition, `None` if it does not know it.
        first: The first offset that is wanted.
        end: The offset behind the last one.

    Raises:
        WithheldError: The archive does not have the first offset.
    """
    if place is None:
        why = Reason.of(ReasonCode.ARCHIVE_WITHOUT_TOPIC)
        raise WithheldError(first, end, why, is_final=True)
    if first < place.begin:
        why = Reason.of(ReasonCode.ARCHIVE_BEGINS, begin=place.begin)
        raise WithheldError(first, min(end, place.begin), why, is_final=True)
    if first >= place.archived_to:
        why = Reason.of(ReasonCode.ARCHIVE_ENDS, end=place.archived_to)
        raise WithheldError(first, end, why)
    return min(end, place.archived_to)


def _losses(
    archive: LoggedArchive, segment: Segment, first: SourceOffset, end: SourceOffset
) -> Iterator[OffsetGap]:
    """Yield the offsets in [first, end) whose records the archive does not have, for good."""
    kinds = [kind for kind in LOSSES if segment.gaps.get(kind)]
    if not kinds:
        return
    if segment.place is None:  # its gaps are known by number only
        kind = max(kinds, key=segment.gaps.get)
        found = [OffsetGap(segment.start, segment.end, kind)]
    else:
        found = _listed(archive, segment, segment.format, segment.place.key)
    yield from (gap for gap in found if gap.kind in LOSSES and gap.end > first and gap.first < end)


def _listed(
    archive: LoggedArchive, segment: Segment, kind: SegmentFormat, key: str
) -> list[OffsetGap]:
    """Return all gaps of a segment, as its object lists them."""
    assert segment.place is not None  # noqa: S101  # by the caller
    reader = read_object(kind, archive.open(key), key)
    try:
        return [*reader.segment(segment.place.first_row_group).gaps]
    finally:
        reader.close()
