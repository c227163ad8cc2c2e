"""Parts of large objects: as configured, unless there would be too many of them. Pure."""

from __future__ import annotations

import pytest

from towpath.store.writer import LARGEST_PART, MOST_PARTS, part_bytes

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40


@pytest.mark.parametrize("expected", [0, 1, 5 * 10**9, 6 * GIB, 78 * GIB])
def test_the_configured_size_is_kept_where_it_is_enough(expected: int) -> None:
    assert part_bytes(8 * MIB, expected) == 8 * MIB


@pytest.mark.parametrize("configured", [5 * MIB, 8 * MIB, 512 * MIB])
@pytest.mark.parametrize("expected", [79 * GIB, 200 * GIB, TIB, 5 * TIB, 5 * TIB - 1])
def test_no_object_has_too_many_parts(configured: int, expected: int) -> None:
    size = part_bytes(configured, expected)
    assert configured <= size <= LARGEST_PART
    assert -(-expected // size) <= MOST_PARTS
    assert size % MIB == 0
