"""A compaction in a process of its own, which kills itself at a step.

`python -m tests.support.archive.compaction_victim FILE STEP` compacts the archive of a file without
Spark, and ends itself with SIGKILL at the given call that reads or writes a file of the store; with
0 it compacts to the end and prints how many such calls there were.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.archive.compacting import EAGER, compacted
from tests.support.archive.steps import KillingSteps
from towpath.archive.config import load_archive


def main() -> None:
    """Do what the arguments say."""
    path, step = sys.argv[1], int(sys.argv[2])
    steps = KillingSteps(step)
    steps.around(os, "fsync", "link", "unlink", "open", "rename", "replace")
    up = EAGER.model_copy(update={"min_level": 1, "max_level": 1})
    small = EAGER.model_copy(update={"max_count": 4})
    compacted(load_archive(Path(path)), small, up)
    print(steps.count)  # noqa: T201


if __name__ == "__main__":
    main()
