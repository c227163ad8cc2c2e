"""A failback and the replay of what it salvaged, in processes that kill themselves at a step.

`python -m tests.support.failback_victim SEED FILE WINS` turns the link of a file round, and replays
all that was salvaged. Each attempt is a fork that is killed at a random request, before or behind
it, until one ends by itself. A line of JSON tells how many were killed. The link back does not run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from towpath.mirror.failback.failback import FailbackRequest, failback
from towpath.mirror.failback.salvaged import ReplayWish, replay_salvaged
from towpath.model.nouns import Side
from towpath.settings import load

_FIRST, _MORE = 30, 10
"""Upper bound of the request at which the first attempt is killed, and by how much it grows."""


def back_of(file: Path) -> Path:
    """Return where the file of the link back is written."""
    return file.with_name(f"{file.stem}-back.yaml")


def turn_round(file: Path, wins: Side) -> bool:
    """Turn a link round; returns whether that was done."""
    asked = FailbackRequest(file=file, to=back_of(file), wins=wins, agreed=lambda _: True)
    return failback(load(file), asked).done


def replay(file: Path) -> bool:
    """Replay all that was salvaged; returns whether nothing is left."""
    found = replay_salvaged(load(file), ReplayWish(frozenset(), lambda _: True))
    return not any(each.left or each.missing or each.trouble for each in found)


def until_done(rng: random.Random, work: Callable[[], bool]) -> int:
    """Do work in forks until one is not killed; returns how many were killed."""
    killed = 0
    while True:
        step, behind = rng.randint(1, _FIRST + _MORE * killed), rng.random() < 0.5
        child = os.fork()
        if not child:
            _attempt(step, work, behind=behind)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, f"an attempt failed with {status}"
            return killed
        killed += 1


def _attempt(step: int, work: Callable[[], bool], *, behind: bool) -> None:
    _die_at(step, behind=behind)
    try:
        code = 0 if work() else 3
    except BaseException:  # noqa: BLE001  # of a fork, which must not return
        traceback.print_exc()
        code = 1
    os._exit(code)


def _die_at(step: int, *, behind: bool) -> None:
    sendall, seen = socket.socket.sendall, 0

    def counted(self: socket.socket, *data: object) -> None:
        nonlocal seen
        seen += 1
        if seen == step and not behind:
            os.kill(os.getpid(), signal.SIGKILL)
        sendall(self, *data)  # type: ignore[arg-type]
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)

    socket.socket.sendall = counted  # type: ignore[method-assign, assignment]


def main(seed: str, file: str, wins: str) -> None:
    """Play both, and print how many attempts were killed."""
    rng, where = random.Random(seed), Path(file)
    turned = until_done(rng, lambda: turn_round(where, Side(wins)))
    replayed = until_done(rng, lambda: replay(where))
    print(json.dumps({"turned": turned, "replayed": replayed}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
