"""`towpath link rm` says where a link of another name would begin in the same topics."""

from __future__ import annotations

import pytest

from towpath.mirror.commands.remove import anew
from towpath.settings import RecordsConfig


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({}, "the first records that the source has, and they would be there twice"),
        ({"start": "latest"}, "the source's end at that time, and nothing copies what comes until"),
        (
            {"start": "committed", "group": "mover", "commit": "5s"},
            "the commits of group mover, which this link writes: only what it copied since",
        ),
        (
            {"start": "committed", "group": "mover"},
            "the commits of group mover: what was copied beyond them would be there twice",
        ),
        ({"start": "2025-01-31T08:00:00Z"}, "the time in the file: what was copied since"),
    ],
)
def test_the_file_decides_where(section: dict[str, str], said: str) -> None:
    text = anew(RecordsConfig.model_validate(section))
    assert f"begins at {said}" in text
