"""The page of counterparts names fifteen tests of others, and tests of ours that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "kip-1279.md"


def test_each_counterpart_is_a_test_of_ours() -> None:
    rows = re.findall(r"^\| (\d+) \|.*$", PAGE.read_text(), re.MULTILINE)
    assert rows == [str(number) for number in range(1, 16)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE.read_text())
    assert len(named) >= 15
    for path, name in named:
        assert f"def {name}(" in (TESTS / path).read_text(), f"{path}::{name}"
