"""Several processes that serve the clients of one gateway's addresses.

Each is a gateway of its own in the ledger, and the kernel gives it a part of the connections. The
first process only waits for the others (docs/decisions/0122).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from towpath.cli.pairs import run_beside
from towpath.cli.show.output import Output
from towpath.model.errors import ConfigError, ConfigProblem

_PROCESS = "TOWPATH_GATEWAY_PROCESS"
"""Variable by which a process knows which one of several it is, from 0 on."""


def this_process() -> int | None:
    """Return which one of several processes this is, `None` if nobody started several."""
    found = os.environ.get(_PROCESS)
    return int(found) if found else None


def serve_together(file: Path, count: int, output: Output) -> int:
    """Serve clients with several processes until stopped; return the highest exit code.

    Args:
        file: The link.
        count: How many.
        output: The form of what is shown.

    Raises:
        ConfigError: The form is for one process alone.
    """
    if output is not Output.TEXT:
        why = f"json is for one process, and `gateway.processes` asks for {count}"
        raise ConfigError((ConfigProblem("--output", why),))
    program = [sys.executable, "-m", "towpath", "gateway", str(file)]
    names = {f"process {number + 1}": str(number) for number in range(count)}
    return run_beside(
        dict.fromkeys(names, program),
        again="the others go on; to have it again, restart the gateway",
        more={name: {_PROCESS: number} for name, number in names.items()},
    )
