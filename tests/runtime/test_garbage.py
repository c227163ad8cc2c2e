"""What Python's search for cycles passes over."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import gc
from towpath.runtime.garbage import keep_loaded

keep_loaded()
first = gc.get_freeze_count()
made = [[] for _ in range(1000)]  # what lives later is looked at as ever
keep_loaded()
print(first > 1000, gc.get_freeze_count() - first < 1000)
"""


def test_what_is_loaded_is_kept_once() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["True", "True"]
