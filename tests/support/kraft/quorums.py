"""Clusters whose controllers tests talk to: every broker of a `LocalCluster` is one, too."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from towpath.dev.broker import LocalCluster
from towpath.dev.process import JavaProcess, command
from towpath.kraft.config.file import KraftConfig
from towpath.settings.sections.clusters import Sasl, Tls

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
}
SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "4096",
    "metadata.log.segment.min.bytes": "1024",
    "metadata.log.segment.bytes": "8192",
    "metadata.max.retention.bytes": "8192",
}
"""A snapshot each 4 KB, and hardly any log before it."""


class Quorum(LocalCluster):
    """One or three brokers that are controllers, too.

    Args:
        count: Number of nodes.
        dynamic: Whether the voters stand in the log (KIP-853).
    """

    def __init__(
        self,
        count: int,
        home: Path,
        properties: Mapping[str, str] | None = None,
        *,
        version: str = "3.9.2",
        dynamic: bool = False,
    ) -> None:
        made = {**AUTHORIZER, **(properties or {})}
        super().__init__(version, count, home=home, properties=made)
        self._dynamic = dynamic

    def config(self, tls: Tls | None = None, sasl: Sasl | None = None) -> KraftConfig:
        """Return the file of a migration to these controllers, as far as readers need it."""
        return kraft_config(dict(zip(self._nodes, self.controllers, strict=True)), tls, sasl)

    def wipe(self) -> None:
        """Remove all data of a stopped cluster, which keeps its id."""
        for node in self._nodes:
            shutil.rmtree(self._folder(node) / "data")

    def _broker_properties(self, node: int) -> dict[str, str]:
        made = super()._broker_properties(node)
        if self._dynamic:
            del made["controller.quorum.voters"]
            made["controller.quorum.bootstrap.servers"] = ",".join(self.controllers)
        return made

    def _formatting(self, broker: int) -> JavaProcess:
        if not self._dynamic:
            return super()._formatting(broker)
        folder = self._folder(broker)
        arguments = ["format", "--standalone", "-t", self.cluster_id, "-c"]
        line = command(
            self._jars,
            "kafka.tools.StorageTool",
            [*arguments, str(self._configs(broker))],
            heap="128m",
            work=folder,
        )
        return JavaProcess(line, folder / "format.log")


def kraft_config(
    controllers: Mapping[int, str], tls: Tls | None = None, sasl: Sasl | None = None
) -> KraftConfig:
    """Return the file of a migration with these controllers; the rest of it is made up."""
    nodes: list[dict[str, Any]] = [
        {"id": node, "address": address, "properties": "/c.properties", "data": "/data"}
        for node, address in controllers.items()
    ]
    return KraftConfig.model_validate(
        {
            "kind": "kraft",
            "kraft": "test",
            "cluster": {"bootstrap": ["127.0.0.1:1"]},
            "zookeeper": {"connect": "127.0.0.1:2"},
            "brokers": [{"id": 99, "address": "127.0.0.1:3", "properties": "/b.properties"}],
            "controllers": {"nodes": nodes, "tls": tls, "sasl": sasl},
            "driver": {
                "via": "local",
                "format": "format",
                "start": "start",
                "folder": "/tmp",  # noqa: S108, nothing is written there
            },
            "journal": "/journal",
        }
    )
