"""Configurations of links between clusters of the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confluent_kafka import KafkaException

from tests.support.copying.inside import RunInside
from tests.support.kafka import consume, end_offsets, wait_until
from tests.support.nursery import Nursery
from tests.support.program import Program
from tests.support.whole_files import write_whole
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Side
from towpath.records.session import LinkSession
from towpath.settings import LinkConfig, load


def link(
    source: str,
    target: str,
    *include: str,
    rename: str = "{topic}",
    exclude: tuple[str, ...] = (),
    records: dict[str, Any] | None = None,
    security: dict[str, Any] | None = None,
    configs: dict[str, Any] | None = None,
    replication_factor: str | int = "source",
    prune: bool = False,
    may_delete: tuple[str, ...] = (),
) -> LinkConfig:
    """Return the link between two bootstrap addresses, `security` holding for both."""
    common = {"request_timeout": "10s", **(security or {})}
    return LinkConfig.model_validate(
        {
            "source": {"bootstrap": source, **common},
            "target": {"bootstrap": target, **common},
            "link": "test",
            "topics": {
                "include": include,
                "exclude": exclude,
                "rename": rename,
                "replication_factor": replication_factor,
                "configs": configs or {},
                "may_delete": may_delete,
            },
            "records": records or {},
            "prune": prune,
        }
    )


class Running(Protocol):
    """A run, wherever it runs."""

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""

    @property
    def said(self) -> str:
        """What it printed so far."""

    def stop(self) -> int | None:
        """Ask it to end, and wait; returns its exit code, if it has one."""

    def close(self) -> None:
        """Leave nothing of it behind."""


@dataclass
class Link:
    """A link over the topics that begin with its name."""

    folder: Path
    source: LocalCluster
    target: LocalCluster
    name: str
    programs: list[Running] = field(default_factory=list)
    rename: str = "{topic}"
    configs: str = "{}"
    """Its rules for configs of topics."""
    records: str = "{start: earliest}"
    run: str = "{discover: 500ms}"
    groups: str = ""
    """Its section `groups`, if it has one."""
    schemas: str = ""
    """Its section `schemas`, if it has one; `registries` makes it."""
    changes: str = ""
    """Its section `changes`, if it has one."""
    gateway: str = ""
    """Its section `gateway`, if it has one."""
    listen: str = ""
    """Where it serves its metrics, if anywhere."""
    timeout: str = "30s"
    """Request timeout on both sides: a run that takes over may wait as long for late batches."""
    nursery: Nursery | None = None
    """What starts its programs, if they are many."""

    @property
    def file(self) -> Path:
        """The link's file."""
        file = self.folder / f"{self.name}.yaml"
        write_whole(
            file,
            f"source: {self._side(self.source)}\n"
            f"target: {self._side(self.target)}\n"
            f"link: {self.name}\n"
            f"topics: {{include: ['{self.name}.*'], rename: '{self.rename}',"
            f" configs: {self.configs}}}\n"
            f"records: {self.records}\n"
            f"run: {self.run}\n"
            + (f"groups: {self.groups}\n" if self.groups else "")
            + (f"schemas: {self.schemas}\n" if self.schemas else "")
            + (f"changes: {self.changes}\n" if self.changes else "")
            + (f"gateway: {self.gateway}\n" if self.gateway else "")
            + (f"metrics: {{listen: '{self.listen}'}}\n" if self.listen else ""),
        )
        return file

    def _side(self, cluster: LocalCluster) -> str:
        return f"{{bootstrap: '{cluster.bootstrap}', request_timeout: {self.timeout}}}"

    def start(self, command: str, *arguments: str, **options: Any) -> Program:
        """Start `towpath` on the link."""
        name = f"{command}-{len(self.programs)}"
        words = command, str(self.file), *arguments
        made = Program(self.folder, *words, name=name, nursery=self.nursery, **options)
        self.programs.append(made)
        return made

    def run_inside(self) -> RunInside:
        """Run the link in this process, on the Spark that the tests share."""
        made = RunInside(self.file)
        self.programs.append(made)
        return made

    def wait_for(self, run: Running, topic: str, partition: int = 0, seconds: float = 60) -> None:
        """Wait until the target's partition ends where the source's does."""

        def is_there() -> bool:
            assert run.running, run.said
            ends = [end(cluster, topic, partition) for cluster in (self.source, self.target)]
            return ends[0] == ends[1] > 0

        wait_until(is_there, f"{topic}-{partition} is copied", seconds)

    def assert_same(self, topic: str, partitions: int = 1) -> int:
        """Both sides show the same records at the same offsets; return how many."""
        numbers = range(partitions)
        source, target = (
            consume(cluster.bootstrap, topic, numbers) for cluster in (self.source, self.target)
        )
        assert target == source
        return len(target)


def registries(source: str, target: str, **more: Any) -> str:
    """Return the section `schemas` of a link between two addresses, with further keys."""
    return json.dumps({"source": {"url": source}, "target": {"url": target}, **more})


@contextmanager
def a_run_elsewhere(file: Path) -> Iterator[None]:
    """Give signs of life as a run of the link, which must have a ledger."""
    config = load(file)
    with Admin(config.target, Side.TARGET) as admin:
        alive = LinkSession(config.link, config.target, admin)
        alive.start()
        try:
            yield
        finally:
            alive.close()


def end(cluster: LocalCluster, topic: str, partition: int = 0) -> int:
    """Return the end of a partition, -1 where it does not exist yet."""
    try:
        return end_offsets(cluster.bootstrap, topic, partition)[1]
    except KafkaException:
        return -1


def wait_for_end(
    cluster: LocalCluster, topic: str, beyond: int, run: Running, partition: int = 0
) -> None:
    """Wait until what a run copies ends beyond an offset; tell what the run said if it does not."""

    def told() -> str:
        return f"{topic} ends beyond {beyond}: {run.said}"

    def is_there() -> bool:
        assert run.running, told()
        return end(cluster, topic, partition) > beyond

    wait_until(is_there, told, 240)
