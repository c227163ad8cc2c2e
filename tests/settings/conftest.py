"""What the tests of the file share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text as the file of a link."""

    def to_file(text: str) -> Path:
        path = tmp_path / "link.yaml"
        path.write_text(text, "utf-8")
        return path

    return to_file
