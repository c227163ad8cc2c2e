"""Keys go where Java's default partitioner places them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from towpath.wire.placing import NOWHERE, hashes, places

JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""Hashes by `UtilsTest.testMurmur2` of Kafka 4.1."""


def test_hashes_are_those_of_java() -> None:
    found = hashes(pa.array([*JAVA], pa.binary()))
    assert found.tolist() == [each & 0x7FFFFFFF for each in JAVA.values()]


@pytest.mark.parametrize("at", [0, 2])
def test_null_keys_have_no_place_and_empty_ones_do(at: int) -> None:
    keys = pa.array([b"x", None, b"abc", None, b""], pa.binary()).slice(at)
    found = hashes(keys)
    assert [each == NOWHERE for each in found.tolist()] == [
        each is None for each in keys.to_pylist()
    ]
    assert places(found, 7)[2 - at] == 479470107 % 7
    assert (places(found, 7) < 7).all()


def test_no_keys_at_all() -> None:
    assert hashes(pa.array([], pa.binary())).tolist() == []
    assert hashes(pa.nulls(2, pa.binary())).tolist() == [NOWHERE, NOWHERE]
