"""A link between two clusters that ask for TLS and a login, and hold ACLs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin._resource import ResourceType

from tests.support.clusters.certificates import Vault
from tests.support.clusters.fleet import USERS
from tests.support.clusters.rights import DESCRIBE_CONFIGS, READ, TOPIC, allow
from tests.support.kafka import Record, create_topic, produce
from tests.support.program import Program
from towpath.dev.broker import LocalCluster


@dataclass
class SecuredLink:
    """A link whose logins can be changed, over the topics that begin with its name."""

    folder: Path
    source: LocalCluster
    target: LocalCluster
    vault: Vault
    name: str
    user: dict[str, str] = field(default_factory=lambda: {"source": "mirror", "target": "mirror"})
    programs: list[Program] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """The link's file; the passwords come from the environment and from a file."""
        password = USERS[self.user["target"]].reveal()
        (self.folder / "password").write_text(password + "\n")
        file = self.folder / f"{self.name}.yaml"
        passwords = {"source": "env:SOURCE_PASSWORD", "target": f"file:{self.folder}/password"}
        lines = [self._side(side, passwords[side]) for side in ("source", "target")]
        lines += [f"link: {self.name}", f"topics: {{include: ['{self.name}.*']}}"]
        lines += ["run: {discover: 500ms}"]
        file.write_text("\n".join(lines) + "\n")
        return file

    def start(self, command: str, *arguments: str, env: dict[str, str] | None = None) -> Program:
        """Start `towpath` on the link."""
        name = f"{command}-{len(self.programs)}"
        made = Program(self.folder, command, str(self.file), *arguments, env=env, name=name)
        self.programs.append(made)
        return made

    def _side(self, side: str, password: str) -> str:
        cluster: LocalCluster = getattr(self, side)
        return (
            f"{side}:\n  bootstrap: '{cluster.bootstrap}'\n"
            f"  tls: {{ca: '{self.vault.ca}'}}\n"
            f"  sasl: {{mechanism: SCRAM-SHA-512, username: {self.user[side]},"
            f" password: '{password}'}}\n"
            "  request_timeout: 10s"
        )


def load(secured: SecuredLink) -> str:
    topic = f"{secured.name}.orders"
    create_topic(secured.source.back_door, topic, 2)
    records = [Record(b"k", b"%d" % i, partition=i % 2) for i in range(100)]
    produce(secured.source.back_door, topic, records)
    produce(secured.source.back_door, topic, records, {"transactional.id": topic})
    return topic


def permit(secured: SecuredLink, on_source: Any = READ) -> None:
    """Grant what a link needs, and nothing else."""
    source, target = secured.source, secured.target
    allow(source, TOPIC, secured.name, (on_source, DESCRIBE_CONFIGS))
    allow(target, TOPIC, secured.name)
    allow(target, TOPIC, "__towpath_ledger")
    allow(target, ResourceType.TRANSACTIONAL_ID, f"towpath.{secured.name}.:")
