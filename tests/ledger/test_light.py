"""Commands that read the ledger load neither numba nor Arrow, which would take seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", ["status", "plan", "diff", "apply"])
def test_commands_that_read_the_ledger_start_without_heavy_libraries(command: str) -> None:
    code = f"import sys, towpath.cli.{command}; print(*{{'numba', 'pyarrow'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ran.stdout.decode() == "\n"
