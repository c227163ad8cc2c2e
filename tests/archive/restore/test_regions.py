"""What several restores in one process show of one that fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.stored import StoredArchive
from towpath.archive.errors import NoArchiveError
from towpath.archive.restore import regions
from towpath.archive.restore.progress import RestorePhase, RestoreProgress
from towpath.archive.restore.task import RestoreTask
from towpath.model.errors import TowpathError
from towpath.runtime.backoff import BackOff

NewName = Callable[[str], str]


def test_trouble_stays_until_another_attempt_restores(
    tmp_path: Path, new_name: NewName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alert waits until there was trouble for minutes, and attempts begin within one."""
    stop, shown = threading.Event(), list[str]()
    attempts = iter([NoArchiveError("there"), NoArchiveError("there"), None])

    def once(_task: object, _spark: object, _stop: object, show: regions.Show, *_: object) -> None:
        progress = RestoreProgress(following=True)
        for phase in (RestorePhase.LOOKING, RestorePhase.PREPARING):
            progress.phase = phase
            show(progress)
        error: TowpathError | None = next(attempts)
        if error is not None:
            raise error
        progress.phase = RestorePhase.RESTORING
        show(progress)
        stop.set()

    monkeypatch.setattr(regions, "run", once)
    monkeypatch.setattr(regions, "_AGAIN", BackOff(first=0.01, longest=0.01))
    config = StoredArchive(tmp_path, new_name("shop"), "127.0.0.1:1").config()
    spark: Any = None
    regions.run_all(
        RestoreTask.each(config, follow=True), spark, stop, lambda now: shown.append(now.trouble)
    )
    told = [bool(each) for each in shown]
    first = told.index(True)
    assert told == [False] * first + [True] * (len(told) - first - 1) + [False]
    assert "there is no archive here" in shown[first]
