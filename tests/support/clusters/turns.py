"""Tests in several processes take turns on the clusters that they share.

A test shares the clusters of its fixtures with all other tests. Some clusters belong to one test at
a time, as it may kill their brokers or listen on a port that they send clients to. A test marked
`alone` has all of its clusters, or those that the marker names, to itself. It may name something
else: tests marked `alone("quotas")` set or compare the quotas of `source` one after the other.
"""

from __future__ import annotations

import fcntl
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

SHARED = {
    "source": "source", "target": "target",
    "secured_source": "secured_source", "secured_target": "secured_target",
}  # fmt: skip
"""Fixtures of clusters that tests share, and the name by which they wait for each."""
EXCLUSIVE = {
    "lone": "lone", "three": "three", "refusal": "refusal", "toxiproxy": "toxiproxy",
}  # fmt: skip
"""Fixtures of clusters and proxies that one test at a time has to itself."""


class Turns:
    """A plugin that lets a test begin when nobody else needs its clusters for himself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # Outside of everything else, so that no time limit includes the wait.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Wait for the clusters of a test, and give them back behind its last fixture."""
        with ExitStack() as stack:
            for name, exclusive in sorted(wanted(item).items()):
                stack.enter_context(self._turn(name, exclusive=exclusive))
            return (yield)

    @contextmanager
    def _turn(self, name: str, *, exclusive: bool) -> Iterator[None]:
        # Who waits for all others to leave keeps new ones from coming in.
        with _locked(self._folder / f"{name}.next"):
            lock = ExitStack()
            lock.enter_context(_locked(self._folder / f"{name}.turn", exclusive=exclusive))
        with lock:
            yield


def wanted(item: pytest.Item) -> dict[str, bool]:
    """Return what a test needs by name, and whether for itself alone.

    All names are asked for in one order, so that no two tests wait for each other.
    """
    fixtures = {*getattr(item, "fixturenames", ())}
    needed = {SHARED[fixture]: False for fixture in fixtures & SHARED.keys()}
    needed |= {EXCLUSIVE[fixture]: True for fixture in fixtures & EXCLUSIVE.keys()}
    for marker in item.iter_markers("alone"):
        needed |= dict.fromkeys(marker.args or needed, True)
    return needed


@contextmanager
def _locked(path: Path, *, exclusive: bool = True) -> Iterator[None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
