"""Brokers that any process of a test session may kill and start again, whoever started them."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from towpath.dev.broker import LocalCluster
from towpath.dev.process import Identity, JavaProcess


class SharedCluster(LocalCluster):
    """A cluster whose processes are known by a file each, so that it can be pickled."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._processes = _Known(self.home)


class _Known(MutableMapping[int, JavaProcess]):
    """The broker processes of a cluster, by broker id; each stands in a file."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def __getitem__(self, broker: int) -> JavaProcess:
        file = self._file(broker)
        if not file.exists():
            raise KeyError(broker)
        return _AnybodysProcess(
            Identity(**json.loads(file.read_text())), file.with_name("broker.log")
        )

    def __setitem__(self, broker: int, process: JavaProcess) -> None:
        process.forget()
        self._file(broker).write_text(json.dumps(asdict(process.identity)))

    def __delitem__(self, broker: int) -> None:
        self._file(broker).unlink()

    def __iter__(self) -> Iterator[int]:
        files = self._home.glob("broker-*/process.json")
        return iter(sorted(int(file.parent.name.rpartition("-")[2]) for file in files))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _file(self, broker: int) -> Path:
        return self._home / f"broker-{broker}" / "process.json"


class _AnybodysProcess(JavaProcess):
    """A process that may be the child of another one than this."""

    def __init__(self, identity: Identity, log: Path) -> None:
        self.identity, self.log = identity, log

    @property
    def running(self) -> bool:
        # A zombie is not running; if it is a child of ours, nobody else would end it.
        with suppress(ChildProcessError):
            os.waitpid(self.identity.pid, os.WNOHANG)
        return self.identity.process() is not None

    def send(self, number: signal.Signals) -> None:
        process = self.identity.process()
        if process is not None:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.running:
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.wait(30), f"process {self.identity.pid} could not be killed"

    def forget(self) -> None:
        pass
