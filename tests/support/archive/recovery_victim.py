"""A recovery in a process of its own, which kills itself at a step; see `compaction_victim`."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tests.support.archive.steps import KillingSteps
from towpath.archive.config import load_archive
from towpath.archive.upkeep.recovering import recover


def main() -> None:
    """Do what the arguments say."""
    path, step = sys.argv[1], int(sys.argv[2])
    steps = KillingSteps(step)
    steps.around(os, "fsync", "link", "unlink", "open", "rename", "replace")
    recover(load_archive(Path(path)), threading.Event(), lambda *_: None, lost=False)
    print(steps.count)  # noqa: T201


if __name__ == "__main__":
    main()
