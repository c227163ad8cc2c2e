"""What the tests on Spark share: a link in a file, and programs that are closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.links import Link
from towpath.dev.broker import LocalCluster


@pytest.fixture
def link(
    tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    made = Link(tmp_path, source, target, new_name("link"))
    yield made
    for each in made.programs:
        each.close()
