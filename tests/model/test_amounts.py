"""How numbers, bytes and time spans look."""

from __future__ import annotations

import pytest

from towpath.model.amounts import count, size, span


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1.5 * 2**20, "1.5 MiB"),
        (2**30, "1.0 GiB"),
        (5 * 2**40, "5.0 TiB"),
    ],
)
def test_bytes_are_shown_in_the_largest_unit_that_fits(number: float, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1m 00s"),
        (125, "2m 05s"),
        (3599.7, "1h 00m"),
        (12_000, "3h 20m"),
        (187_200, "2d 4h"),
    ],
)
def test_seconds_are_shown_in_units_for_people(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_numbers_have_commas_between_thousands() -> None:
    assert count(1234567) == "1,234,567"
