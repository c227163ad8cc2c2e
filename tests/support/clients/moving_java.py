"""Java's own clients, of any version, that know nothing but a gateway while their cluster moves."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.clients.moving import Read, Traffic, require_whole
from tests.support.kafka import PATIENCE, wait_until
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


class JavaTraffic:
    """Two producers, and a member of each of some groups, of one version of kafka-clients.

    Args:
        folder: Where their output goes.
        version: The version.
        topic: The topic.
        groups: Configs of the member of each group.
        configs: Configs of the producers.
    """

    def __init__(
        self,
        folder: Path,
        version: str,
        topic: str,
        groups: Mapping[str, dict[str, str]],
        configs: dict[str, str] | None = None,
    ) -> None:
        self.topic, more = topic, configs or {}
        self._writers = [
            MovingClient(folder, version, "write", str(number), topic, more) for number in range(2)
        ]
        self._readers = [
            MovingClient(folder, version, "read", group, topic, of) for group, of in groups.items()
        ]

    @property
    def failures(self) -> list[str]:
        """What applications would have been told."""
        return [told for each in self._every for told in each.failures]

    @property
    def longest(self) -> list[int]:
        """How long the slowest record of each producer waited for its answer, in ms."""
        return [each.number("LONGEST") for each in self._writers]

    @property
    def _every(self) -> list[MovingClient]:
        return [*self._writers, *self._readers]

    def start(self, bootstrap: str) -> None:
        """Begin, and wait until all members read."""
        for each in self._every:
            each.start(bootstrap)
        self.go_on()

    def go_on(self) -> None:
        """Wait until all members read on."""
        known = {each.name: len(each.read) for each in self._readers}
        wait_until(
            lambda: all(len(each.read) > known[each.name] + 50 for each in self._readers),
            lambda: f"members read on: {self.failures}",
            120,
        )

    def end(self) -> Traffic:
        """End the producers, and the members once they have read all; return what was sent."""
        traffic = Traffic("", self.topic)
        for each in self._writers:
            each.stop()
            traffic.sent[int(each.name)] = each.number("SENT")
        total = sum(traffic.sent.values())
        wait_until(
            lambda: all(len({*each.read}) >= total for each in self._readers),
            f"all {total} are read",
            120,
        )
        for each in self._readers:
            each.stop()
        return traffic

    def kill(self) -> None:
        """Leave nothing of them behind."""
        for each in self._every:
            each.kill()

    def require_whole(self, sent: Traffic, bootstrap: str) -> None:
        """Fail unless no application was told anything, and each record is there and read once."""
        assert self.failures == []
        require_whole(sent, bootstrap)
        for each in self._readers:
            assert max(Counter(each.read).values()) == 1, f"{each.name} read nothing twice"
