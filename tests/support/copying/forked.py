"""Slices that are run in forks of this program, which has one thread, unlike a process of tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.whole_files import write_whole
from towpath.engine.attempts import attempt
from towpath.engine.failure import of_spark
from towpath.engine.forks import Forks
from towpath.engine.here import Here
from towpath.model.errors import StoreError, TowpathError

SCHEMA = "n bigint, said string"


def rows(number: int) -> Iterator[pa.RecordBatch]:
    """Tell of a slice, in two batches."""
    yield pa.RecordBatch.from_pydict({"n": [number], "said": [str(os.getpid())]})
    yield pa.RecordBatch.from_pydict({"n": [number], "said": [None]})


def nothing(_: int) -> Iterator[pa.RecordBatch]:
    """Tell nothing."""
    return iter(())


def second(_: int) -> Iterator[pa.RecordBatch]:
    """Go well at the second attempt, as the first one was killed."""
    if attempt() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    yield pa.RecordBatch.from_pydict({"n": [attempt()], "said": ["went well"]})


def ours(file: str) -> Iterator[pa.RecordBatch]:
    """Fail by an error of ours, and note each attempt."""
    with Path(file).open("a") as out:
        out.write(f"{attempt()} ")
    raise StoreError("file:here", "the disk of a slice is full")
    yield


def foreign(_: int) -> Iterator[pa.RecordBatch]:
    """Fail by an error of somebody else."""
    raise LookupError("no such thing")
    yield


def long(file: str) -> Iterator[pa.RecordBatch]:
    """Go on for ever, in a process whose number is in a file."""
    write_whole(Path(file), str(os.getpid()))
    time.sleep(600)
    yield from ()


def counting(file: str) -> Iterator[pa.RecordBatch]:
    """Note how many slices run now."""
    folder = Path(file)
    mine = folder / f"run-{os.getpid()}"
    mine.touch()
    time.sleep(0.1)
    yield pa.RecordBatch.from_pydict({"n": [len([*folder.glob("run-*")])], "said": [""]})
    mine.unlink()


class Tried:
    """What comes of slices, as data."""

    def __init__(self, here: Here) -> None:
        self._here = here

    def __call__(
        self, work: Callable[[Any], Any], slices: list[Any], stop: threading.Event | None = None
    ) -> Any:
        told: list[tuple[int, int]] = []
        try:
            made = self._here.run(
                slices, work, SCHEMA, lambda *now: told.append(now), stop or threading.Event()
            )
        except RuntimeError as error:
            said = of_spark(error)
            return {"error": str(said), "code": said.code}
        except TowpathError as error:
            return {"error": str(error), "code": error.code}
        return {"rows": made.to_pylist(), "types": [*map(str, made.schema.types)], "told": told}


def killed(_: int) -> Iterator[pa.RecordBatch]:
    """Be killed in each attempt, as where there is no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)
    yield from ()


def helped(file: str) -> Iterator[pa.RecordBatch]:
    """Start a program, and go on until a file is there."""
    helper = subprocess.Popen(["sleep", "600"])
    write_whole(Path(file), f"{os.getpid()} {helper.pid}")
    while not Path(file).with_suffix(".go").exists():
        time.sleep(0.05)
    helper.kill()
    yield from rows(attempt())


def tree(folder: Path) -> None:
    """Run a slice that has a program, and another one until this is asked to end."""
    stop = threading.Event()
    here = Here(Forks(()), 2, 1)
    signal.signal(signal.SIGTERM, lambda *_: None)  # as commands do, which drain then
    signal.signal(signal.SIGUSR1, lambda *_: threading.Thread(target=stop.set).start())
    tried = Tried(here)
    told = tried(helped, [str(folder / "first")])
    write_whole(folder / "told.json", json.dumps(told | {"forker": here._forks.pid}))
    tried(helped, [str(folder / "second")], stop)


def main(folder: Path) -> None:
    """Run slices of each kind, print what came of them, then run one until this is killed."""
    forks = Forks(())
    here = Here(forks, 2, 1)
    tried = Tried(here)
    stop = threading.Event()
    told = {
        "rows": tried(rows, [1, 2, 3]),
        "nothing": tried(nothing, [1]),
        "none": tried(rows, []),
        "second": tried(second, [1]),
        "killed": tried(killed, [1]),
        "ours": tried(ours, [str(folder / "attempts")]),
        "foreign": tried(foreign, [1]),
        "at once": tried(counting, [str(folder)] * 5),
    }
    threading.Timer(0.5, stop.set).start()
    told["stopped"] = tried(long, [str(folder / "stopped")], stop)
    lost = Here(Forks(()), 1, 1)
    os.kill(lost._forks.pid, signal.SIGKILL)
    told["lost"] = Tried(lost)(long, [str(folder / "lost")])
    (folder / "told.json").write_text(json.dumps(told))
    tried(long, [str(folder / "killed")])


if __name__ == "__main__":
    {"all": main, "tree": tree}[sys.argv[2]](Path(sys.argv[1]))
