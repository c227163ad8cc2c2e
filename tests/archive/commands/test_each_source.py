"""A source of a restore whose archive cannot be read stops no other one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.stored import StoredArchive
from towpath.archive.commands.each_source import look_at_each
from towpath.archive.errors import NoArchiveError
from towpath.archive.restore.task import RestoreTask
from towpath.model.errors import StoreAwayError, TowpathError, UnreachableError


@pytest.fixture
def tasks(tmp_path: Path) -> tuple[RestoreTask, ...]:
    config = StoredArchive(tmp_path, "shop", "127.0.0.1:1").config()
    sources = [{"region": "here"}, {"region": "gone"}, {"region": "here", "name": "again"}]
    rules = config.restore.model_validate({"sources": sources})
    return RestoreTask.each(config.model_copy(update={"restore": rules}))


class Looks:
    """Looks at sources, of which some fail."""

    def __init__(self, **errors: TowpathError) -> None:
        self._errors = errors

    def __call__(self, task: RestoreTask) -> dict[str, str]:
        if task.source in self._errors:
            raise self._errors[task.source]
        return {"source": task.source}


def test_a_source_that_cannot_be_read_is_named_beside_the_others(
    tasks: tuple[RestoreTask, ...],
) -> None:
    seen = look_at_each(tasks, Looks(gone=NoArchiveError("s3://b/gone/_log/")))
    assert seen.found == ({"source": "here"}, {"source": "again"})
    (failed,) = seen.failed
    assert str(failed).startswith("restore restore.shop.gone: s3://b/gone/_log/: there is no")
    data: Mapping[str, Any] = seen.data(dict)
    *_, last = data["sources"]
    assert (last["source"], last["code"]) == ("gone", "ARCHIVE_ABSENT")


def test_a_single_source_and_a_target_that_fails_raise(tasks: tuple[RestoreTask, ...]) -> None:
    away = StoreAwayError("s3://b", "read")
    with pytest.raises(StoreAwayError):
        look_at_each(tasks[1:2], Looks(gone=away))
    with pytest.raises(StoreAwayError):
        look_at_each(tasks, Looks(here=away, gone=away, again=away))
    with pytest.raises(UnreachableError):
        look_at_each(tasks, Looks(gone=UnreachableError("target", "127.0.0.1:1", "nobody")))
    assert look_at_each(tasks[:1], Looks()).data(dict) == {"source": "here"}
