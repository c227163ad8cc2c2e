"""`records.on_gap`, for all topics and by topic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from towpath.settings import check, load

FILE = """
source: {bootstrap: "a:9092"}
target: {bootstrap: "b:9092"}
link: l
topics: {include: [".*"]}
records: {on_gap: %s}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    def to_file(on_gap: str) -> Path:
        file = tmp_path / "link.yaml"
        file.write_text(FILE % on_gap)
        return file

    return to_file


@pytest.mark.parametrize(
    ("on_gap", "stops"),
    [
        ("stop", (True, True)),
        ("record", (False, False)),
        ("{topics: {'.*-repartition': record}}", (False, True)),
        ("{default: record, topics: {'orders': stop}}", (False, True)),
        ("{topics: {'app-.*': stop, '.*-repartition': record}}", (True, True)),
        ("{default: record}", (False, False)),
    ],
)
def test_which_topics_stop(
    write: Callable[[str], Path], on_gap: str, stops: tuple[bool, bool]
) -> None:
    records = load(write(on_gap)).records
    assert (records.stops_on_gap("app-a-repartition"), records.stops_on_gap("orders")) == stops


@pytest.mark.parametrize(
    ("on_gap", "told"),
    [
        (
            "{topics: {'a': archive}}",
            "records.on_gap.topics.a: 'archive' is not one of",
        ),
        ("{topics: {'[': stop}}", "records.on_gap.topics"),
        ("{default: archive}", "records.archive: is required by `on_gap: archive`"),
        ("never", "records.on_gap: 'never' is not one of stop, record, archive"),
    ],
)
def test_what_is_wrong_has_its_path(write: Callable[[str], Path], on_gap: str, told: str) -> None:
    [problem] = check(write(on_gap))
    assert problem.sentence.startswith(told)
