"""The archive that fills gaps of a link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from towpath.settings import check

LINK = """\
source: {{bootstrap: "a:9092"}}
target: {{bootstrap: "b:9092"}}
link: orders
topics: {{include: [".*"]}}
records:
  on_gap: archive
  archive: {{store: {{url: "file:///archive", layout: {layout}}}, region: here}}
"""


def test_gaps_are_filled_from_archives_of_ours_alone(write: Callable[[str], Path]) -> None:
    assert check(write(LINK.format(layout="archive"))) == ()
    (problem,) = check(write(LINK.format(layout="broker-log")))
    assert problem.path == "records.archive.store.layout"
    assert problem.text.startswith("is broker-log; gaps are filled from an archive")
