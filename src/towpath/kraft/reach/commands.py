"""The commands in a migration's file, with a node's values filled in. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.kraft.config import KraftConfig, KraftController
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.configs import IBP

RELEASE = "{release}"
_NEWEST = "3.9"
"""The inter-broker protocol to which the last Kafka with ZooKeeper formats by itself."""


def filled(
    command: Sequence[str], node: NodeId, role: Role, properties: str, **others: str
) -> tuple[str, ...]:
    """Fill `{id}`, `{role}`, `{properties}` and others into a command.

    Other braces stay as they are: JVM options may have some.
    """
    values = {"id": str(node), "role": str(role), "properties": properties, **others}
    return tuple(_filled(word, values) for word in command)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def format_command(
    config: KraftConfig, at: KraftController, cluster: str, seen: Observation
) -> tuple[str, ...]:
    """Return the formatting command, with the release if brokers use an older protocol."""
    told = (each.properties.get(IBP, "").strip() for each in seen.brokers.values())
    release = next((each for each in told if each), _NEWEST)
    command = config.driver.format
    if release.partition("-")[0] != _NEWEST and not any(RELEASE in word for word in command):
        command = (*command, "--release-version", RELEASE)
    node = NodeId(at.id)
    return filled(
        command, node, Role.CONTROLLER, at.properties, cluster_id=cluster, release=release
    )
