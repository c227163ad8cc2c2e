"""Which tests a session plays: one chaos scene of many, or all of them and for how long each."""

from __future__ import annotations

import os
import random
import time

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


def _is_scene(test: pytest.Item) -> bool:
    return test.get_closest_marker("chaos") is not None
