"""Commands that read the ledger load no heavy library, as importing one may take seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

LOADING = """
import importlib, sys
for command in sys.argv[1:]:
    importlib.import_module(f"towpath.mirror.commands.{command}")
    print(command, *sorted({"numba", "pyarrow"} & set(sys.modules)))
"""
HEAVY = {
    "asyncio", "httpx", "kafka.net.manager", "kafka.protocol.broker_version_data", "numba", "numpy",
    "prometheus_client", "pyarrow", "pyspark", "rich.live", "rich.progress", "rich.table",
    "structlog", "typer.rich_utils",
}  # fmt: skip
"""What `status` and `history` need for no picture and no question."""


def loaded(code: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(command, capture_output=True, check=True)
    return ran.stdout.decode().splitlines()


def test_commands_that_read_the_ledger_start_without_heavy_libraries() -> None:
    commands = ["status", "history", "plan", "diff", "apply"]
    assert loaded(LOADING, *commands) == commands


def test_status_and_history_load_only_what_they_need() -> None:
    modules = "towpath.mirror.commands.status, towpath.mirror.commands.history"
    code = f"import sys, {modules}; print(*sys.modules, sep='\\n')"
    assert not HEAVY & set(loaded(code))


def test_reading_and_writing_the_ledger_needs_no_numpy() -> None:
    """A small batch is compressed, as ours are, and read again."""
    code = """
import sys
from towpath.ledger.batches import packed, rows
from towpath.ledger.entries import FirstLook, decode
from towpath.wire.header import BatchHeader
looks = [FirstLook("l", str(n) * 50, n) for n in range(100)]
[batch] = packed(looks)
assert BatchHeader.read(batch).attributes & 7, "it is compressed"
assert [decode(key, value) for _, key, value in rows(memoryview(batch))] == looks
print("numpy" in sys.modules)
"""
    assert loaded(code) == ["False"]
