"""The two copiers, each a process of its own that mirrors until it is stopped."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.arena import Arena
from bench.watched import WatchedProcess
from towpath.dev import distribution
from towpath.dev.broker_configs import properties_text
from towpath.dev.process import LOG4J2
from towpath.engine import java

DISCOVER = 5
"""Seconds between two looks for new topics, the same for both."""

MIRROR_MAKER_JVM = ("-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Xms1g", "-Xmx1g")
"""As Kafka's own start script has it, with a fixed heap."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a copier is to do.

    Attributes:
        topics: Names of the topics of the source.
        codec: Kafka's name of the codec that their batches have.
        partitions: Of the topic that counts.
        quick: Whether latency counts rather than throughput.
        round: How long one round of Towpath lasts.
        discover: Seconds between two looks for new topics.
        also: An expression for further topics.
        python: The Python whose Towpath runs.
        more: Further lines of Towpath's file.
        properties: Further properties of MirrorMaker 2's flow, such as transforms.
    """

    topics: tuple[str, ...]
    codec: str
    partitions: int
    quick: bool = False
    round: str = "4h"
    discover: int = DISCOVER
    also: str = ""
    python: str = sys.executable
    more: str = ""
    properties: tuple[tuple[str, str], ...] = ()


class Copier(WatchedProcess):
    """A copier that runs while it is entered.

    Args:
        arena: Its clusters.
        wish: What it is to do.
        home: Where its files go.
        label: Sets its topics and books apart from those of the same copier before.
    """

    name = ""

    def __init__(self, arena: Arena, wish: Wish, home: Path, label: str) -> None:
        self.alias = f"{self.name}-{label}"
        super().__init__(home / self.alias, f"{self.name}.out")
        self._arena, self._wish = arena, wish

    def copy_of(self, topic: str) -> str:
        """Return the name of a topic on the target."""
        return f"{self.alias}.{topic}"


class Towpath(Copier):
    """`towpath run` on two slots of this machine."""

    name = "towpath"

    def _command(self) -> Sequence[str]:
        file = self._folder / "link.yaml"
        wanted = filter(None, (*self._wish.topics, self._wish.also))
        names = ", ".join(f"'{topic}'" for topic in wanted)
        source, target = self._arena.source.bootstrap, self._arena.target.bootstrap
        file.write_text(
            f'source: {{bootstrap: "{source}"}}\n'
            f'target: {{bootstrap: "{target}"}}\n'
            f"link: {self.alias}\n"
            f'topics: {{include: [{names}], rename: "{self.alias}.{{topic}}"}}\n'
            f"run: {{round: {self._wish.round}, discover: {self._wish.discover}s}}\n"
            f"{self._wish.more}"
        )
        return [self._wish.python, "-m", "towpath", "run", str(file), "--master", "local[2]"]


def of_clone(clone: Path) -> list[str]:
    """Return the words that let a command of this environment use the code of a clone."""
    return ["/usr/bin/env", f"PYTHONPATH={clone / 'src'}{os.pathsep}{clone}"]


class Before(Towpath):
    """`towpath run` of another clone of this repository, which stands at an earlier commit."""

    name = "before"
    clone = Path()
    """Where it is."""

    def _command(self) -> Sequence[str]:
        return [*of_clone(self.clone), *super()._command()]


class MirrorMaker(Copier):
    """MirrorMaker 2 in its dedicated mode, tuned as its users advise for throughput."""

    name = "mm2"

    def _command(self) -> Sequence[str]:
        jars = distribution.fetch_mirror_maker()
        log = self._folder / "log4j2.properties"
        log.write_text(LOG4J2)
        file = self._folder / "mm2.properties"
        file.write_text(properties_text(self._properties()))
        return [
            str(java.find()), *MIRROR_MAKER_JVM, f"-Dlog4j2.configurationFile={log}",
            *("-cp", f"{jars}/*", "org.apache.kafka.connect.mirror.MirrorMaker", str(file)),
        ]  # fmt: skip

    def _properties(self) -> dict[str, str]:
        return {
            "clusters": f"{self.alias},dst",
            f"{self.alias}.bootstrap.servers": self._arena.source.bootstrap,
            "dst.bootstrap.servers": self._arena.target.bootstrap,
            f"{self.alias}->dst.enabled": "true",
            f"{self.alias}->dst.topics": ",".join(self._wish.topics),
            f"dst->{self.alias}.enabled": "false",
            "tasks.max": str(min(8, self._wish.partitions)),
            "refresh.topics.interval.seconds": str(self._wish.discover),
            # What Towpath does not do either today, and what nothing here needs.
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.enabled": "false",
            "sync.topic.acls.enabled": "false",
            # Exact translation of offsets costs records in its own topic: one per so many.
            "offset.lag.max": "10000",
            **{f"{name}replication.factor": "1" for name in _INTERNAL},
            **self._clients(),
            **{f"{self.alias}->dst.{name}": value for name, value in self._wish.properties},
        }

    def _clients(self) -> dict[str, str]:
        consumer = {
            "fetch.max.bytes": str(50 << 20),
            "max.partition.fetch.bytes": str(8 << 20),
            "max.poll.records": "5000",
            "receive.buffer.bytes": str(4 << 20),
        }
        producer = {
            "compression.type": self._wish.codec,
            "batch.size": str(512 << 10),
            "linger.ms": "0" if self._wish.quick else "100",
            "buffer.memory": str(64 << 20),
            "max.request.size": str(8 << 20),
            "send.buffer.bytes": str(4 << 20),
        }
        return {f"{self.alias}.consumer.{name}": value for name, value in consumer.items()} | {
            f"dst.producer.{name}": value for name, value in producer.items()
        }


_INTERNAL = (
    "",
    "checkpoints.topic.",
    "heartbeats.topic.",
    "offset-syncs.topic.",
    "offset.storage.",
    "status.storage.",
    "config.storage.",
)


def towpath_environment(root: Path) -> None:
    """Let what we start find this repository, and compile it once."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPATH"] = os.pathsep.join((str(root / "src"), str(root)))
