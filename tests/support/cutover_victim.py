"""A cutover in a process of its own, which kills itself around what it does with groups.

`python -m tests.support.cutover_victim FILE STEP` cuts the link of a file over, and ends itself
with SIGKILL before or behind the given call that writes offsets of groups, keeps them in the
ledger, or records the cut.
"""

from __future__ import annotations

import sys

from tests.support.archive.steps import KillingSteps
from tests.support.cutovers import NOW
from towpath.cli.main import main
from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.groups.sync_state import GroupMemory
from towpath.mirror.cutover import records


def cut() -> int:
    """Do what the arguments say."""
    path, step = sys.argv[1], int(sys.argv[2])
    steps = KillingSteps(step)
    steps.around(GroupAdmin, "write")
    steps.around(GroupMemory, "take")
    steps.around(records, "cuts_through_query")
    return main(["cutover", path, *NOW])


if __name__ == "__main__":
    sys.exit(cut())
