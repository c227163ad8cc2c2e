"""A failover, or a failback and the replay of what it salvaged, in processes that kill themselves.

`python -m tests.support.failback_victim SEED FILE WINS` turns the link of a file round, and replays
all that was salvaged; with `failover` for WINS it fails the link over. Each attempt is a fork that
is killed at a random request, before or behind it, until one ends by itself. Some attempts are
frozen instead, and wake up when all is done: nothing that they do then may change anything. A line
of JSON tells how many were killed, and how many were frozen. The link back does not run.
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
from dataclasses import dataclass, field
from pathlib import Path

from towpath.ledger.entries import LinkStage
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.mirror.failback.salvaged import ReplayWish, replay_salvaged
from towpath.mirror.failover.failover import failover
from towpath.mirror.failover.request import FailoverRequest
from towpath.mirror.failover.state_before_failover import FailoverScope
from towpath.model.errors import LinkHeldError
from towpath.model.nouns import Side
from towpath.settings import load

_FIRST, _MORE = 30, 10
"""Upper bound of the request at which the first attempt is killed, and by how much it grows."""
_FROZEN = 0.1
"""How many of the attempts are frozen, as a share of one."""
_HELD = 5
FAILOVER = "failover"


def back_of(file: Path) -> Path:
    """Return where the file of the link back is written."""
    return file.with_name(f"{file.stem}-back.yaml")


def turn_round(file: Path, wins: Side) -> bool:
    """Turn a link round; returns whether that was done."""
    asked = FailbackRequest(file=file, to=back_of(file), wins=wins, agreed=lambda _: True)
    return failback(load(file), asked).done


def fail_over(file: Path) -> bool:
    """Fail a link over; returns whether clients may come."""
    done = failover(load(file), FailoverRequest(scope=FailoverScope(), agreed=lambda _: True))
    return done.state is not None and done.state.state == LinkStage.FAILED_OVER


def replay(file: Path) -> bool:
    """Replay all that was salvaged; returns whether nothing is left."""
    found = replay_salvaged(load(file), ReplayWish(frozenset(), lambda _: True))
    return not any(each.left or each.missing or each.trouble for each in found)


@dataclass
class Attempts:
    """Attempts at some work, each in a fork."""

    rng: random.Random
    work: Callable[[], bool]
    killed: int = 0
    frozen: list[int] = field(default_factory=list)

    def until_done(self) -> None:
        """Do the work until an attempt ends by itself, then wake up those that are frozen."""
        while not self._done():
            pass
        for child in self.frozen:
            os.kill(child, signal.SIGCONT)
            os.waitpid(child, 0)  # refused, or with nothing left to do

    def _done(self) -> bool:
        step = self.rng.randint(1, _FIRST + _MORE * (self.killed + len(self.frozen)))
        ends = signal.SIGSTOP if self.rng.random() < _FROZEN else signal.SIGKILL
        behind, child = self.rng.random() < 0.5, os.fork()
        if not child:
            _attempt(step, self.work, ends, behind=behind)
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            self.frozen.append(child)
        elif os.WIFSIGNALED(status):
            self.killed += 1
        else:
            assert os.WEXITSTATUS(status) in {0, _HELD}, f"an attempt failed with {status}"
            return os.WEXITSTATUS(status) == 0
        return False


def _attempt(step: int, work: Callable[[], bool], ends: signal.Signals, *, behind: bool) -> None:
    _end_at(step, ends, behind=behind)
    try:
        code = 0 if work() else 3
    except LinkHeldError:
        code = _HELD  # by a frozen one, until it counts as dead
    except BaseException:  # noqa: BLE001  # of a fork, which must not return
        traceback.print_exc()
        code = 1
    os._exit(code)


def _end_at(step: int, ends: signal.Signals, *, behind: bool) -> None:
    sendall, seen = socket.socket.sendall, 0

    def counted(self: socket.socket, *data: object) -> None:
        nonlocal seen
        seen += 1
        if seen == step and not behind:
            os.kill(os.getpid(), ends)
        sendall(self, *data)  # type: ignore[arg-type]
        if seen == step and behind:
            os.kill(os.getpid(), ends)

    socket.socket.sendall = counted  # type: ignore[method-assign, assignment]


def main(seed: str, file: str, wins: str) -> None:
    """Play both, and print how many attempts were killed."""
    rng, where = random.Random(seed), Path(file)
    if wins == FAILOVER:
        parts = [Attempts(rng, lambda: fail_over(where))]
    else:
        parts = [
            Attempts(rng, lambda: turn_round(where, Side(wins))),
            Attempts(rng, lambda: replay(where)),
        ]
    for each in parts:
        each.until_done()
    told = {"killed": sum(each.killed for each in parts)}
    told["frozen"] = sum(len(each.frozen) for each in parts)
    print(json.dumps(told))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
