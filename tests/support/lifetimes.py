"""How long a cluster is needed: until the last test is over whose fixtures asked for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.halves import half

_DEAR = (
    "three_source", "three_target", "proxied_target", "version_target", "secured_source",
    "refusing_target",
)  # fmt: skip
"""Fixtures of clusters that few files need; even idle, each broker costs some of a core."""


class Lifetimes:
    """A plugin that knows which fixtures asked for what, and which tests are still to come."""

    def __init__(self) -> None:
        self._tests: list[pytest.Item] = []
        self._to_come: Counter[str] | None = None
        self._being_made: list[str] = []
        self._users: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put files that need the same clusters beside each other."""
        used: dict[Path, set[str]] = defaultdict(set)
        for test in items:
            used[test.path].update(_fixtures(test))
        items.sort(key=lambda test: [name not in used[test.path] for name in _DEAR])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Pytest tells which tests are to come."""
        self._tests = session.items

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Pytest makes a fixture; what is asked for meanwhile is needed as long as it is."""
        self._being_made.append(fixturedef.argname)
        try:
            return (yield)
        finally:
            self._being_made.pop()

    def over(self, test: pytest.Item) -> None:
        """A test is over."""
        if self._to_come is None:
            self._to_come = self._asked_for_here(test)
        self._to_come.subtract(_fixtures(test))

    def asked_for(self, thing: str) -> None:
        """Somebody asked for a thing: the fixture being made, or the test that runs."""
        self._users[thing].update(self._being_made[-1:])

    def is_over(self, thing: str) -> bool:
        """Whether no test to come needs the thing."""
        to_come = self._to_come or Counter()
        return all(to_come[user] <= 0 for user in self._users[thing])

    def _asked_for_here(self, first: pytest.Item) -> Counter[str]:
        """Count what the tests of this process ask for; only its first test tells which half."""
        alone = not hasattr(first.config, "workerinput")
        ours = half(first.nodeid)
        return Counter(
            fixture
            for test in self._tests
            if alone or half(test.nodeid) == ours
            for fixture in _fixtures(test)
        )


def _fixtures(test: pytest.Item) -> list[str]:
    return list(getattr(test, "fixturenames", ()))
