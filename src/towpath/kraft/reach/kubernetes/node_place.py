"""The names of the Kubernetes objects that belong to a node. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from towpath.kraft.config.file import KraftController, KraftNode
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.facts.nouns import NodeId, Role

KAFKA = "kafka"
"""The container of a controller."""
_LONGEST = 55
_UNUSUAL = re.compile(r"[^a-z0-9.-]")


class ObjectKind(StrEnum):
    """The kinds of Kubernetes objects that a migration reads or writes."""

    CONFIG_MAP = "ConfigMap"
    SECRET = "Secret"  # noqa: S105, a kind of object
    SERVICE = "Service"
    STATEFUL_SET = "StatefulSet"
    POD = "Pod"
    CLAIM = "PersistentVolumeClaim"


_API_VERSIONS = {ObjectKind.STATEFUL_SET: "apps/v1"}


def api_version(kind: ObjectKind) -> str:
    """Return the API version of a kind of object: `v1` or, with a group, `apps/v1`."""
    return _API_VERSIONS.get(kind, "v1")


@dataclass(frozen=True, slots=True)
class NodePlace:
    """The pod, properties object and StatefulSet of a node.

    Attributes:
        node: Its id.
        role: What it is.
        pod: Its pod.
        container: The container of the pod that runs Kafka.
        properties: Path of its properties file in that container.
        holder: Kind of the object that holds the file.
        holder_name: Name of that object.
        key: The file's key in it.
        data: A controller's folder for its metadata log; None of a broker.
    """

    node: NodeId
    role: Role
    pod: str
    container: str
    properties: str
    holder: ObjectKind
    holder_name: str
    key: str
    data: str | None = None

    @property
    def mounted_at(self) -> str:
        """The folder that contains the properties file."""
        return str(PurePosixPath(self.properties).parent)

    @property
    def volume(self) -> str:
        """The mount point of a controller's volume: the parent of its data folder."""
        return str(PurePosixPath(self.data or "/").parent)


MANAGER = "towpath"
"""Field manager of all that is applied, but for the files of nodes."""


def manager_of(place: NodePlace) -> str:
    """Return the field manager of a node's properties file.

    Each node has its own: one object may hold the files of several nodes, and what a manager no
    longer applies is removed from the object.
    """
    return f"{MANAGER}-{place.node}"


def place_of(driver: KubernetesDriver, role: Role, node: KraftNode) -> NodePlace:
    """Return the names of the Kubernetes objects of a node in the file."""
    if isinstance(node, KraftController):
        return _controller(driver, node)
    told, number = driver.brokers.properties, str(node.id)
    pod = node.host or driver.brokers.pod.replace("{id}", number)
    kind = ObjectKind.CONFIG_MAP if told.kind == "configmap" else ObjectKind.SECRET
    return NodePlace(
        node=NodeId(node.id),
        role=role,
        pod=pod,
        container=driver.brokers.container,
        properties=node.properties,
        holder=kind,
        holder_name=told.name.replace("{id}", number),
        key=told.key.replace("{id}", number),
    )


def _controller(driver: KubernetesDriver, node: KraftController) -> NodePlace:
    name = f"{driver.controllers.name}-{node.id}"
    return NodePlace(
        node=NodeId(node.id),
        role=Role.CONTROLLER,
        pod=f"{name}-0",
        container=KAFKA,
        properties=node.properties,
        holder=ObjectKind.SECRET,
        holder_name=name,
        key=PurePosixPath(node.properties).name,
        data=node.data,
    )


def hold_name(migration: str) -> str:
    """Return the name of the ConfigMap that lists the held pods.

    It is the value of our labels, too, which have 63 characters at most.
    """
    plain = _UNUSUAL.sub("-", migration.lower()).strip("-.") or "migration"
    if plain == migration and len(plain) <= _LONGEST:
        return f"towpath-{plain}"
    digest = hashlib.sha256(migration.encode()).hexdigest()[:8]
    return f"towpath-{plain[: _LONGEST - 9]}-{digest}"
