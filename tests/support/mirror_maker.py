"""MirrorMaker 2 itself, in its dedicated mode, and its Java client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from towpath.dev import distribution
from towpath.dev.broker import LocalCluster
from towpath.dev.broker_configs import properties_text
from towpath.dev.process import JavaProcess, command
from towpath.model.classes import ClassArchive

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
