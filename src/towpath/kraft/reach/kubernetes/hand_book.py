"""The `kubectl` commands and files for doing steps by hand. Pure.

What a step writes depends on its node and mode alone, not on when it is done. So one file serves
the way there and every way back.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from towpath.kraft.config.file import KraftConfig, KraftController
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.errors import DriverError, StepRefusedError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.changes import changes
from towpath.kraft.files.configs import Properties
from towpath.kraft.reach.kubernetes.controller_objects import controller_objects
from towpath.kraft.reach.kubernetes.node_place import (
    MANAGER,
    NodePlace,
    ObjectKind,
    hold_name,
    manager_of,
)
from towpath.kraft.reach.kubernetes.objects import (
    HOLD,
    KubernetesObject,
    gate_object,
    hold_object,
    patch_of,
    properties_object,
)
from towpath.kraft.reach.kubernetes.owners import kept_advice, kept_by_others, not_named
from towpath.kraft.reach.kubernetes.pod_node import PodNode
from towpath.settings.java_properties import change_properties

Held = frozenset[str]
"""The pods that are held back."""


@dataclass(frozen=True, slots=True)
class NodeObjects:
    """The existing objects of a node.

    Attributes:
        place: Where it lives.
        text: Its properties file; empty where there is none.
        stateful_set: The StatefulSet of its pod; None where it has no pod.
    """

    place: NodePlace
    text: bytes
    stateful_set: KubernetesObject | None

    @classmethod
    def of(cls, node: PodNode) -> NodeObjects:
        """Return the existing objects of a node.

        Raises:
            DriverError: It cannot be seen, or is not ours to touch.
        """
        return cls(node.place, node.read(node.place.properties) or b"", node.stateful_set())


@dataclass(slots=True)
class HandBook:
    """Produces the `kubectl` commands of steps for one cluster.

    Attributes:
        there: Returns the object that something applied would change; None where there is none.
        files: The files that commands apply, by name, each with its objects.
        unknown: Objects of others that commands change, of which it is not told who keeps them.
    """

    config: KraftConfig
    driver: KubernetesDriver
    seen: Observation
    nodes: Mapping[NodeId, NodeObjects]
    there: Callable[[KubernetesObject], KubernetesObject | None] = lambda _: None
    files: dict[str, tuple[KubernetesObject, ...]] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    @property
    def hold_map(self) -> str:
        """Name of the ConfigMap that lists held pods."""
        return hold_name(self.config.kraft)

    def release(self, nodes: Iterable[NodeId], held: Held) -> tuple[list[str], Held]:
        """Return commands that recreate pods from their objects, so that their nodes run again."""
        pods = [self.place(each).pod for each in nodes]
        left = held - set(pods)
        lines = [self._delete(each) for each in pods]
        return [*([self.apply(self.held_file(left))] if left != held else []), *lines], left

    def hold(self, nodes: Iterable[NodeId], held: Held) -> tuple[list[str], Held]:
        """Return commands that recreate pods and hold them back."""
        places = [self.place(each) for each in nodes]
        held = held | {each.pod for each in places}
        gates = {name: each for each in places if (name := self._gate(each)) is not None}
        lines = [self._patch(name, each) for name, each in gates.items()]
        lines.append(self.apply(self.held_file(held)))
        for each in places:
            lines += [self._delete(each.pod), self.await_held(each)]
        return lines, held

    def place(self, node: NodeId) -> NodePlace:
        """Return the names of the Kubernetes objects that belong to a node."""
        return self.nodes[node].place

    def properties(self, node: NodeId, wanted: Properties, name: str) -> str:
        """Add a file with a node's properties; a broker's comments and order stay.

        Args:
            node: The node.
            wanted: All keys and values.
            name: The file's name, which is returned.
        """
        there = self.nodes[node]
        is_broker = there.place.role is Role.BROKER
        before = self.seen.brokers[node].properties if is_broker else {}
        text = change_properties(there.text if is_broker else b"", changes(before, wanted))
        return self._file(name, properties_object(there.place, text))

    def controller_file(self, told: KraftController, at: NodePlace) -> str:
        """Add a file with a controller's other objects, and return its name.

        Raises:
            StepRefusedError: No broker has a pod to learn from.
        """
        made = controller_objects(self.config, self.driver, told, at, self._broker())
        return self._file(f"controller-{at.node}.yaml", *made)

    def _broker(self) -> tuple[KubernetesObject, NodePlace]:
        for each in self.nodes.values():
            if each.place.role is Role.BROKER and each.stateful_set is not None:
                return each.stateful_set, each.place
        why = "no broker has a pod from whose StatefulSet that of a controller could be made"
        raise StepRefusedError("FormatController", why)

    def _gate(self, at: NodePlace) -> str | None:
        stateful_set = self.nodes[at.node].stateful_set
        if at.role is Role.CONTROLLER or stateful_set is None:
            return None
        name = f"gate-{stateful_set['metadata']['name']}.yaml"
        return self._file(name, gate_object(stateful_set, at.container, self.hold_map))

    def held_file(self, held: Held) -> str:
        """Add a file that lists the held pods, and return its name."""
        pods = sorted(held)
        name = f"hold-{'-and-'.join(pods) or 'none'}.yaml"
        return self._file(name, hold_object(self.hold_map, pods))

    def _file(self, name: str, *objects: KubernetesObject) -> str:
        named = [
            {**each, "metadata": {**each["metadata"], "namespace": self.driver.namespace}}
            for each in objects
        ]
        self.files[name] = tuple(named)
        return name

    def apply(self, name: str, manager: str = MANAGER) -> str:
        """Return the command that applies objects which Towpath alone owns."""
        how = f"--server-side --field-manager={manager}"
        return f"{self._kubectl} apply {how} -f {shlex.quote(name)}"

    def apply_properties(self, name: str, node: NodeId) -> str:
        """Return the command that applies a node's properties, which Towpath alone owns."""
        return self.apply(name, manager_of(self.place(node)))

    def patch_properties(self, name: str, node: NodeId) -> str:
        """Return the command that patches a node's properties; see `Kubectl.write`.

        Raises:
            DriverError: Another field manager keeps what would be changed.
        """
        at = self.place(node)
        return self._patch(name, at, manager_of(at))

    def _patch(self, name: str, at: NodePlace, manager: str = MANAGER) -> str:
        """Return the command that changes an object of others; see `Kubectl.write`.

        Raises:
            DriverError: Another field manager keeps what would be changed.
        """
        [made] = self.files[name]
        there = self.there(made)
        kept = kept_by_others(made, there, manager)
        if others := not_named(kept, self.driver.take_from):
            raise DriverError(at.node, f"planning what {name} changes", kept_advice(others))
        self.files[name] = (patch_of(made, there),)
        what = f"{made['kind'].lower()} {made['metadata']['name']}"
        if there is not None and not there["metadata"].get("managedFields"):
            self.unknown.add(what)
        how = f"--field-manager={manager} --patch-file={shlex.quote(name)}"
        return f"{self._kubectl} patch {what} {how}"

    def _delete(self, pod: str) -> str:
        return f"{self._kubectl} delete {ObjectKind.POD.lower()} {pod}"

    def await_held(self, at: NodePlace) -> str:
        """Return the command that waits until a pod is recreated without its node running."""
        return f"until {self._kubectl} exec {at.pod} -c {HOLD} -- true; do sleep 2; done"

    def inside(self, node: NodeId, command: str) -> str:
        """Return the command that runs another one inside a held pod."""
        return f"{self._kubectl} exec {self.place(node).pod} -c {HOLD} -- {command}"

    @property
    def _kubectl(self) -> str:
        return f"kubectl -n {self.driver.namespace}"
