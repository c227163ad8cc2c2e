"""A bit that has changed anywhere in an object is told as damage, or changes no record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import TINY, seen, written, written_whole
from tests.support.logs.batches import batch, numbered
from tests.support.logs.logs import Log
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.format.either_format import read_object
from towpath.archive.format.footer import SegmentFooter
from towpath.archive.format.schema import ARCHIVED
from towpath.archive.model import SegmentPlace
from towpath.archive.read.feed.encoding import encoded
from towpath.model.nouns import SegmentFormat
from towpath.wire.codec import LZ4
from towpath.wire.plain import Record

_RECORDS = numbered(
    [
        Record(
            b"k%d" % (n % 5),
            None if n % 7 == 0 else b"value %d " % n * 3,
            ((b"h", b"%d" % n), (b"h", None)) if n % 3 else (),
            1_700_000_000_000 + n,
        )
        for n in range(40)
    ]
)
NAME = "data/orders/0.parquet"
_LOG = Log(tuple(bytes(batch(_RECORDS[at : at + 10], 4)) for at in range(0, 40, 10)))


@cache
def _object(kind: SegmentFormat) -> tuple[bytes, SegmentFooter]:
    if kind is SegmentFormat.PARQUET:
        return written(_LOG, options=TINY, sizes=[1] * 4)
    return written_whole(_LOG, sizes=[1] * 4)


def _read(kind: SegmentFormat, data: bytes, footer: SegmentFooter) -> Sequence[object]:
    """Return the records of an object, as a restore reads those that the commit log names."""
    reader = read_object(kind, pa.BufferReader(data), NAME)
    found = reader.segment(0)
    place = SegmentPlace(key=NAME, size=len(data))
    found.require_holds(footer.segment(kind, place), reader.name)
    rows = list(reader.rows(found))
    for each in rows:
        encoded(each, LZ4)
    # Ids of columns are for catalogs; a changed one changes no record.
    return seen(each.cast(ARCHIVED) for each in rows)


@pytest.mark.parametrize("kind", list(SegmentFormat))
@given(st.data())
def test_a_changed_bit_is_told_with_the_object_or_changes_nothing(
    kind: SegmentFormat, data: st.DataObject
) -> None:
    raw, _ = _object(kind)
    at = data.draw(st.integers(0, len(raw) - 1))
    flipped = bytearray(raw)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    _require_told(kind, bytes(flipped))


@pytest.mark.parametrize("kind", list(SegmentFormat))
def test_a_name_of_a_column_that_is_no_text_is_told(kind: SegmentFormat) -> None:
    raw, _ = _object(kind)
    at = raw.index(b"leader_epoch" if kind is SegmentFormat.PARQUET else b"topic_id")
    flipped = bytearray(raw)
    flipped[at] ^= 0x80
    with pytest.raises(CorruptSegmentError, match=f"{re.escape(NAME)} is damaged"):
        _read(kind, bytes(flipped), _object(kind)[1])


@pytest.mark.soak
@pytest.mark.parametrize("kind", list(SegmentFormat))
@pytest.mark.timeout(3600)
def test_each_bit_of_an_object(kind: SegmentFormat) -> None:
    raw, _ = _object(kind)
    for at in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            _require_told(kind, bytes(flipped))


def _require_told(kind: SegmentFormat, damaged: bytes) -> None:
    raw, footer = _object(kind)
    told = ""
    try:
        found = _read(kind, damaged, footer)
    except (CorruptSegmentError, NewerSegmentError) as error:
        found, told = (), str(error)
    assert NAME in told or found == _read(kind, raw, footer)
