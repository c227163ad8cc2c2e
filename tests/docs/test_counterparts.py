"""Pages of counterparts name what others test or state, and tests of ours that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"


@pytest.mark.parametrize(("page", "count"), [("kip-1279.md", 15), ("live-link.md", 41)])
def test_each_counterpart_is_a_test_of_ours(page: str, count: int) -> None:
    text = (DOCS / page).read_text()
    rows = re.findall(r"^\| (\d+) \|.*$", text, re.MULTILINE)
    assert rows == [str(number) for number in range(1, count + 1)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) >= count
    for path, name in named:
        assert f"def {name}(" in (TESTS / path).read_text(), f"{path}::{name}"
