"""The configuration files of a cluster in ZooKeeper mode, and of a migration to KRaft."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from towpath.dev import ports
from towpath.dev.broker_configs import replication

ADMIN = "admin"
MECHANISM = "SCRAM-SHA-256"
FIRST_CONTROLLER = 3000
_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass(frozen=True, slots=True)
class LabPorts:
    """The ports of a lab: for clients, between brokers, and of controllers."""

    zookeeper: int
    clients: tuple[int, ...]
    internal: tuple[int, ...]
    controllers: tuple[int, ...]

    @classmethod
    def of(cls, home: Path, brokers: int, controllers: int) -> LabPorts:
        """Return the earlier ports of a lab, else free ones."""
        kept = home / "ports.json"
        if kept.exists():
            read = json.loads(kept.read_text())
            return cls(read.pop("zookeeper"), **{name: tuple(each) for name, each in read.items()})
        free = ports.reserve(1 + 2 * brokers + controllers)
        return cls(
            free[0],
            tuple(free[1 : 1 + brokers]),
            tuple(free[1 + brokers : 1 + 2 * brokers]),
            tuple(free[1 + 2 * brokers :]),
        )

    def keep(self, home: Path) -> None:
        """Store the ports for the next start."""
        (home / "ports.json").write_text(json.dumps(asdict(self)))


@dataclass(frozen=True, slots=True)
class LabFiles:
    """Paths of the files of a lab."""

    home: Path

    @property
    def config(self) -> Path:
        """The path of the migration's file."""
        return self.home / "kraft.yaml"

    @property
    def password(self) -> Path:
        """The path of the file with `admin`'s password."""
        return self.home / "admin-password"

    @property
    def run(self) -> Path:
        """The folder in which the local driver keeps its files."""
        return self.home / "run"

    def properties(self, node: int) -> Path:
        """The properties file of a broker or controller."""
        return self.home / "etc" / f"{node}.properties"

    def data(self, node: int) -> tuple[Path, ...]:
        """Log directories of a node; the first broker has two."""
        first = self.home / "data" / str(node)
        return (first, first.with_name(f"{node}-more")) if node == 1 else (first,)


def zookeeper_properties(port: int, data: Path) -> dict[str, str]:
    """Return the configs of a standalone ZooKeeper."""
    return {
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": "127.0.0.1",
        "tickTime": "2000",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
        "maxClientCnxns": "0",
    }


def broker_properties(node: int, all_ports: LabPorts, files: LabFiles) -> dict[str, str]:
    """Return the configs of a broker in ZooKeeper mode, with logins and ACLs."""
    client, internal = all_ports.clients[node - 1], all_ports.internal[node - 1]
    listeners = f"SASL://127.0.0.1:{client},PLAINTEXT://127.0.0.1:{internal}"
    return {
        "broker.id": str(node),
        "listeners": listeners,
        "advertised.listeners": listeners,
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.sasl.{MECHANISM.lower()}.sasl.jaas.config": _LOGIN,
        "authorizer.class.name": _AUTHORIZER,
        "super.users": f"User:ANONYMOUS;User:{ADMIN}",
        "zookeeper.connect": f"127.0.0.1:{all_ports.zookeeper}",
        # Below ZooKeeper's usual 18 s, as tests kill brokers; above a pause of a busy machine.
        "zookeeper.session.timeout.ms": "9000",
        "inter.broker.protocol.version": "3.9",
        "log.dirs": ",".join(map(str, files.data(node))),
        **replication(len(all_ports.clients)),
        **_SMALL,
    }


def kraft_file(
    name: str, all_ports: LabPorts, files: LabFiles, start: Sequence[str], form: Sequence[str]
) -> str:
    """Return the content of the migration's file for a lab.

    Args:
        name: Name of the migration.
        all_ports: The lab's ports.
        files: The lab's files.
        start: Command that runs a node.
        form: Command that formats a controller's folder.
    """
    clients = [f"127.0.0.1:{port}" for port in all_ports.clients]
    controllers = enumerate(all_ports.controllers, FIRST_CONTROLLER)
    sections: Mapping[str, object] = {
        "cluster": {
            "bootstrap": clients,
            "sasl": {
                "mechanism": MECHANISM,
                "username": ADMIN,
                "password": f"file:{files.password.name}",
            },
        },
        "zookeeper": {"connect": f"127.0.0.1:{all_ports.zookeeper}"},
        "brokers": [
            {"id": node, "address": address, "properties": str(files.properties(node))}
            for node, address in enumerate(clients, 1)
        ],
        "controllers": {
            "nodes": [
                {
                    "id": node,
                    "address": f"127.0.0.1:{port}",
                    "properties": str(files.properties(node)),
                    "data": str(files.data(node)[0]),
                }
                for node, port in controllers
            ]
        },
        "driver": {
            "via": "local",
            "folder": str(files.run),
            "start": list(start),
            "format": list(form),
        },
        "limits": {"start": "5m", "stop": "1m", "in_sync": "5m", "copy": "5m", "pause": "0s"},
        "journal": str(files.home / "journal"),
    }
    # Values of YAML may be written as JSON.
    lines = [f"{key}: {json.dumps(value, indent=2)}" for key, value in sections.items()]
    return "\n".join(["kind: kraft", f"kraft: {name}", *lines, ""])


_SMALL = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "log.retention.ms": "-1",
}
"""Configs that let a small broker start fast and keep what tests have written."""
