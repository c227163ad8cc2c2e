"""A run of a link in a process of its own without Spark, for tests that kill it again and again.

`python -m tests.support.copying.light_run FILE` does what `towpath run FILE` does, without a
display. Its rounds are what the engine of this machine runs (`engine/here.py`), so it starts and
copies with a tenth of the CPU. What Spark does when a run is killed, other tests play.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from towpath.engine.forks import Forks
from towpath.engine.here import Begun, Here
from towpath.engine.rounds import Job

_SLOTS = 1


class LightRounds:
    """One round, with the interface of `towpath.engine.rounds.Rounds`.

    Args:
        here: Runs its slices.
        job: The round.
        on_round: Gets the number and the rows of the round at its end.
    """

    def __init__(
        self, here: Here, job: Job, on_round: Callable[[int, list[dict[str, Any]]], None]
    ) -> None:
        assert job.once
        self._over = threading.Event()
        self._error: Exception | None = None
        about = here, job, on_round
        self._thread = threading.Thread(target=self._go, args=about, daemon=True)
        self._thread.start()

    def _go(
        self, here: Here, job: Job, on_round: Callable[[int, list[dict[str, Any]]], None]
    ) -> None:
        module, _, name = job.work.partition(":")
        try:
            slices = job.plan(job.first)
            work = getattr(import_module(module), name)
            rows = here.run(slices, work, job.schema, lambda _, __: None, self._over)
            on_round(job.first, rows.to_pylist())
        except Exception as error:  # noqa: BLE001  # told by `require`
            self._error = error

    def wait(self, seconds: float) -> bool:
        """Wait for the round to end; return whether it has ended."""
        self._thread.join(seconds)
        self.require()
        return not self._thread.is_alive()

    def require(self) -> None:
        """Raise if the round has failed."""
        if self._error is not None and not self._over.is_set():
            raise RuntimeError(str(self._error)) from self._error

    def stop(self) -> None:
        """Stop its slices."""
        self._over.set()
        self._thread.join()


def main() -> None:
    """Run the link of the file that is named."""
    from towpath.mirror import COPYING

    forks = Forks(COPYING)
    from towpath.cli.signals import stopping
    from towpath.mirror.failback.stray_loop import StrayLoop
    from towpath.mirror.run import round_planner
    from towpath.mirror.run.progress import Wishes
    from towpath.mirror.run.run import run
    from towpath.settings import load

    setattr(round_planner, "Rounds", LightRounds)  # noqa: B010  # mypy forbids it otherwise
    with stopping() as stop:
        here = Begun(Here(forks, _SLOTS, 2))
        run(load(Path(sys.argv[1])), Wishes(), here, stop, _show, beside=StrayLoop)


def _show(progress: Any) -> None:
    if progress.trouble:
        print(progress.trouble, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
