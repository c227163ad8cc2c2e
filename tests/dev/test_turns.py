"""Tests in several processes take turns on the clusters that they share."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.clusters.turns import Turns, wanted
from tests.support.kafka import wait_until


def item(*fixtures: str, alone: tuple[str, ...] | None = None) -> Any:
    markers = [] if alone is None else [SimpleNamespace(args=alone)]
    return SimpleNamespace(fixturenames=fixtures, iter_markers=lambda _: iter(markers))


@pytest.mark.parametrize(
    ("test", "needed"),
    [
        (item("tmp_path"), {}),
        (item("source", "target", "rng"), {"source": False, "target": False}),
        (item("source", "lone"), {"source": False, "lone": True}),
        (item("source", "target", alone=()), {"source": True, "target": True}),
        (item("source", "target", alone=("target",)), {"source": False, "target": True}),
        (item("source", alone=("quota",)), {"source": False, "quota": True}),
    ],
)
def test_what_a_test_needs(test: Any, needed: dict[str, bool]) -> None:
    assert wanted(test) == needed


def is_locked(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_who_waits_to_be_alone_is_next(tmp_path: Path) -> None:
    turns, order = Turns(tmp_path), list[str]()
    first = turns._turn("target", exclusive=False)
    first.__enter__()

    def take(name: str, *, exclusive: bool) -> None:
        with turns._turn("target", exclusive=exclusive):
            order.append(name)

    threads = []
    for name, exclusive in (("alone", True), ("shared", False)):
        threads.append(threading.Thread(target=take, args=(name,), kwargs={"exclusive": exclusive}))
        threads[-1].start()
        if exclusive:
            wait_until(lambda: is_locked(tmp_path / "target.next"), "it waits")
    assert order == []
    first.__exit__(None, None, None)
    for thread in threads:
        thread.join(10)
    assert order == ["alone", "shared"]
