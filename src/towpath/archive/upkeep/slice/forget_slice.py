"""A slice of `archive forget`: finds segments with a key, and rewrites them without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pydantic import TypeAdapter

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.erasing import count_key, erase
from towpath.archive.format.footer import place_of
from towpath.archive.format.merging import input_of
from towpath.archive.format.regrouping import MergedInput
from towpath.archive.format.summed_file import SummedFile
from towpath.archive.model import GapKind, PartitionId, Segment, SegmentPlace
from towpath.archive.upkeep.slice.new_objects import OF_ONE, WRITTEN_AGAIN, NewObject, new_key
from towpath.model.errors import StoreError
from towpath.model.nouns import SegmentFormat, SourceOffset
from towpath.model.reasons import Reason
from towpath.settings import StoreConfig
from towpath.store import Store

SCHEMA = "forgotten string"
"""The rows that reach the driver, as DDL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetSlice:
    """The segments in which one task looks for a key.

    Attributes:
        store: Where the objects are, and go.
        region: The region of their keys.
        segments: The segments; each has an object.
        key: The key of the records.
        writes: Whether segments that have it are written without it; otherwise it only looks.
    """

    store: StoreConfig
    region: str
    segments: tuple[Segment, ...]
    key: bytes
    writes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """The result for a segment that has the key or cannot be read.

    Attributes:
        id: The partition.
        start: The first offset of the segment, which names it.
        records: How many records have the key.
        made: The segment that replaces it; `None` if nothing was written.
        trouble: Why the segment could not be read or replaced.
    """

    id: PartitionId
    start: SourceOffset
    records: int = 0
    made: Segment | None = None
    trouble: Reason | None = None

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _told.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> ForgetResult:
        """Parse the JSON text that `to_json` returned."""
        return _told.validate_json(text)


_told = TypeAdapter(ForgetResult)


def forget(work: ForgetSlice) -> Iterator[ForgetResult]:
    """Look for a key. Yields a result for each segment that has it or cannot be read."""
    with Store(work.store, begun=True) as store:
        stopped: StoreError | None = None
        for segment in work.segments:
            found = partial(ForgetResult, id=segment.partition_id, start=segment.start)
            if stopped is not None:
                yield found(trouble=stopped.reason)
                continue
            try:
                records, made = _forgotten(store, work, segment)
            except OF_ONE as error:
                yield found(trouble=error.reason)
            except StoreError as error:
                stopped = error
                yield found(trouble=error.reason)
            else:
                if records:
                    yield found(records=records, made=made)


def forget_rows(work: ForgetSlice) -> Iterator[pa.RecordBatch]:
    """Look for a key for Spark. Yields one row of `SCHEMA` per result of `forget`."""
    for each in forget(work):
        yield pa.RecordBatch.from_pydict({"forgotten": [each.to_json()]})


def _forgotten(store: Store, work: ForgetSlice, segment: Segment) -> tuple[int, Segment | None]:
    place = segment.place
    if place is None:
        return 0, None
    with (
        closing(store.reader(place.key)) as object_,
        closing(SummedFile(object_, place.key, place.crc)) as file,
    ):
        with file.believed_if_whole():
            reader = read_object(segment.format, file, place.key)
        footer = reader.segment(place.first_row_group)
        footer.require_holds(segment, place.key)
        affected = count_key(reader, footer, work.key)
        records = sum(affected.values())
        if not records or not work.writes:
            return records, None
        given = input_of(reader, footer, file, proven=file.proven)
        made = _written(store, work, given, affected, segment, file.require)
    _require_rest(made, segment, records, place)
    return records, made


def _written(
    store: Store,
    work: ForgetSlice,
    given: MergedInput,
    affected: dict[int, int],
    segment: Segment,
    check: Callable[[], None],
) -> Segment:
    kind = SegmentFormat.PARQUET
    place_in_region = segment.topic, segment.partition, segment.level
    span = segment.start, segment.end
    key = partial(new_key, store, work.region, place_in_region, span, kind)
    with ExitStack() as stack:
        out = NewObject(store, stack, key, segment.level)
        begin = partial(out.begin, segment.raw_bytes)
        footer, _ = erase(given, work.key, affected, begin, WRITTEN_AGAIN)
        check()
        place = out.close([footer], kind)
    return footer.segment(kind, place_of(footer, kind, place))


def _require_rest(made: Segment, before: Segment, records: int, place: SegmentPlace) -> None:
    """Make sure that only the records with the key are gone.

    Raises:
        CorruptSegmentError: Others are, too.
    """
    erased = made.gaps.get(GapKind.ERASED) - before.gaps.get(GapKind.ERASED)
    if (erased, before.records - made.records) != (records, records) or made.problem:
        raise CorruptSegmentError(
            place.key,
            f"{before.records - made.records} records would be erased, and {records} have the key"
            f" {made.problem or ''}",
        )
