"""Java's own clients, of any version, that know nothing but a gateway while their cluster moves."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clients.moving import Read
from tests.support.kafka import PATIENCE
from towpath.dev import distribution
from towpath.engine import java

_PROGRAM = Path(__file__).parents[1] / "java" / "MovingClient.java"


@dataclass
class MovingClient:
    """A producer, or a member of a group, in a process of its own.

    Attributes:
        folder: Where its output goes.
        version: The version of kafka-clients.
        kind: `write`, `read`, `transact` or `process`.
        name: The number of the producer, its transactional id, or the group.
        topic: The topic; of `process`, `INPUT>OUTPUT`.
        configs: Configs of its own.
    """

    folder: Path
    version: str
    kind: str
    name: str
    topic: str
    configs: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def said(self) -> str:
        """What it printed."""
        return self._file.read_text(errors="replace")

    @property
    def failures(self) -> list[str]:
        """What an application would have been told."""
        return [line for line in self.said.splitlines() if line.startswith("FAILED")]

    @property
    def read(self) -> list[Read]:
        """Partition and offset of each record that it read."""
        lines = [line.split() for line in self.said.splitlines(keepends=True) if line[-1:] == "\n"]
        return [(int(line[1]), int(line[2])) for line in lines if line[0] == "READ"]

    def numbers(self, what: str) -> list[int]:
        """Return the transactions of which it printed this."""
        lines = [line.split() for line in self.said.splitlines(keepends=True) if line[-1:] == "\n"]
        return [int(line[1]) for line in lines if line[0] == what]

    def number(self, what: str) -> int:
        """Return what it printed at its end."""
        (line,) = [line for line in self.said.splitlines() if line.startswith(what)]
        return int(line.split()[1])

    @property
    def _file(self) -> Path:
        return self.folder / f"{self.kind}-{self.name}-{self.version}.out"

    def start(self, bootstrap: str) -> None:
        """Begin."""
        configs = {"bootstrap.servers": bootstrap, **self.configs}
        with self._file.open("wb") as out, self._file.with_suffix(".err").open("wb") as err:
            self._process = subprocess.Popen(
                [
                    str(java.find()), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                    "-cp", f"{distribution.fetch(self.version)}/*", str(_PROGRAM),
                    self.kind, self.name, self.topic, *(f"{k}={v}" for k, v in configs.items()),
                ],
                stdin=subprocess.PIPE, stdout=out, stderr=err,
            )  # fmt: skip

    def stop(self) -> None:
        """Let it end in good order."""
        assert self._process is not None
        assert self._process.poll() is None, f"it ended: {self.said[-2000:]}"
        self._process.communicate(timeout=3 * PATIENCE)
        assert self.said.splitlines()[-1] == "ENDED", self.said[-2000:]
        self._process = None

    def kill(self) -> None:
        """Leave nothing of it behind."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def configs_of(protocol: str) -> dict[str, str]:
    """Return configs of a member; in 3.9 the protocol has no config that everybody has."""
    if protocol == "consumer":
        return {"group.protocol": "consumer"}
    return {"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
