"""Which tests a session plays, and in which order.

Of the chaos scenes one, or all of them and for how long each.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence

import pytest


class Selection:
    """A plugin that plays one chaos scene for `--scenes one`, and shares out the time of a soak.

    Tests marked `soak` are left out by the options in `pyproject.toml`; `scripts/soak` asks for
    them, and for all scenes.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._began = time.monotonic()
        self._to_come = 0
        self._played: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Choose one scene by the seed, or put all last, where they take the time that is left."""
        scenes = [test for test in items if _is_scene(test)]
        if config.getoption("scenes") == "one" and len(scenes) > 1:
            # By name, so that the same seed means the same scene wherever the tests run.
            chosen = random.Random(self._seed).choice(sorted(scenes, key=lambda test: test.nodeid))
            left_out = [test for test in scenes if test is not chosen]
            config.hook.pytest_deselected(items=left_out)
            items[:] = [test for test in items if test not in left_out]
        if soak_seconds():
            items.sort(key=_is_scene)
        items[:] = arranged(items, _workers(config))
        self._to_come = sum(map(_is_scene, items))

    def seconds_of_a_scene(self) -> int:
        """Return how long the next scene lasts: its share of the time that is left of a soak."""
        left = self._began + soak_seconds() - time.monotonic()
        share = left / max(self._to_come, 1)
        self._to_come -= 1
        return max(0, int(share))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Let the reports of a scene say that it is one."""
        if _is_scene(item):
            item.user_properties.append(("scene", True))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which scenes were played, in whichever process."""
        if report.when == "call" and ("scene", True) in map(tuple, report.user_properties):
            self._played.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell which scenes were played."""
        for nodeid in self._played:
            terminalreporter.write_line(f"chaos scene of TOWPATH_SEED={self._seed}: {nodeid}")


def soak_seconds() -> int:
    """Return how long a soak shall last in all, 0 outside of one."""
    return int(os.environ.get("TOWPATH_SOAK_SECONDS") or 0)


def arranged(tests: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return tests in an order in which those that take long begin at once.

    Each worker begins with an equal part of the tests, and takes some of the others' last ones when
    it has none left. So one worker begins with all tests that share a Spark, which the others then
    need not start; the next one begins with those that start a Spark of their own, and with scenes.
    The long ones of the first worker come first: none of them is left for the end of the session,
    when there is nothing else to play beside it.
    """
    if workers < 2:
        return list(tests)
    heads: tuple[list[pytest.Item], ...] = ([], [])
    others: list[pytest.Item] = []
    for test in tests:
        spark = test.get_closest_marker("spark")
        if spark is not None and not spark.kwargs.get("own"):
            heads[0].append(test)
        else:
            (heads[1] if spark is not None or _is_scene(test) else others).append(test)
    heads[0].sort(key=lambda test: not _is_long(test))
    made = heads[0] + others
    at = max(len(tests) // workers, len(heads[0]))
    return made[:at] + heads[1] + made[at:]


def _workers(config: pytest.Config) -> int:
    return int(getattr(config, "workerinput", {}).get("workercount", 1))


def _is_scene(test: pytest.Item) -> bool:
    return test.get_closest_marker("chaos") is not None


def _is_long(test: pytest.Item) -> bool:
    spark = test.get_closest_marker("spark")
    return spark is not None and bool(spark.kwargs.get("long"))
