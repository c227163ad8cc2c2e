"""A failover in a process of its own, which kills itself at a step.

`python -m tests.support.failover_victim FILE STEP` fails the link of a file over, and ends itself
with SIGKILL before or behind the given call that writes to the target; with 0 it goes to the end
and prints how many such moments there were.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.archive.steps import KillingSteps
from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.ledger.ledger import Ledger
from towpath.mirror.failover.failover import FailoverRequest, failover
from towpath.mirror.failover.look import FailoverScope
from towpath.settings import load


def main() -> None:
    """Do what the arguments say."""
    path, step = sys.argv[1], int(sys.argv[2])
    steps = KillingSteps(step)
    steps.around(Ledger, "append")
    steps.around(ProducerAdmin, "write_markers")
    steps.around(GroupAdmin, "write", "delete")
    failover(load(Path(path)), FailoverRequest(scope=FailoverScope(), agreed=lambda _: True))
    print(steps.count)  # noqa: T201


if __name__ == "__main__":
    main()
