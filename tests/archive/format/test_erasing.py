"""Erasing the records with a key: all others stay, offsets stay, and the gaps say why."""

from __future__ import annotations

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import TINY, seen, written, written_whole
from tests.support.logs.logs import Log, Seen, logs, read_plainly
from towpath.archive.format.either_format import read_object
from towpath.archive.format.erasing import count_key, erase
from towpath.archive.format.merging import open_input
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.model import GapKind
from towpath.model.digest import Digest
from towpath.model.nouns import SegmentFormat


@given(logs(), st.sampled_from(list(SegmentFormat)), st.data())
def test_only_records_with_the_key_are_gone(
    log: Log, kind: SegmentFormat, data: st.DataObject
) -> None:
    options = data.draw(st.sampled_from([TINY, ParquetOptions()]))
    whole = kind is SegmentFormat.BATCHES
    raw, footer = (
        written_whole(log, log.start)
        if whole
        else written(log, log.start, options=options, sizes=[1] * 7)
    )
    records, gaps = read_plainly(log, log.start, log.end)
    keys = sorted({each.record.key for each in records if each.record.key is not None})
    if not keys:
        return
    key = data.draw(st.sampled_from(keys))
    reader = read_object(kind, io.BytesIO(raw), "a")
    affected = count_key(reader, footer, key)
    gone = [each for each in records if each.record.key == key]
    assert sum(affected.values()) == len(gone)
    out = io.BytesIO()
    given_one = open_input(kind, io.BytesIO(raw), "a")
    made, size = erase(given_one, key, affected, lambda: out, options)
    left = [each for each in records if each.record.key != key]
    assert size == len(out.getvalue())
    assert made.gaps.counts().get(GapKind.ERASED) == len(gone)
    others = [gap for gap in made.gaps if gap.kind is not GapKind.ERASED]
    assert [gap for gap in gaps if gap.kind is not GapKind.ERASED] == others
    assert (made.head, made.end) == (footer.head, footer.end)
    if not left:
        assert (size, made.parts, made.digest, made.raw_bytes) == (0, (), Digest(), 0)
        return
    again = ParquetObjectReader(pa.BufferReader(out.getvalue()), "b")
    assert again.footers == (made,)
    assert seen(again.rows(made)) == left
    assert made.raw_bytes == raw_bytes(left)
    assert not count_key(again, made, key)


def raw_bytes(left: list[Seen]) -> int:
    """Return the raw bytes of records, added up one by one."""
    total = 0
    for each in left:
        record = each.record
        total += 16 + len(record.key or b"") + len(record.value or b"")
        total += sum(len(name) + len(value or b"") for name, value in record.headers)
    return total
