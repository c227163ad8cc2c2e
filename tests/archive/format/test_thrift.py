"""What is read of Thrift is written again, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.segments import written
from tests.support.logs.batches import SMALL, batch
from tests.support.logs.logs import Log
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.format.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    SET,
    STRUCT,
    TRUE,
    ThriftList,
    ThriftStruct,
    read_struct,
    write_struct,
)

_PLAIN = {
    I16: st.integers(-(2**15), 2**15 - 1),
    I32: st.integers(-(2**31), 2**31 - 1),
    I64: st.integers(-(2**63), 2**63 - 1),
    BINARY: st.binary(max_size=200),
    DOUBLE: st.binary(min_size=8, max_size=8),
    BYTE: st.integers(0, 255),
}


def _structs(deeper: st.SearchStrategy[ThriftStruct]) -> st.SearchStrategy[ThriftStruct]:
    lists = st.one_of(
        *(
            st.builds(ThriftList, st.just(kind), st.lists(strategy, max_size=20))
            for kind, strategy in (*_PLAIN.items(), (STRUCT, deeper))
        )
    )
    fields = st.one_of(
        *(st.tuples(st.just(kind), strategy) for kind, strategy in _PLAIN.items()),
        st.booleans().map(lambda value: (TRUE if value else FALSE, value)),
        st.tuples(st.sampled_from([LIST, SET]), lists),
        st.tuples(st.just(STRUCT), deeper),
    )
    return st.dictionaries(st.integers(1, 300), fields, max_size=6).map(
        lambda found: ThriftStruct(dict(sorted(found.items())))
    )


STRUCTS = st.recursive(st.just(ThriftStruct({})), _structs, max_leaves=6)


@given(STRUCTS)
def test_a_struct_comes_back(struct: ThriftStruct) -> None:
    data = write_struct(struct)
    assert read_struct(b"xx" + data + b"rest", 2) == (struct, 2 + len(data))


def test_the_footer_of_a_parquet_file_comes_back() -> None:
    raw, _ = written(Log((bytes(batch(SMALL)),)), start=1000, options=ParquetOptions(bloom=True))
    size = int.from_bytes(raw[-8:-4], "little")
    footer = raw[-8 - size : -8]
    struct, end = read_struct(footer)
    assert (write_struct(struct), end) == (footer, size)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(data: bytes) -> None:
    try:
        struct, end = read_struct(data)
    except ValueError:
        return
    assert read_struct(write_struct(struct))[0] == struct
    assert end <= len(data)


def test_depth_is_bounded() -> None:
    with pytest.raises(ValueError, match="within too many"):
        read_struct(b"\x1c" * 200 + b"\0" * 200)
