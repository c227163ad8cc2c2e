"""Programs that kill themselves with SIGKILL at one of their steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.program import environment

COMPACTION = "tests.support.archive.compaction_victim"
RECOVERY = "tests.support.archive.recovery_victim"


def victim(module: str, file: Path, step: int, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a program on a file until it dies at a step; step 0 prints how many there are."""
    words = [sys.executable, "-m", module, str(file), str(step), *more]
    return subprocess.run(
        words, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
