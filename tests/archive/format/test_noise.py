"""Columns that a codec would not make smaller are not compressed; all of them are read alike."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.archive.segments import seen, written
from tests.support.logs.batches import batch, numbered
from tests.support.logs.logs import Log, read_plainly
from towpath.archive.format.merging import merge, open_input
from towpath.archive.format.packing import pack_rows
from towpath.archive.format.parquet_reader import ParquetObjectReader
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.read.feed.encoding import chunks
from towpath.model.nouns import SegmentFormat
from towpath.wire.plain import Record

RANDOM = random.Random(16)
NOISE = [RANDOM.randbytes(900) for _ in range(80)]
TEXT = [
    json.dumps({"order": n, "state": "paid", "note": "as ever " * 90}).encode() for n in range(80)
]
KEYS = [b"key-%06d" % n for n in range(80)]


def log_of(keys: Sequence[bytes | None], values: Sequence[bytes | None], first: int = 0) -> Log:
    pairs = zip(keys, values, strict=True)
    records = numbered([Record(key, value, (), 5) for key, value in pairs], first)
    return Log((bytes(batch(records)),))


def codecs_of(raw: bytes, group: int = 0) -> list[str]:
    found = pq.ParquetFile(io.BytesIO(raw)).metadata.row_group(group)
    names = {found.column(at).path_in_schema: found.column(at).compression for at in range(11)}
    return [names.pop("key"), names.pop("value"), *sorted(set(names.values()))]


@pytest.mark.parametrize(
    ("keys", "values", "codecs"),
    [
        (KEYS, NOISE, ["ZSTD", "UNCOMPRESSED", "ZSTD"]),
        (KEYS, TEXT, ["ZSTD", "ZSTD", "ZSTD"]),
        (NOISE, TEXT, ["UNCOMPRESSED", "ZSTD", "ZSTD"]),
        (NOISE, [*NOISE[:78], None, b""], ["UNCOMPRESSED", "UNCOMPRESSED", "ZSTD"]),
        (KEYS, [None] * 80, ["ZSTD", "ZSTD", "ZSTD"]),
        (KEYS[:3], NOISE[:3], ["ZSTD", "ZSTD", "ZSTD"]),
    ],
    ids=["values", "text", "keys", "both", "nulls", "few"],
)
def test_noise_alone_is_not_compressed(
    keys: list[bytes | None], values: list[bytes | None], codecs: list[str]
) -> None:
    log = log_of(keys, values)
    raw, footer = written(log, options=ParquetOptions())
    assert codecs_of(raw) == codecs
    records, _ = read_plainly(log, log.start, log.end)
    reader = ParquetObjectReader(pa.BufferReader(raw), "a")
    rows = list(reader.rows(footer))
    assert seen(rows) == records
    # Both ways of a restore: from the pages, and from Arrow's arrays.
    pages = b"".join(each.data for each in chunks(reader.columns(footer), 0))
    whole = pa.Table.from_batches(rows).combine_chunks().to_batches()
    assert pages == b"".join(pack_rows(each, 0, apart=True) for each in whole)


@pytest.mark.parametrize("most_rows", [1, 7, 80])
def test_pages_that_are_not_compressed_are_read_some_at_a_time(most_rows: int) -> None:
    log = log_of(NOISE, [*NOISE[:40], None, *NOISE[41:]])
    raw, footer = written(log, options=ParquetOptions())
    whole = ParquetObjectReader(io.BytesIO(raw), "a")
    parts = ParquetObjectReader(io.BytesIO(raw), "a", most_rows)

    def elements(reader: ParquetObjectReader) -> list[bytes | None]:
        return [
            held[at : at + size].tobytes() if size >= 0 else None
            for rows in reader.columns(footer)
            for spans, held in (rows.values,)
            for at, size in spans.tolist()
        ]

    assert elements(parts) == elements(whole) == [*NOISE[:40], None, *NOISE[41:]]


def test_no_codec_at_all_is_asked_of_nothing() -> None:
    raw, _ = written(log_of(KEYS, TEXT), options=ParquetOptions(codec="none", level=None))
    assert set(codecs_of(raw)) == {"UNCOMPRESSED"}


def test_noise_and_text_become_one_object() -> None:
    whole = Log(log_of(KEYS, NOISE).batches + log_of(KEYS, TEXT, 80).batches)
    given = [written(whole, at, at + 80, ParquetOptions()) for at in (0, 80)]
    out = io.BytesIO()
    inputs = [open_input(SegmentFormat.PARQUET, io.BytesIO(raw), "a") for raw, _ in given]
    footer, _ = merge(inputs, lambda: out, level=1, good_bytes=1)
    raw = out.getvalue()
    assert [codecs_of(raw, at)[1] for at in (0, 1)] == ["UNCOMPRESSED", "ZSTD"]
    reader = ParquetObjectReader(io.BytesIO(raw), "a")
    assert seen(reader.rows(footer)) == read_plainly(whole, 0, 160)[0]
    values = [rows.values for rows in reader.columns(footer)]
    assert [int(np.maximum(spans[:, 1], 0).sum()) for spans, _ in values] == [
        sum(map(len, NOISE)),
        sum(map(len, TEXT)),
    ]
