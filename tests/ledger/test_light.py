"""Commands that read the ledger load neither numba nor Arrow, which would take seconds."""

from __future__ import annotations

import subprocess
import sys

LOADING = """
import importlib, sys
for command in sys.argv[1:]:
    importlib.import_module(f"towpath.cli.{command}")
    print(command, *{"numba", "pyarrow"} & set(sys.modules))
"""


def test_commands_that_read_the_ledger_start_without_heavy_libraries() -> None:
    commands = ["status", "plan", "diff", "apply"]
    ran = subprocess.run(
        [sys.executable, "-c", LOADING, *commands], capture_output=True, check=True
    )
    assert ran.stdout.decode().splitlines() == commands
