"""`archive verify --deep` finds a changed bit in each region of an object, and says what it cannot
prove where the commit log of an older Towpath has no checksum."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archive.archives import WRITER
from tests.support.archive.mixed import MixedArchive
from tests.support.archive.stored import old_records
from towpath.archive.format.either_format import read_object
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.row_groups import (
    _BLOOM,
    _COLUMN_INDEX,
    _COLUMNS,
    _META,
    _OFFSET_INDEX,
    RowGroupSource,
)
from towpath.archive.log.entries import Draft
from towpath.archive.model import Segment
from towpath.archive.read.verify.content import CheckSlice, check
from towpath.archive.read.verify.findings import CheckedArchive, VerifyScope
from towpath.archive.show.verification import _unsummed
from towpath.model.nouns import SegmentFormat

PARQUET, BATCHES = SegmentFormat.PARQUET, SegmentFormat.BATCHES
UNPROVEN = frozenset(
    {
        "Bloom filter",
        "column index",
        "offset index",
        "footer",
        "its values",
        "length of the footer",  # one that takes in a blank before it changes nothing
    }
)
"""Regions without any hash but the checksum of the whole object."""


def regions(kind: SegmentFormat, data: bytes) -> Mapping[str, tuple[int, int]]:
    """Return where the regions of an object begin and end."""
    size = len(data)
    footer = read_object(kind, io.BytesIO(data), "o").footers[0]
    first, last = footer.parts[0], footer.parts[-1]
    head = {"page header": (first.at, first.at + 8), "page data": (first.at + 60, first.at + 90)}
    half = 8 if kind is BATCHES else 4
    end = size - 2 * half
    tail = {"length of the footer": (end, end + half), "magic at the end": (end + half, size)}
    if kind is BATCHES:
        names = {"batch header": head["page header"], "records": head["page data"]}
        return {**names, "footer": (last.at + last.size, end), **tail}
    source = RowGroupSource(io.BytesIO(data), "o")
    chunk = source.groups[0].get(_COLUMNS).values[0]
    meta = chunk.get(_META)
    found = {"magic": (0, 4), **head, **tail}
    for name, holder, field in (
        ("Bloom filter", meta, _BLOOM),
        ("column index", chunk, _COLUMN_INDEX),
        ("offset index", chunk, _OFFSET_INDEX),
    ):
        if (at := holder.get(field)) is not None:
            found[name] = at, at + holder.get(field + 1)
    length = int.from_bytes(data[-8:-4], "little")
    found["footer"] = end - length, end
    at = data.rindex(b"parquet-cpp")
    found["its values"] = at, at + 11
    return found


def archived(folder: Path, kind: SegmentFormat, *, summed: bool) -> tuple[MixedArchive, Segment]:
    archive = MixedArchive(folder)
    options = ParquetOptions(bloom=True)
    made = archive.own(old_records(200), 0, 200, kind=kind, options=options, commit=False)
    assert made.place is not None
    if not summed:
        made = replace(made, place=replace(made.place, crc=None))
    archive.log.append(Draft(writer=WRITER, add=(made,)))
    return archive, made


@pytest.mark.parametrize("summed", [True, False])
@pytest.mark.parametrize("kind", [PARQUET, BATCHES])
def test_a_changed_bit_is_found_in_each_region(
    tmp_path: Path, kind: SegmentFormat, summed: bool
) -> None:
    archive, made = archived(tmp_path, kind, summed=summed)
    assert made.place is not None
    path = archive.folder / "store" / made.place.key
    path.chmod(0o644)
    whole = path.read_bytes()
    work = CheckSlice(store=archive.config().store, segments=(made,))
    (right,) = check(work)
    assert (right.problems, right.unsummed) == ((), not summed)
    missed = set[str]()
    for name, (first, end) in regions(kind, whole).items():
        assert 0 <= first < end <= len(whole), name
        for at in sorted({first, (first + end) // 2, end - 1}):
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            path.write_bytes(changed)
            (found,) = check(work)
            if found.problems:
                (problem,) = found.problems
                assert (problem.code, problem.about) == ("CORRUPT_SEGMENT", made.place.key)
            else:
                missed.add(name)
    assert missed <= (frozenset() if summed else UNPROVEN)


def test_what_is_not_proven_is_said() -> None:
    found = CheckedArchive(where="s3://b", scope=VerifyScope(deep=True), unsummed=2)
    assert _unsummed(found).startswith("of 2 objects the checksum is not told, as the commit log")
    assert "`towpath archive compact --now` writes them again" in _unsummed(found)
    assert "(--deep computes it)" in _unsummed(replace(found, scope=VerifyScope()))
