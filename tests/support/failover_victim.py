"""A failover in a process of its own, which kills itself at a step.

`python -m tests.support.failover_victim FILE STEP [TOPIC]` fails the link of a file over, or one
topic of it, and ends itself with SIGKILL before or behind the given call that writes to the target;
with 0 it goes to the end and prints how many such moments there were.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.archive.steps import KillingSteps
from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.cluster.admin.producers import ProducerAdmin
from towpath.ledger.ledger import Ledger
from towpath.mirror.failover.failover import failover
from towpath.mirror.failover.request import FailoverRequest
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.model.nouns import TopicName
from towpath.settings import load


def main() -> None:
    """Do what the arguments say."""
    path, step = sys.argv[1], int(sys.argv[2])
    steps = KillingSteps(step)
    steps.around(Ledger, "append")
    steps.around(ProducerAdmin, "write_markers")
    steps.around(GroupAdmin, "write", "delete")
    scope = FailoverScope(topics=tuple(map(TopicName, sys.argv[3:])))
    failover(load(Path(path)), FailoverRequest(scope=scope, agreed=lambda _: True))
    print(steps.count)  # noqa: T201


if __name__ == "__main__":
    main()
