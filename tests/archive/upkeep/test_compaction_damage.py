"""Inputs that have changed anywhere: nothing is made of them, so that they can still be mended."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.archive.archives import WRITER
from tests.support.archive.compacting import compacted
from tests.support.archive.forgetting import forgotten
from tests.support.archive.mixed import MixedArchive, partition
from tests.support.archive.stored import old_records
from towpath.archive.format.footer import VERSION
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.log.entries import Draft
from towpath.archive.model import Segment
from towpath.archive.read.verify.content import CheckSlice, check
from towpath.model.nouns import SegmentFormat
from towpath.wire.plain import Record

pytestmark = pytest.mark.slow

RECORDS, FLIPS = 18, 24
LARGE = 1 << 20
"""Bytes of a value: 16 of them make a row group that is copied as it is."""

Made = Callable[[MixedArchive], Segment]


def large(count: int) -> list[Record]:
    return [Record(b"k%d" % n, bytes(LARGE), (), 1_700_000_000_000 + n, n) for n in range(count)]


def copied(archive: MixedArchive) -> Segment:
    """Archive two segments, whose row groups are copied. Returns the first one."""
    records = large(2 * RECORDS)
    first = archive.own(records, 0, RECORDS, options=ParquetOptions())
    archive.own(records, RECORDS, 2 * RECORDS, options=ParquetOptions())
    return first


def read(archive: MixedArchive) -> Segment:
    """Archive two segments, whose records are read. Returns the first one."""
    records = old_records(40)
    first = archive.own(records, 0, 20)
    archive.own(records, 20, 40)
    return first


def whole_batches(archive: MixedArchive) -> Segment:
    """Archive two segments of whole batches. Returns the first one."""
    records = old_records(40)
    first = archive.own(records, 0, 20, kind=SegmentFormat.BATCHES)
    archive.own(records, 20, 40, kind=SegmentFormat.BATCHES)
    return first


def shared(archive: MixedArchive) -> Segment:
    """Archive two segments that share objects with others. Returns the first one."""
    records = old_records(40)
    first, _ = archive.shared([(records, 0, 20, 0), (records, 0, 20, 1)])
    archive.shared([(records, 20, 40, 0), (records, 20, 40, 1)])
    return first


def flip(archive: MixedArchive, segment: Segment, at: int, bit: int) -> Callable[[], None]:
    """Change a bit of a segment's object; return what changes it back."""
    assert segment.place is not None
    path = archive.folder / "store" / segment.place.key
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[at % len(whole)] ^= 1 << bit
    path.write_bytes(changed)

    def back() -> None:
        path.write_bytes(whole)

    return back


@pytest.mark.parametrize("make", [copied, read, whole_batches, shared])
def test_nothing_is_made_of_an_object_with_a_changed_bit(
    tmp_path: Path, rng: random.Random, make: Made
) -> None:
    archive = MixedArchive(tmp_path)
    config = archive.config(format="batches" if make is whole_batches else "parquet")
    segment = make(archive)
    for _ in range(FLIPS):
        at, bit = -rng.randint(1, segment.place.size if segment.place else 0), rng.randrange(8)
        back = flip(archive, segment, at, bit)
        done = compacted(config)
        assert "is damaged" in done.failed.get("orders-0", ""), (at, bit)
        assert done.damaged >= 1
        assert len(archive.log.state.segments(partition())) == 2
        back()
    done = compacted(config)
    assert done.failed == {}
    (merged,) = archive.log.state.segments(partition())
    (told,) = check(CheckSlice(store=config.store, segments=(merged,)))
    assert told.problems == ()


@pytest.mark.parametrize("make", [read, whole_batches])
def test_a_changed_bit_of_the_version_is_damage_and_no_newer_version(
    tmp_path: Path, make: Made
) -> None:
    """Not even the version is believed of an object whose checksum is another one."""
    archive = MixedArchive(tmp_path)
    config = archive.config(format="batches" if make is whole_batches else "parquet")
    segment = make(archive)
    assert segment.place is not None
    whole = (archive.folder / "store" / segment.place.key).read_bytes()
    text = b'"format":%d' if make is whole_batches else b"towpath.format\x18\x01%d"
    at = whole.rindex(text % VERSION) + len(text % VERSION) - 1
    back = flip(archive, segment, at, 2)
    done = compacted(config)
    assert "is damaged" in done.failed["orders-0"]
    assert done.damaged >= 1
    if make is read:
        (why,) = forgotten(config, b"k1").failed.values()
        assert "is damaged" in why
    (told,) = check(CheckSlice(store=config.store, segments=(segment,)))
    assert {each.code for each in told.problems} == {"CORRUPT_SEGMENT"}
    back()


def test_nothing_is_forgotten_of_an_object_with_a_changed_bit(
    tmp_path: Path, rng: random.Random
) -> None:
    archive = MixedArchive(tmp_path)
    config = archive.config()
    segment = copied(archive)
    for _ in range(FLIPS // 4):
        at, bit = -rng.randint(1, 2_000), rng.randrange(8)
        back = flip(archive, segment, at, bit)
        done = forgotten(config, b"k1")
        assert (done.erased, len(done.failed)) == (0, 1), (at, bit)
        back()
    assert forgotten(config, b"k1").erased == 1


def unsummed(archive: MixedArchive) -> Segment:
    """Archive two segments whose checksums the commit log does not have, as in older archives."""
    records = large(2 * RECORDS)
    made = [
        archive.own(records, at, at + RECORDS, options=ParquetOptions(), commit=False)
        for at in (0, RECORDS)
    ]
    places = [replace(each.place, crc=None) for each in made if each.place is not None]
    old = [replace(each, place=place) for each, place in zip(made, places, strict=True)]
    archive.log.append(Draft(writer=WRITER, add=tuple(old)))
    return old[0]


@pytest.mark.parametrize("key", [None, b"k1"])
def test_nothing_unproven_comes_along_where_the_log_has_no_checksum(
    tmp_path: Path, key: bytes | None
) -> None:
    """Statistics that have changed would hide records; so they are made anew from the records."""
    archive = MixedArchive(tmp_path)
    config = archive.config()
    segment = unsummed(archive)
    assert segment.place is not None
    whole = (archive.folder / "store" / segment.place.key).read_bytes()
    last = (RECORDS - 1).to_bytes(8, "little")
    flip(archive, segment, whole.rindex(b"\x08" + last) + 1, 0)
    done = compacted(config) if key is None else forgotten(config, key)
    assert not done.failed
    merged = archive.log.state.segments(partition())[0]
    assert merged.place is not None
    assert merged.place.crc is not None
    file = pq.ParquetFile(archive.folder / "store" / merged.place.key)
    found = [
        max(file.read_row_group(number).column("offset").to_pylist())
        for number in range(file.num_row_groups)
    ]
    column = file.schema.names.index("offset")
    told = [
        file.metadata.row_group(number).column(column).statistics.max
        for number in range(file.num_row_groups)
    ]
    assert told == found
