"""What would make restored records mean other schemas stops a restore in its plan. Pure."""

from __future__ import annotations

import pytest

from towpath.archive.config import RestoredSchemas
from towpath.archive.restore.schema_checks import stopping
from towpath.model.findings import Cause, Problem
from towpath.schemas.difference import Skip
from towpath.schemas.subject import PlacedDifference

KEEP = RestoredSchemas.model_validate({"target": {"url": "http://r"}})
TRANSLATE = RestoredSchemas.model_validate({"target": {"url": "http://r"}, "ids": "translate"})


def found(about: str = "orders-value", /, **skipped: int) -> PlacedDifference:
    counts = {("skipped", str(Skip[name])): number for name, number in skipped.items()}
    problem = Problem(about, "something", Cause.SUBJECT)
    return PlacedDifference(counts=counts, problems=(problem,))


@pytest.mark.parametrize("reason", ["ID", "CONFLICT"])
def test_another_schema_in_the_place_of_an_archived_one_stops_a_restore(reason: str) -> None:
    (problem,) = stopping(found(**{reason: 3}), KEEP)
    assert problem.cause is Cause.FILE
    assert "has other schemas where 3 archived versions would be" in problem.text
    assert "`restore.schemas.ids: translate`" in problem.text


def test_a_registry_that_keeps_no_ids_stops_a_restore() -> None:
    (problem,) = stopping(found("schemas", ID=1), KEEP)
    assert problem.text.startswith("no id can be kept, as above")


def test_what_is_only_missing_stops_nothing() -> None:
    assert list(stopping(found(REFERENCE=1, UNREAD=2), KEEP)) == []


def test_a_file_that_lets_ids_change_is_not_stopped_by_ids() -> None:
    assert list(stopping(found(ID=1, CONFLICT=1), TRANSLATE)) == []
