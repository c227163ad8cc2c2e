"""The program `towpath` in this process, on the Spark that the tests share."""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.json_outputs import require_fits
from towpath.archive.write.run import ARCHIVING
from towpath.cli.main import main
from towpath.compare import COMPARING
from towpath.mirror import COPYING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = ("--master", "local[2]")
_STARTING = "towpath-spark"
_WORKS = (*COPYING, *COMPARING, *ARCHIVING)


def shared_spark() -> SparkSession:
    """The Spark of this process, whose workers have read what slices need before the first one."""
    from towpath.engine.session import session

    # Two links run at once while one is turned round, each with two rounds while one takes over.
    return session(MASTER[1], "towpath tests", credentials=False, works=_WORKS, rounds=4)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything that it printed."""
        return self.out + self.err

    @property
    def json(self) -> Any:
        """What it printed with `--output json`."""
        return json.loads(self.out)


@dataclass
class Here:
    """Runs commands in this process, and leaves it as it was."""

    shown: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Ended:
        """Do what `towpath run` does, until it ends by itself."""
        return self.on_spark("run", *arguments)

    def on_spark(self, *arguments: str) -> Ended:
        """Do what `towpath` does with these arguments, on the Spark that the tests share."""
        shared_spark()
        numbers = signal.SIGINT, signal.SIGTERM
        before = [signal.getsignal(number) for number in numbers]
        try:
            return self(*arguments, *MASTER)
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def __call__(self, *arguments: str) -> Ended:
        """Do what `towpath` does with these arguments."""
        code = main(arguments)
        # A run that is refused leaves it behind, and it moves the standard error about.
        for thread in threading.enumerate():
            if thread.name.startswith(_STARTING):
                thread.join(60)
        ended = Ended(code, *self.shown.readouterr())
        require_fits(arguments, ended.out)
        return ended
