"""Two processes of pytest, each with a half of the tests, as neither keeps two cores busy alone.

A test belongs to one half for ever, so that each cluster and each Spark starts in one process.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

FIRST = ("tests/spark/", "tests/security/", "tests/chaos/", "tests/cli/")
"""The folders of the one half, which takes about as long as all others."""


def hand_out(config: pytest.Config, log: Any) -> Any:
    """Return the scheduler that pytest-xdist asks for; it hands the tests out half by half."""
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = half
    return scheduler


def half(nodeid: str) -> str:
    """Return which half a test is of."""
    return "first" if nodeid.startswith(FIRST) else "second"
