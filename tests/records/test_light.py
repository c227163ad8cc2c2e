"""What a slice loads that changes no records."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_a_slice_loads_no_loops_that_change_records() -> None:
    code = "import sys, towpath.records.copy; print('towpath.wire.changing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False", done.stderr
