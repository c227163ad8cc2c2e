"""MirrorMaker 2 itself, in its dedicated mode, and its Java client."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from towpath.dev import distribution
from towpath.dev.broker import LocalCluster
from towpath.dev.broker_configs import properties_text
from towpath.dev.process import JavaProcess, command
from towpath.engine import java
from towpath.runtime.java_classes import ClassArchive

_INTERNAL = (
    "", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.", "offset.storage.",
    "status.storage.", "config.storage.",
)  # fmt: skip
START = 90.0
"""Seconds that it may take to start and to do what it does first."""


@dataclass
class MirrorMaker:
    """MirrorMaker 2 from `source` to `target` while it is entered.

    Attributes:
        home: The folder of its files.
        alias: Its alias of the source, which also sets its own topics apart from those of others.
        topics: The topics to mirror.
        more: Further properties.
    """

    home: Path
    source: LocalCluster
    target: LocalCluster
    alias: str
    topics: str
    more: Mapping[str, str] = field(default_factory=dict)
    process: JavaProcess | None = None

    @property
    def file(self) -> Path:
        """Its properties file."""
        return self.home / f"{self.alias}.properties"

    @property
    def properties(self) -> dict[str, str]:
        """What stands in it."""
        flow = f"{self.alias}->eu"
        return {
            "clusters": f"{self.alias},eu",
            f"{self.alias}.bootstrap.servers": self.source.bootstrap,
            "eu.bootstrap.servers": self.target.bootstrap,
            f"{flow}.enabled": "true",
            f"{flow}.topics": self.topics,
            # Else there would be a flow back, only for its heartbeats.
            "emit.heartbeats.enabled": "false",
            "sync.topic.acls.enabled": "false",
            "refresh.topics.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "emit.checkpoints.interval.seconds": "1",
            "eu.offset.flush.interval.ms": "1000",
            **{f"{name}replication.factor": "1" for name in _INTERNAL},
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            **self.more,
        }

    def __enter__(self) -> Self:
        jars = distribution.fetch_mirror_maker()
        self.home.mkdir(parents=True, exist_ok=True)
        self.file.write_text(properties_text(self.properties))
        archive = ClassArchive("mirror-maker", tuple(jars.glob("connect-mirror-*.jar")))
        archive.settle()
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        options = archive.use() or archive.make()
        arguments = command(
            jars, main, [str(self.file)], heap="256m", work=self.home, options=options
        )
        self.process = JavaProcess(arguments, self.home / f"{self.alias}.out")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it in good order."""
        if self.process is not None:
            self.process.stop(patience=60.0)
        self.process = None

    def kill(self) -> None:
        """Kill it, so that it commits nothing any more."""
        assert self.process is not None
        self.process.kill()
        self.process = None


_PROGRAM = """
import java.time.Duration;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;
Map<String, Object> to = new HashMap<>(Map.of({configs}));
System.out.println("hops " + RemoteClusterUtils.replicationHops(to, "{alias}"));
for (String group : List.of({groups}))
    RemoteClusterUtils.translateOffsets(to, "{alias}", group, Duration.ofSeconds(30)).forEach(
        (tp, at) -> System.out.println(group + " " + tp + " " + at.offset() + " " + at.metadata()));
/exit
"""


def translated_by_java(
    folder: Path, configs: Mapping[str, str], alias: str, groups: Sequence[str]
) -> list[str]:
    """Return what `RemoteClusterUtils` says of groups, in jshell.

    Args:
        folder: For the program.
        configs: The configs of the Java client.
        alias: The alias of the source.
        groups: The groups to translate.

    Returns:
        A line `hops N`, and one `GROUP PARTITION OFFSET METADATA` for each position.
    """

    def quoted(texts: Iterable[str]) -> str:
        return ", ".join(f'"{text}"' for text in texts)

    pairs = quoted(text for pair in configs.items() for text in pair)
    program = folder / "translate.jsh"
    program.write_text(_PROGRAM.format(configs=pairs, alias=alias, groups=quoted(groups)))
    jars = distribution.fetch_mirror_maker()
    path = os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")))
    done = subprocess.run(
        [
            str(java.find().with_name("jshell")), "-s", "--class-path", path,
            f"-J-Djava.util.prefs.userRoot={folder}", str(program),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if line.startswith(("hops", *groups))]
    assert found, done.stdout + done.stderr
    return found
