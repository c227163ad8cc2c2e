"""How long a cluster is needed: until the last test is over whose fixtures asked for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator

import pytest


class Lifetimes:
    """A plugin that knows which fixtures asked for what, and which tests are still to come."""

    def __init__(self) -> None:
        self._to_come: Counter[str] = Counter()
        self._being_made: list[str] = []
        self._users: dict[str, set[str]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Pytest tells which tests are to come."""
        for test in session.items:
            self._to_come.update(_fixtures(test))

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
        self._to_come.subtract(_fixtures(test))

    def asked_for(self, thing: str) -> None:
        """Somebody asked for a thing: the fixture being made, or the test that runs."""
        self._users[thing].update(self._being_made[-1:])

    def is_over(self, thing: str) -> bool:
        """Whether no test to come needs the thing."""
        return all(self._to_come[user] <= 0 for user in self._users[thing])


def _fixtures(test: pytest.Item) -> list[str]:
    return list(getattr(test, "fixturenames", ()))
