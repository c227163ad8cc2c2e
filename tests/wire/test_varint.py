from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.model.errors import CorruptBatchError
from towpath.wire import varint
from towpath.wire.loops import inlined
from towpath.wire.plain import read_varint, write_varint


@inlined
def _fast_write(out: Any, value: Any) -> Any:
    return varint.fast_write(out, 0, value)


@inlined
def _fast_size(value: Any) -> Any:
    return varint.fast_size(value)


@inlined
def _fast_read(data: Any) -> Any:
    return varint.fast_read(data, 0, len(data))


def fast(data: bytes) -> tuple[int, int]:
    value, position = _fast_read(np.frombuffer(data, np.uint8))
    return int(value), int(position)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_both_write_and_read_the_same(value: int, behind: bytes) -> None:
    out = bytearray()
    write_varint(out, value)
    room = np.zeros(varint.LONGEST, np.uint8)
    size = int(_fast_write(room, value))
    assert room[:size].tobytes() == out
    assert int(_fast_size(value)) == len(out)
    assert read_varint(out + behind, 0) == (value, len(out)) == fast(bytes(out) + behind)


@given(st.binary(max_size=12).map(lambda data: bytes(b | 0x80 for b in data[:-1]) + data[-1:]))
def test_both_refuse_the_same(data: bytes) -> None:
    value, position = fast(data)
    if position < 0:
        with pytest.raises(CorruptBatchError, match="varint"):
            read_varint(data, 0)
    else:
        assert read_varint(data, 0) == (value, position)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01"])
def test_what_is_no_varint(data: bytes) -> None:
    assert fast(data)[1] == -1
    with pytest.raises(CorruptBatchError, match="varint"):
        read_varint(data, 0)
