"""A verification slice: reads objects, and compares them with the commit log.

The bytes of an object are compared with the checksum in the commit log, its row groups with the
hashes in its footer, its footer with the commit log, and its records with the digest and the gaps.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.damage import BY_DAMAGE
from towpath.archive.format.either_format import SegmentObjectReader, read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.packing import digest_of
from towpath.archive.format.row_groups import MAGIC
from towpath.archive.format.schema import OFFSET
from towpath.archive.model import STREAMING, PartitionId, Segment
from towpath.archive.read.verify.findings import (
    DIFFERENT,
    ArchiveProblem,
    CheckedObject,
    CheckedSegment,
)
from towpath.archive.read.verify.needed_objects import NeededObject
from towpath.archive.read.verify.source_records import Compare, ComparedSource
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.cursor import Reader
from towpath.model.digest import Digest
from towpath.model.errors import (
    ObjectChangedError,
    ObjectColdError,
    ObjectMissingError,
    TowpathError,
)
from towpath.model.nouns import SegmentFormat, Side, TopicName
from towpath.settings import ClusterConfig, StoreConfig
from towpath.store import Store, StoredObject

SCHEMA = "checked string"
_FETCH_BYTES = 8 << 20
_AT_ONCE = 128 << 20
"""Bytes of an object that is read at once; a larger one is read twice, piece by piece."""
_PIECE = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSlice:
    """The segments that one task verifies.

    Attributes:
        store: Where the objects are.
        segments: The segments; those that share an object follow each other.
        source: The source to compare with, `None` for none.
        compacted: Topics whose logs the source compacts.
        over: Up to where histories count which another one has followed.
    """

    store: StoreConfig
    segments: tuple[Segment, ...]
    source: ClusterConfig | None = None
    compacted: frozenset[TopicName] = frozenset()
    over: Mapping[PartitionId, int] = field(default_factory=dict)


def check_rows(work: CheckSlice) -> Iterator[pa.RecordBatch]:
    """Verify the segments of a slice for Spark. Yields one row of `SCHEMA` per object."""
    for each in check(work):
        yield pa.RecordBatch.from_pydict({"checked": [each.to_json()]})


def check(work: CheckSlice) -> Iterator[CheckedObject]:
    """Verify the segments of a slice. Yields the result for each object.

    Raises:
        ClusterError: The source refused access.
        StoreError: The store cannot be read.
    """
    with ExitStack() as stack:
        store = stack.enter_context(Store(work.store, begun=True))
        compare = None
        if work.source is not None:
            admin = stack.enter_context(Admin(work.source, Side.SOURCE))
            client = stack.enter_context(Client(work.source, Side.SOURCE, admin))
            reader = Reader(Side.SOURCE, client, admin, _FETCH_BYTES, work.source.request_timeout)
            compare = ComparedSource(reader, work.compacted, work.over).compare
        for some in _by_object(work.segments):
            yield _Object(store, some, compare).checked()


def prove(store: Store, segments: Sequence[Segment]) -> tuple[int, str]:
    """Verify an orphaned object against its own footers.

    Args:
        store: The store.
        segments: The segments that its footers tell of, and that have records.

    Returns:
        The CRC-32 of its bytes, and what is wrong with it, "" if nothing is.

    Raises:
        CorruptSegmentError: The store has noted other bytes.
        StoreError: It cannot be read.
    """
    place = segments[0].place
    assert place is not None  # noqa: S101  # they have records
    noted, read = store.head(place.key).crc, _opened(store, place.key)[0].crc or 0
    if noted not in {None, read}:
        text = f"its bytes have the CRC-32 {read:08x}, and the store has noted {noted:08x}"
        raise CorruptSegmentError(place.key, text)
    summed = [
        replace(each, place=each.place and replace(each.place, crc=read)) for each in segments
    ]
    problems = _Object(store, summed, None).checked().problems
    return read, "; ".join(each.why for each in problems)


def _by_object(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    held: list[Segment] = []
    for each in segments:
        alike = held and each.place and held[0].place and each.place.key == held[0].place.key
        if held and not alike:
            yield held
            held = []
        held.append(each)
    if held:
        yield held


class _Object:
    """An object that is verified, with the segments that the commit log says it has."""

    def __init__(self, store: Store, segments: list[Segment], compare: Compare | None) -> None:
        self._store, self._segments, self._compare = store, segments, compare
        place = segments[0].place
        self._needed = NeededObject(place.key, place.size, place.crc) if place else None
        self._problems: list[ArchiveProblem] = []
        self._read = 0

    def checked(self) -> CheckedObject:
        """Verify the object; a bad segment does not stop the verification of the others."""
        needed = self._needed
        if needed is None:
            found = [self._segment(each, None) for each in self._segments]
        else:
            try:
                found = self._whole(needed)
            except (ObjectMissingError, ObjectChangedError, ObjectColdError) as error:
                found = []
                self._problems.append(
                    ArchiveProblem(code=error.code, about=needed.key, why=str(error))
                )
        return CheckedObject(
            bytes=self._read,
            unsummed=needed is not None and needed.crc is None,
            segments=tuple(found),
            problems=tuple(self._problems),
        )

    def _whole(self, needed: NeededObject) -> list[CheckedSegment]:
        stored, source = _opened(self._store, needed.key)
        self._read = stored.size
        wrong = needed.problem(stored)
        if wrong is not None and stored.size != needed.size:
            self._problems.append(wrong)
            return []
        found = list[CheckedSegment]()
        try:
            file = read_object(self._segments[0].format, source, needed.key)
            if needed.crc is None and self._segments[0].format is SegmentFormat.PARQUET:
                self._require_magic(source)
            try:
                found = [self._segment(each, file) for each in self._segments]
            finally:
                file.close()
        except CorruptSegmentError as error:
            self._wrong(error)
        except NewerSegmentError as error:
            if wrong is None:
                self._wrong(error)
            else:
                self._problems.append(wrong)  # one changed bit makes another version
        except BY_DAMAGE:
            if wrong is None:
                raise
            self._problems.append(wrong)
        if wrong is not None and not self._problems:
            text = "; all records are whole, so its footer, an index or unused bytes have changed"
            self._problems.append(replace(wrong, why=wrong.why + text))
        return found

    def _require_magic(self, source: Any) -> None:
        """Look at the first bytes, which some readers want and pyarrow does not look at."""
        source.seek(0)
        if source.read(len(MAGIC)) != MAGIC:
            self._wrong(CorruptSegmentError(self._key, "it does not begin as a Parquet file does"))

    @property
    def _key(self) -> str:
        return self._needed.key if self._needed is not None else ""

    def _segment(self, segment: Segment, file: SegmentObjectReader | None) -> CheckedSegment:
        made = CheckedSegment(id=segment.partition_id)
        try:
            footer = None
            if file is not None and segment.place is not None:
                footer = file.segment(segment.place.first_row_group)
                _require_same(file.name, segment, footer)
                file.check(footer)
                made = replace(made, records=records_of(file, segment, footer))
            if self._compare is None:
                return made
            told = self._compare(segment, file, footer)
        except CorruptSegmentError as error:
            self._wrong(error)
            return made
        if told.problem:
            about = f"{segment.topic}-{segment.partition}"
            self._problems.append(ArchiveProblem(code=DIFFERENT, about=about, why=told.problem))
        return replace(made, compared=told.compared, gone=told.gone, uncompared=told.uncompared)

    def _wrong(self, error: TowpathError) -> None:
        why = error.why if isinstance(error, CorruptSegmentError) else str(error)
        self._problems.append(ArchiveProblem(code=error.code, about=self._key, why=why))


def _opened(store: Store, key: str) -> tuple[StoredObject, Any]:
    """Return an object with the CRC-32 of the bytes that were read, and a file to read it from."""
    found = store.head(key)
    if found.size <= _AT_ONCE:
        data = store.get_whole(key)
        crc = zlib.crc32(data)
        return replace(found, size=len(data), crc=crc), pa.BufferReader(pa.py_buffer(data))
    crc = 0
    for at in range(0, found.size, _PIECE):
        crc = zlib.crc32(store.read(key, at, min(at + _PIECE, found.size), found.tag)[1], crc)
    return replace(found, crc=crc), store.reader(key)


def _require_same(name: str, segment: Segment, footer: SegmentFooter) -> None:
    """Compare a footer with the commit log.

    Raises:
        CorruptSegmentError: It says something else.
    """
    said = footer.segment(segment.format, segment.place)
    for each in fields(Segment):
        one, other = getattr(said, each.name), getattr(segment, each.name)
        # What was merged, and then taken in again without its entry, counts as from Kafka.
        recovered = each.name == "level" and other == STREAMING < one
        if one != other and not recovered:
            text = f"its footer says {each.name} {one}, and the commit log {other}"
            raise CorruptSegmentError(name, f"{text}; is it another segment's object?")
    place = segment.place
    if segment.format is SegmentFormat.PARQUET and place and place.row_groups != len(footer.parts):
        text = f"its footer has {len(footer.parts)} row groups of the segment, and the commit log"
        raise CorruptSegmentError(name, f"{text} {place.row_groups}")


def records_of(file: SegmentObjectReader, segment: Segment, footer: SegmentFooter) -> int:
    """Read and verify all records of a segment; return their number.

    Raises:
        CorruptSegmentError: They are not those of the commit log, or not at their offsets.
    """
    digest, expected = Digest(), int(segment.start)
    for rows in file.rows(footer):
        digest = digest.then(digest_of(rows))
        expected = _require_offsets(file.name, segment, footer, np.asarray(rows[OFFSET]), expected)
    if digest != segment.digest:
        text = f"its {digest.records} records have the digest {digest.ordered:016x}, and the commit"
        told = f"log says {segment.digest.records} with {segment.digest.ordered:016x}"
        raise CorruptSegmentError(file.name, f"{text} {told}")
    return digest.records


def _require_offsets(
    name: str, segment: Segment, footer: SegmentFooter, offsets: Any, expected: int
) -> int:
    """Check that offsets ascend in the range, in no gap. Returns the lowest one that may follow.

    As there are as many records and gaps as offsets, both cover the range exactly then.
    """
    steps = np.diff(offsets, prepend=expected - 1)
    gaps = footer.gaps.table
    at = np.searchsorted(gaps[:, 0], offsets, "right") - 1
    inside = (at >= 0) & (offsets < gaps[at, 1]) if len(gaps) else np.zeros(len(offsets), np.bool_)
    wrong = (steps <= 0) | inside | (offsets >= segment.end)
    if wrong.any():
        found = int(offsets[wrong][0])
        text = f"it has a record at offset {found}, where its footer has a gap or another record"
        raise CorruptSegmentError(name, text)
    return int(offsets[-1]) + 1 if len(offsets) else expected
