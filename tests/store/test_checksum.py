"""Checksums of parts, which together are that of the whole. Pure."""

from __future__ import annotations

import zlib

from hypothesis import given
from hypothesis import strategies as st

from towpath.store.checksum import joined_crc


@given(st.binary(max_size=5_000), st.binary(max_size=5_000))
def test_two_checksums_become_one(first: bytes, second: bytes) -> None:
    both = joined_crc(zlib.crc32(first), zlib.crc32(second), len(second))
    assert both == zlib.crc32(first + second)


def test_a_part_of_an_object_is_long() -> None:
    first, second = b"first" * 9, bytes(5 << 20)
    assert joined_crc(zlib.crc32(first), zlib.crc32(second), 5 << 20) == zlib.crc32(first + second)
