"""New objects that replace segments: their keys, and writing them to the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.sink import Sink
from towpath.archive.keys import segment_key, unique
from towpath.archive.model import SegmentPlace
from towpath.archive.upkeep.slice.merge_inputs import require_written
from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
)
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicName
from towpath.store import Store
from towpath.store.writer import ObjectWriter

WRITTEN_AGAIN = ParquetOptions(level=3)
"""How small row groups are written again: once for years, so that a denser codec pays."""
OF_ONE = (
    CorruptSegmentError,
    NewerSegmentError,
    ObjectChangedError,
    ObjectColdError,
    ObjectExistsError,
    ObjectMissingError,
)
"""What is wrong with one object; any other error of a store is one of all work."""


def new_key(
    store: Store,
    region: str,
    place: tuple[TopicName, int, int],
    span: tuple[SourceOffset, SourceOffset],
    kind: SegmentFormat,
) -> str:
    """Return a key that no object has ever had.

    There may be no object with the plain key now, and yet somebody be about to delete it: a process
    that stands still since it found the object of a dead writer, or one that was replaced.

    Args:
        store: The store.
        region: The region.
        place: Topic, partition and level.
        span: First offset and end of the range.
        kind: The format.
    """
    return segment_key(
        region, *place, *span, suffix=kind, attempt=unique(), spread=store.config.spread
    )


class NewObject:
    """A new object, opened when its first record arrives.

    Args:
        store: The store.
        stack: Aborts the object if an error leaves it.
        key: Returns its key.
        level: The level of its segments.
    """

    def __init__(self, store: Store, stack: ExitStack, key: Callable[[], str], level: int) -> None:
        self._store, self._stack, self._key = store, stack, key
        self._class = store.config.class_of(level)
        self._writer: ObjectWriter | None = None

    def begin(self, expected: int) -> Sink:
        """Open the object for writing.

        Args:
            expected: Most bytes that it may have; 0 if that is not known.
        """
        writer = self._store.writer(self._key(), self._class, expected=expected, lock=True)
        self._writer = self._stack.enter_context(writer)
        return writer

    def close(self, footers: Sequence[SegmentFooter], kind: SegmentFormat) -> SegmentPlace | None:
        """Finish the object and verify its footer; `None` if there is no record.

        Raises:
            CorruptSegmentError: It does not say what was written.
            StoreError: It could not be written.
        """
        if self._writer is None:
            return None
        made = self._writer.close()
        place = SegmentPlace(key=made.key, size=made.size, storage_class=self._class, crc=made.crc)
        full = [each for each in footers if each.parts]
        require_written(self._store, kind, place, full)
        return place
