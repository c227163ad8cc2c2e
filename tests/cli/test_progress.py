"""The live display, on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.support.program import environment

WHILE_SPARK_STARTS = """
import sys
from towpath.cli.progress import Display
from towpath.engine.session import _apart
starting = _apart()
starting.__enter__()
with Display("demo"):
    starting.__exit__(None, None, None)
print("well", file=sys.stderr)
"""


def test_errors_can_be_told_after_a_display_that_began_while_spark_started() -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", WHILE_SPARK_STARTS], stderr=theirs, stdout=theirs,
            env=environment(), timeout=60, check=False,
        )  # fmt: skip
        os.close(theirs)
        assert b"well" in os.read(ours, 1 << 16)
    finally:
        os.close(ours)
    assert done.returncode == 0
