"""Programs of clients of other makers, and what a test sees of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.clients.moving import PARTITIONS, VALUE, Read
from tests.support.kafka import PATIENCE, consume, wait_until
from tests.support.program import environment
from towpath.dev import distribution
from towpath.engine import java
from towpath.runtime.home import home_folder

_FOLDER = Path(__file__).parent
_JAVA = Path(__file__).parents[2] / "java" / "MovingClient.java"
_BOOTSTRAP = {
    "kafka-python": "bootstrap_servers",
    "aiokafka": "bootstrap_servers",
    "kafka-clients": "bootstrap.servers",
}


@dataclass
class OtherClient:
    """A producer, or a member of a group, in a process of its own.

    Attributes:
        folder: Where its output goes.
        library: `kafka-python`, `aiokafka`, `franz-go` or `kcat`; `kafka-clients` with a version.
        kind: `write` or `read`.
        name: The number of the producer, or the group.
        topic: The topic.
        configs: Configs by the names of its library.
        label: What tells it from others of its group.
    """

    folder: Path
    library: str
    kind: str
    name: str
    topic: str
    configs: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    _process: subprocess.Popen[bytes] | None = None

    def __str__(self) -> str:
        about = " ".join(f"{key}={value}" for key, value in self.configs.items())
        return f"{self.library} {self.kind} {self.name} {self.label} {about}"

    @property
    def said(self) -> str:
        """What it printed."""
        return self._file.read_text(errors="replace")

    @property
    def failures(self) -> list[str]:
        """What an application was told."""
        return [f"{self}: {each}" for each in self.said.splitlines() if each.startswith("FAILED")]

    @property
    def read(self) -> list[Read]:
        """Partition and offset of each record that it read."""
        return [place for _, place in self.times]

    @property
    def times(self) -> list[tuple[int, Read]]:
        """When it read each record, in ms since 1970, with partition and offset."""
        lines = [line.split() for line in self.said.splitlines(keepends=True) if line[-1:] == "\n"]
        return [(int(line[3]), (int(line[1]), int(line[2]))) for line in lines if line[0] == "READ"]

    def silent(self, begin: int, end: int) -> int:
        """Return the longest time without a record that it read in some span, in ms."""
        times = [at for at, _ in self.times if begin <= at <= end]
        return max((later - each for each, later in pairwise(times)), default=0)

    def number(self, what: str) -> int:
        """Return what it printed at its end."""
        (line,) = [line for line in self.said.splitlines() if line.startswith(what)]
        return int(line.split()[1])

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.library}-{self.kind}-{self.name}-{self.label}.out"

    def start(self, bootstrap: str) -> None:
        """Begin."""
        name = _BOOTSTRAP.get(self.library.split()[0], "bootstrap")
        configs = {name: bootstrap, **self.configs}
        words = [f"{key}={value}" for key, value in configs.items()]
        command = [*command_of(self.library), self.kind, self.name, self.topic, *words]
        with self._file.open("wb") as out, self._file.with_suffix(".err").open("wb") as err:
            self._process = subprocess.Popen(
                command, env=environment(), stdin=subprocess.PIPE, stdout=out, stderr=err
            )

    def stop(self) -> None:
        """Let it end in good order."""
        assert self._process is not None
        assert self._process.poll() is None, f"{self} ended: {self.said[-2000:]}"
        self._process.communicate(timeout=3 * PATIENCE)
        assert self.said.splitlines()[-1] == "ENDED", f"{self}: {self.said[-2000:]}"
        self._process = None

    def kill(self) -> None:
        """Leave nothing of it behind."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def command_of(library: str) -> Sequence[str]:
    """Return the command of a library's client."""
    if library == "franz-go":
        return [str(_built())]
    if library == "kcat" and shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    if library.startswith("kafka-clients"):
        jars = distribution.fetch(library.split()[1])
        options = "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"
        return [str(java.find()), *options, "-cp", f"{jars}/*", str(_JAVA)]
    module = library.replace("-", "_")
    return [sys.executable, "-m", f"tests.support.clients.others.{module}_client"]


def _built() -> Path:
    """Build the client of franz-go, once for each form of its program; skip without Go."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")
    if go is None:
        pytest.skip("the client of franz-go needs Go")
    folder = home_folder() / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "franz-go-client"
    subprocess.run([go, "build", "-o", str(program), "."], cwd=_FOLDER / "go", check=True)
    return program


def go_on(*clients: OtherClient) -> None:
    """Wait until all members read on."""
    known = {str(each): len(each.read) for each in clients}
    wait_until(
        lambda: all(len(each.read) > known[str(each)] + 50 for each in clients),
        lambda: (
            f"members read on: {[(str(each), len(each.read), each.failures) for each in clients]}"
        ),
        120,
    )


def _numbered(value: bytes) -> tuple[str, int]:
    if len(value) == VALUE.size and value[0] == 0:  # of Java
        name, number = VALUE.unpack(value)
        return str(name), int(number)
    text, number = value.decode().split()
    return text, int(number)


def require_whole(sent: Mapping[str, int], bootstrap: str, topic: str) -> None:
    """Fail unless a cluster has each record of all producers once, in the order of each.

    Args:
        sent: How many records each producer sent.
        bootstrap: The cluster.
        topic: The topic.
    """
    found = defaultdict[tuple[str, int], list[int]](list)
    for partition in range(PARTITIONS):
        for record in consume(bootstrap, topic, [partition]):
            name, number = _numbered(record.value or b"")
            found[name, partition].append(number)
    for name, count in sent.items():
        for partition in range(PARTITIONS):
            wanted = [*range(partition, count, PARTITIONS)]
            own = found.pop((name, partition))
            assert not {*wanted} - {*own}, f"producer {name} lost {sorted({*wanted} - {*own})}"
            doubled = [n for n, times in Counter(own).items() if times > 1]
            assert not doubled, f"producer {name} has doubled {doubled}"
            assert own == wanted, f"producer {name}: one overtook another"
    assert not found, f"of nobody: {[*found]}"
