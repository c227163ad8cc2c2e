"""Erasure of records with a key from a segment; their offsets become gaps of kind `erased`.

Row groups without such a record are copied as they are. The others are read and written again
without it. Nothing else changes: offsets stay, and so do the other gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from towpath.archive.format.either_format import SegmentObjectReader
from towpath.archive.format.footer import SegmentFooter, SegmentPart
from towpath.archive.format.gaps import Gaps, number_of
from towpath.archive.format.merging import MergedObject
from towpath.archive.format.packing import digest_of
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.regrouping import MergedInput, RowGroupWriting, rows_of
from towpath.archive.format.schema import HEADERS, KEY, OFFSET, VALUE, to_millis
from towpath.archive.format.sink import Sink
from towpath.archive.format.wanted import Wanted
from towpath.archive.model import GapKind
from towpath.model.digest import Digest
from towpath.model.nouns import SourceOffset
from towpath.runtime.clock import now_ms

_EACH_RECORD = 16
_NO_TIME = -1


def count_key(reader: SegmentObjectReader, footer: SegmentFooter, key: bytes) -> dict[int, int]:
    """Count the records of a segment with a key, by the number of their part.

    Of a Parquet object only the column of the keys is read.

    Raises:
        CorruptSegmentError: The object is damaged.
    """
    found: dict[int, int] = {}
    for index, part in enumerate(footer.parts):
        inside = Wanted(part.first, part.last + 1)
        for rows in reader.rows(footer, inside, [KEY]):
            if count := int(pc.sum(_has(rows, key)).as_py() or 0):
                found[index] = found.get(index, 0) + count
    return found


def erase(
    given: MergedInput,
    key: bytes,
    affected: dict[int, int],
    begin: Callable[[], Sink],
    options: ParquetOptions | None = None,
) -> tuple[SegmentFooter, int]:
    """Write a copy of a segment as a Parquet object, without the records that have a key.

    Args:
        given: The segment; if it has no `source`, all of its records are written again.
        key: The key.
        affected: What `count_key` found.
        begin: Opens the object, if a record is left; the caller closes it.
        options: How row groups are written that are not copied.

    Returns:
        The footer of the segment that replaces it, and the size of the object.

    Raises:
        CorruptSegmentError: The segment is damaged.
    """
    target = MergedObject(begin, options)
    writing = RowGroupWriting(target.copy, options or ParquetOptions(), 0)
    erased: list[pa.RecordBatch] = []
    for index, part in enumerate(given.footer.parts):
        if given.source is not None and index not in affected:
            writing.copy(given.source, given.footer.first_row_group + index, part)
            continue
        rows = rows_of(given, index)
        masks = [_has(each, key) for each in rows]
        erased += [each.filter(mask) for each, mask in zip(rows, masks, strict=True)]
        left = [each.filter(pc.invert(mask)) for each, mask in zip(rows, masks, strict=True)]
        left = [each for each in left if len(each)]
        if left:
            writing.keep(_part_of(left, part), left)
    writing.write_small()
    footer = target.add(_without(given.footer, erased, writing.parts), 0)
    return footer, target.close()


def _has(rows: pa.RecordBatch, key: bytes) -> pa.Array:
    """Return which rows have a key; null is none."""
    equal = pc.equal(rows.column(KEY), pa.scalar(key, pa.binary()))
    return pc.fill_null(equal, pa.scalar(value=False))


def _part_of(rows: list[pa.RecordBatch], before: SegmentPart) -> SegmentPart:
    """Return what rows are that are left of a part."""
    times = np.concatenate([to_millis(each) for each in rows])
    times = times[times != _NO_TIME]
    return replace(
        before,
        first=SourceOffset(rows[0].column(OFFSET)[0].as_py()),
        last=SourceOffset(rows[-1].column(OFFSET)[-1].as_py()),
        digest=reduce(Digest.then, map(digest_of, rows), Digest()),
        min_time=int(times.min()) if len(times) else None,
        max_time=int(times.max()) if len(times) else None,
        aborted=(),
    )


def _without(
    footer: SegmentFooter, erased: list[pa.RecordBatch], parts: list[SegmentPart]
) -> SegmentFooter:
    offsets = np.concatenate([np.asarray(each.column(OFFSET)) for each in erased])
    kinds = np.full(len(offsets), number_of(GapKind.ERASED))
    gaps = np.concatenate([footer.gaps.table, np.stack((offsets, offsets + 1, kinds), 1)])
    return replace(
        footer,
        raw_bytes=footer.raw_bytes - sum(map(_raw_bytes, erased)),
        digest=reduce(Digest.then, (part.digest for part in parts), Digest()),
        gaps=Gaps(gaps[np.argsort(gaps[:, 0], kind="stable")]),
        parts=tuple(parts),
        first_row_group=0,
        created=now_ms(),
    )


def _raw_bytes(rows: pa.RecordBatch) -> int:
    """Return the bytes of keys, values and headers plus 16 for each record."""
    headers = rows.column(HEADERS).flatten()
    columns = [rows.column(KEY), rows.column(VALUE), headers.field(0), headers.field(1)]
    sums = (pc.sum(pc.binary_length(each)).as_py() or 0 for each in columns)
    return sum(sums) + _EACH_RECORD * len(rows)
