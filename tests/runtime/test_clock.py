"""Times as people read them, of any 64-bit number, as clients may give to records."""

from __future__ import annotations

import pytest

from towpath.runtime.clock import readable


@pytest.mark.parametrize(
    ("ms", "told"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1_738_310_400_999, "2025-01-31T08:00:00Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59Z"),
        (253_402_300_800_000, "+10000-01-01T00:00:00Z"),
        (2**63 - 1, "+292278994-08-17T07:12:55Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00Z"),
        (-62_135_596_800_001, "0000-12-31T23:59:59Z"),
        (-62_167_219_200_001, "-0001-12-31T23:59:59Z"),
        (-(2**63), "-292275055-05-16T16:47:04Z"),
    ],
)
def test_each_time_of_a_record_is_readable(ms: int, told: str) -> None:
    assert readable(ms) == told
