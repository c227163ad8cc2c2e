"""Whole restores in processes that kill themselves at a step, without the seconds Spark starts in.

`python -m tests.support.archive.restore_victim SEED FILE...` plays the restore of each file: once
or more often it is killed, and then it goes on to its end. All that `towpath restore run` does is
done, but slices run in processes that this one forks, in place of Spark's. A step is a request to
the target, a file that is written, or an object that is read, in the driver or in a worker. The
process is killed before it, in the middle of it, or behind it. The first restore is not killed: it
counts the steps. For each other one, a line of JSON is printed with the file, where it was killed,
and how it ended.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import socket
import struct
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from towpath.archive.config import load_archive
from towpath.archive.read.feed.restore_work import RestoreSlice
from towpath.archive.restore import playing
from towpath.archive.restore.run import run
from towpath.archive.restore.slices import run_slice
from towpath.archive.restore.task import RestoreTask
from towpath.records.work import TOLD
from towpath.store import Store

_WORKERS, _SLICES = 8, 2
"""Workers that a driver may use up, and how many slices run at a time."""
_WRITES = {
    0: "Produce", 8: "OffsetCommit", 19: "CreateTopics", 21: "DeleteRecords", 22: "InitProducerId",
    24: "AddPartitionsToTxn", 26: "EndTxn", 27: "WriteTxnMarkers", 37: "CreatePartitions",
    44: "IncrementalAlterConfigs",
}  # fmt: skip
_NAMES = _WRITES | {
    1: "Fetch", 2: "ListOffsets", 3: "Metadata", 9: "OffsetFetch", 10: "FindCoordinator",
    15: "DescribeGroups", 16: "ListGroups", 18: "ApiVersions", 23: "OffsetForLeaderEpoch",
    32: "DescribeConfigs", 35: "DescribeLogDirs", 48: "DescribeClientQuotas",
    60: "DescribeCluster", 61: "DescribeProducers", 69: "ConsumerGroupDescribe",
}  # fmt: skip
_BEFORE, _HALF, _BEHIND = "before", "half of", "behind"
_OFTEN = 4
"""How much more often requests that write are chosen."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a process is killed: at the given occurrence of a step in a driver or a worker."""

    role: str
    name: str
    side: str
    number: int


NEVER = Step("", "", "", 0)


class Steps:
    """Counts the steps of this process, and kills it at one of them.

    Args:
        role: Driver or worker.
        kill: Where, if in this process.
        tell: The file that gets each step, or the kill.
    """

    def __init__(self, role: str, kill: Step | None, tell: Path) -> None:
        self._role, self._kill, self._tell = role, kill, tell
        self._seen = Counter[str]()
        self._lock = threading.Lock()

    def around(self, name: str, call: Callable[[], Any], half: Callable[[], Any]) -> Any:
        """Do a step, as far as this process lives."""
        with self._lock:
            self._seen[name] += 1
            kill, number = self._kill, self._seen[name]
        if kill is None:
            self._say(f"{self._role} {name}\n")
        if kill is None or (kill.name, kill.number) != (name, number):
            return call()
        self._say(f"{kill.side} {number}. {name} in the {kill.role}\n")
        if kill.side != _BEFORE:
            (half if kill.side == _HALF else call)()
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    def _say(self, line: str) -> None:
        with self._tell.open("a") as file:
            file.write(line)

    def install(self) -> None:
        """Count the calls that matter from now on."""
        for name in ("send", "sendall", "sendmsg"):
            self._on_socket(name)
        for owner, name in ((os, "fsync"), (os, "link"), (os, "unlink"), (Store, "reader")):
            self._on(owner, name)

    def _on(self, owner: Any, name: str) -> None:
        true: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            return self.around(name, lambda: true(*args, **more), lambda: None)

        setattr(owner, name, call)

    def _on_socket(self, name: str) -> None:
        true: Callable[..., Any] = getattr(socket.socket, name)
        send = socket.socket.send

        def call(to: socket.socket, data: Any, *more: Any) -> Any:
            sent = b"".join(data) if name == "sendmsg" else bytes(data)
            asked = _request(name, sent)
            if not asked:
                return true(to, data, *more)
            half = sent[: len(sent) // 2]
            return self.around(asked, lambda: true(to, data, *more), lambda: send(to, half))

        setattr(socket.socket, name, call)


def _request(call: str, sent: bytes) -> str:
    """Return the name of the request that begins with these bytes, "" if none does."""
    if len(sent) < 8:
        return ""
    length, key, version = struct.unpack(">ihh", sent[:8])
    if not (4 < length < 1 << 28 and 0 <= key < 100 and 0 <= version < 30):
        return ""
    # Records are sent by `sendmsg`, entries of the ledger by `sendall`.
    return f"{_NAMES.get(key, key)} by {call}"


class Worker:
    """A process that runs slices for the driver that forked it.

    Args:
        steps: Counts its steps.
        others: Its siblings, whose pipes it closes.
    """

    def __init__(self, steps: Steps, others: Sequence[Worker]) -> None:
        take, self._give = os.pipe()
        self._said, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for each in (*others, self):
                each.close()
            with suppress(BaseException):
                steps.install()
                _serve(take, say)
            os._exit(0)
        os.close(take)
        os.close(say)

    def run(self, work: RestoreSlice) -> bytes:
        """Run a slice; return what the worker answered, nothing if it died."""
        with os.fdopen(os.dup(self._give), "wb") as out:
            pickle.dump(work, out)
        with os.fdopen(os.dup(self._said), "rb") as said:
            return said.read()

    def close(self) -> None:
        os.close(self._give)
        os.close(self._said)


def _serve(take: int, say: int) -> None:
    with os.fdopen(take, "rb") as asked:
        work = pickle.load(asked)  # noqa: S301  # ours
    try:
        rows: Any = [row for batch in run_slice(work) for row in batch.to_pylist()]
    except BaseException as error:  # noqa: BLE001  # the driver gets it
        rows = f"{type(error).__module__}.{type(error).__name__}: {error}"
    with os.fdopen(say, "wb") as out:
        pickle.dump(rows, out)


class ForkedJob(threading.Thread):
    """The slices of a round in processes, as `SliceJob` has them in Spark."""

    workers: list[Worker]

    def __init__(self, _spark: Any, slices: Sequence[RestoreSlice]) -> None:
        super().__init__(daemon=True)
        self._slices, self.cancel = slices, threading.Event()
        self._answers: list[bytes] = []

    def run(self) -> None:
        used = [(self.workers.pop(0), each) for each in self._slices]
        threads = [threading.Thread(target=self._ask, args=on) for on in used]
        for each in threads:
            each.start()
        for each in threads:
            while each.is_alive():
                each.join(0.1)
                if self.cancel.is_set():
                    for worker, _ in used:
                        with suppress(ProcessLookupError):
                            os.kill(worker.pid, signal.SIGKILL)

    def _ask(self, worker: Worker, work: RestoreSlice) -> None:
        self._answers.append(worker.run(work))

    def wait(self, seconds: float) -> bool:
        """See `SliceJob`."""
        self.join(seconds)
        return not self.is_alive()

    def result(self) -> pa.Table:
        """See `SliceJob`."""
        if not all(self._answers):
            raise RuntimeError("a worker died")
        found = [pickle.loads(each) for each in self._answers]  # noqa: S301  # ours
        for each in found:
            if isinstance(each, str):
                raise RuntimeError(each)  # noqa: TRY004  # as Spark does
        rows = [row for each in found for row in each]
        names = [each.split()[0].strip("`") for each in TOLD.split(",")]
        return pa.table({name: [row.get(name) for row in rows] for name in names})


class NoSpark:
    """Stands where a session of Spark is awaited."""

    def require_allowed(self) -> None:
        """See `Starting`."""

    def result(self) -> None:
        """See `Starting`."""


def drive(file: Path, kill: Step | None, tell: Path) -> int:
    """Restore in this process and its workers; return the exit code."""
    os.setpgrp()
    counted: list[Worker] = []
    for number in range(_WORKERS):
        here = kill if kill is None or (kill.role, number) == ("worker", 0) else NEVER
        counted.append(Worker(Steps("worker", here, tell), counted))
    ForkedJob.workers = counted
    for name, stands_in in (("SliceJob", ForkedJob), ("slots", lambda *_: _SLICES)):
        setattr(playing, name, stands_in)
    here = kill if kill is None or kill.role == "driver" else NEVER
    Steps("driver", here, tell).install()
    [task] = RestoreTask.each(load_archive(file))
    done = run(task, NoSpark(), threading.Event(), lambda _: None)  # type: ignore[arg-type]
    if not done.complete:
        sys.stderr.write(f"{file}: {done}\n")
    return 0 if done.complete else 3


class Driver:
    """A driver in a process group of its own, with its workers."""

    def __init__(self, file: Path, kill: Step | None) -> None:
        self._killed = file.with_suffix(".steps" if kill is None else ".killed")
        self._killed.write_text("")
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                code = drive(file, kill, self._killed)
            except BaseException:  # noqa: BLE001  # it is told, and the test fails
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)

    def wait(self) -> int:
        """Wait for its end; return its code."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def told(self) -> str:
        """The steps that were done, or where it was killed."""
        return self._killed.read_text().strip()

    def end(self) -> None:
        """Kill the workers that live on."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def steps_of(file: Path) -> Counter[tuple[str, str]]:
    """Restore without a kill; return how often each step was done, by role and name."""
    driver = Driver(file, None)
    code = driver.wait()
    driver.end()
    if code:
        sys.exit(code)
    lines = driver.told.splitlines()
    return Counter((role, name) for role, _, name in (line.partition(" ") for line in lines))


def drawn(rng: random.Random, steps: Counter[tuple[str, str]]) -> Step:
    """Return where to kill: all kinds of steps come as often, however often they are done."""
    kinds = sorted(steps)
    weights = [_OFTEN if name.split()[0] in _WRITES.values() else 1 for _, name in kinds]
    [(role, name)] = rng.choices(kinds, weights)
    most = steps[role, name] if role == "driver" else max(1, steps[role, name] // _SLICES)
    return Step(role, name, rng.choice((_BEFORE, _HALF, _BEHIND)), rng.randint(1, most))


def play(rng: random.Random, file: Path, steps: Counter[tuple[str, str]]) -> None:
    """Kill the restore of a file at some steps, then let it end."""
    kills, orphans, code = list[str](), list[Driver](), -signal.SIGKILL
    for _ in range(rng.choice((1, 1, 2))):
        driver = Driver(file, drawn(rng, steps))
        orphans.append(driver)
        code = driver.wait()
        if driver.told:
            kills.append(driver.told)
        if code != -signal.SIGKILL:
            break  # it was done: it did not come to the step, or only a worker was killed
        if rng.random() < 0.5:  # else its workers write on until they notice
            driver.end()
    if code:
        orphans.append(last := Driver(file, NEVER))
        code = last.wait()
    for each in orphans:
        each.end()
    print(json.dumps({"file": str(file), "kills": kills, "code": code}), flush=True)  # noqa: T201


def main() -> None:
    """Do what the arguments say."""
    rng, (first, *files) = random.Random(sys.argv[1]), map(Path, sys.argv[2:])
    steps = steps_of(first)
    for each in files:
        play(rng, each, steps)


if __name__ == "__main__":
    main()
