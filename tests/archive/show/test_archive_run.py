"""What `archive run` says at its end. Pure."""

from __future__ import annotations

import pytest
from rich.console import Console

from towpath.archive.show.archive_run import run_data, run_result
from towpath.archive.write.progress import ArchiveProgress


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (0, "stopped after 3.0 s, before the archive and the source were looked at"),
        (7, "stopped after 3.0 s: 0 segments, 0 records, 0 B archived, lag 0; version 7"),
    ],
)
def test_a_run_that_was_stopped_early_claims_no_lag(version: int, said: str) -> None:
    progress = ArchiveProgress(version=version)
    console = Console(width=100, color_system=None)
    with console.capture() as shown:
        console.print(run_result(progress, run_data("shop", progress, 3.0, stopped=True)))
    assert shown.get().strip() == said
