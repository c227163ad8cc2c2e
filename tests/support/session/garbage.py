"""The garbage collector of Python, which rests while tests are read.

Import this before anything large. Reading all modules and tests makes a million objects that stay
until the end. The collector would look at them again and again, and find nothing: that was a third
of what a process needs until its first test.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

gc.disable()


class Garbage:
    """A plugin that lets the collector work once the tests are known, on what came later."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Leave out what the tests read, in all collections to come."""
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    @pytest.hookimpl(trylast=True)  # pytest itself collects once more before
    def pytest_unconfigure(self) -> None:
        """Let Python free everything as it ends; some libraries complain else."""
        gc.unfreeze()
