"""Elements are found in pages of Parquet as pyarrow reads them; other bytes are refused."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.archive.format.plain_column import PageError, PlainColumn
from towpath.wire.pages import locate

ELEMENTS = st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=60)

CODECS = st.sampled_from(["none", "zstd", "snappy"])


def written(
    elements: Sequence[bytes | None], codec: str, page: int
) -> tuple[bytes, pq.ColumnChunkMetaData]:
    """Return a Parquet file of one column, and what its footer says of the column."""
    out = io.BytesIO()
    table = pa.table({"key": pa.array(elements, pa.binary())})
    pq.write_table(
        table, out, compression=codec, use_dictionary=False, write_statistics=False,
        data_page_size=page, write_batch_size=3,
    )  # fmt: skip
    raw = out.getvalue()
    return raw, pq.ParquetFile(io.BytesIO(raw)).metadata.row_group(0).column(0)


def column(raw: bytes, chunk: pq.ColumnChunkMetaData) -> PlainColumn:
    return PlainColumn(lambda at, size: pa.py_buffer(raw).slice(at, size), chunk)


@given(
    ELEMENTS,
    st.sampled_from(["none", "zstd", "snappy"]),
    st.sampled_from([1, 40, 1 << 20]),
    st.data(),
)
def test_elements_are_those_that_were_written(
    elements: list[bytes | None], codec: str, page: int, data: st.DataObject
) -> None:
    raw, chunk = written(elements, codec, page)
    assert PlainColumn.can_read(chunk)
    read, found = column(raw, chunk), list[bytes | None]()
    while len(found) < len(elements):
        count = data.draw(st.integers(1, len(elements) - len(found)))
        spans, held = read.take(count)
        assert len(spans) == count
        found += [
            held[at : at + size].tobytes() if size >= 0 else None for at, size in spans.tolist()
        ]
    assert found == elements
    with pytest.raises(PageError, match="ends before"):
        read.take(1)


def test_columns_of_other_writers_are_told_apart() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"key": pa.array([b"a", b"a"], pa.binary())}), out)
    assert not PlainColumn.can_read(pq.ParquetFile(out).metadata.row_group(0).column(0))


def test_a_page_of_another_kind_is_refused() -> None:
    out = io.BytesIO()
    table = pa.table({"key": pa.array([b"a", None], pa.binary())})
    pq.write_table(table, out, compression="none", use_dictionary=False, data_page_version="2.0")
    raw = out.getvalue()
    with pytest.raises(PageError, match="not one of plain data"):
        column(raw, pq.ParquetFile(out).metadata.row_group(0).column(0)).take(2)


@given(st.binary(max_size=40), st.integers(1, 9))
def test_any_bytes_are_elements_within_them_or_refused(page: bytes, count: int) -> None:
    try:
        spans = locate(np.frombuffer(page, np.uint8), count)
    except ValueError:
        return
    for at, size in spans.tolist():
        assert -1 <= size <= len(page)
        assert 0 <= at <= len(page) - max(size, 0)
