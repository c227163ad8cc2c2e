"""Other programs read what an archive holds: pyarrow, DuckDB and Spark, copied row groups too."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.support.archive.segments import written
from tests.support.logs.batches import batch, numbered
from tests.support.logs.logs import Log
from towpath.archive.format.merging import merge, open_input
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.regrouping import MergedInput
from towpath.model.nouns import SegmentFormat
from towpath.wire.plain import Record

BASE = 2**40
YEAR_10000 = 253_402_300_800_000
RECORDS = numbered(
    [
        Record(
            b"k", b"\0\0\0\0\7x", ((b"h", b"1"), (b"h", None), (b"\xff", b"")), 1_700_000_000_000
        ),
        Record(None, b"", (), -1),
        Record(b"", None, ((b"", b"v"),), 0),
        Record(b"early", b"v", (), -5),
        Record(b"far", b"v", (), YEAR_10000),
    ],
    BASE,
)
ROWS = [
    (b"k", b"\0\0\0\0\7x", BASE, 1_700_000_000_000_000, 3, 7, None),
    (None, b"", BASE + 1, None, 3, None, None),
    (b"", None, BASE + 2, 0, 3, None, None),
    (b"early", b"v", BASE + 3, -5000, 3, None, None),
    (b"far", b"v", BASE + 4, None, 3, None, YEAR_10000),
]
HEADERS = [(b"h", b"1"), (b"h", None), (b"\xff", b"")]
COLUMNS = "key, value, offset, timestamp, partition, schema_id, timestamp_raw"


@pytest.fixture(params=["written", "copied"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    log = Log((bytes(batch(RECORDS, 4)),))
    raw, _ = written(log, BASE, options=ParquetOptions(bloom=True))
    path = tmp_path / "segment.parquet"
    if request.param == "copied":
        out = io.BytesIO()
        given = open_input(SegmentFormat.PARQUET, io.BytesIO(raw), "a")
        gaps = MergedInput(written(log, BASE + 5, BASE + 6)[1])
        merge([given, gaps], lambda: out, level=1, good_bytes=0)
        raw = out.getvalue()
    path.write_bytes(raw)
    return path


def test_pyarrow_reads_it(file: Path) -> None:
    rows = pq.read_table(file).to_pylist()
    assert [(row["key"], row["value"], row["offset"]) for row in rows] == [row[:3] for row in ROWS]
    assert [(each["key"], each["value"]) for each in rows[0]["headers"]] == HEADERS


def test_duckdb_reads_it(file: Path) -> None:
    with duckdb.connect() as base:
        rows = base.read_parquet(str(file)).order('"offset"')
        columns = COLUMNS.replace("offset", '"offset"').replace(
            " timestamp,", " epoch_us(timestamp),"
        )
        assert rows.project(columns).fetchall() == ROWS
        (headers,), *_ = rows.project("headers").fetchall()
        assert [(each["key"], each["value"]) for each in headers] == HEADERS
        values = base.execute("select decode(key) from parquet_kv_metadata(?)", [str(file)])
        assert ("towpath.segments",) in values.fetchall()


def test_the_field_ids_are_those_that_catalogs_of_iceberg_give(file: Path) -> None:
    """They number the columns first, and then what is inside of them."""
    schema = pq.read_schema(file)
    ids = [int(field.metadata[b"PARQUET:field_id"]) for field in schema]
    element = schema.field("headers").type.value_field
    inside = [element, *element.type]
    assert ids == list(range(1, 11))
    assert [int(field.metadata[b"PARQUET:field_id"]) for field in inside] == [11, 12, 13]


@pytest.mark.spark
@pytest.mark.soak
def test_spark_reads_it(file: Path) -> None:
    from towpath.engine.session import session

    spark = session(None, "test", 1, credentials=False)
    frame = spark.read.parquet(str(file)).selectExpr(
        "key",
        "value",
        "offset",
        "unix_micros(timestamp)",
        "partition",
        "schema_id",
        "timestamp_raw",
    )
    found = [tuple(_plain(value) for value in row) for row in frame.orderBy("offset").collect()]
    assert found == ROWS
    (row,) = spark.read.parquet(str(file)).where("key = 'k'").select("headers").collect()
    assert [(bytes(each.key), _plain(each.value)) for each in row.headers] == HEADERS


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value
