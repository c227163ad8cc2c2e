"""The interface of nodes that are pods, live or exported."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from towpath.kraft.reach.kubernetes.node_place import NodePlace, ObjectKind, manager_of
from towpath.kraft.reach.kubernetes.objects import KubernetesObject, properties_object
from towpath.kraft.reach.kubernetes.owners import KeptField, kept_by_others


@runtime_checkable
class PodNode(Protocol):
    """Protocol of the driver of a node that is a pod."""

    @property
    def place(self) -> NodePlace:
        """The names of the Kubernetes objects that belong to the node."""

    def get(self, kind: ObjectKind, name: str) -> KubernetesObject | None:
        """Return an object, `None` if there is none."""

    def stateful_set(self) -> KubernetesObject | None:
        """Return the node's StatefulSet, `None` if the node has no pod."""

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if it does not exist."""


def kept_properties(node: PodNode) -> tuple[KeptField, ...]:
    """Return the other field managers that own parts of a node's properties file."""
    place = node.place
    there = node.get(place.holder, place.holder_name)
    return kept_by_others(properties_object(place, b""), there, manager_of(place))
