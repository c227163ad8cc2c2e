"""The steps of a migration as commands of `kubectl` and the files that they apply. Pure.

What a step writes depends on its node and mode alone, not on when it is done. So one file serves
the way there and every way back.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from towpath.kraft.config.file import KraftConfig, KraftController
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.errors import DriverError, StepRefusedError
from towpath.kraft.facts.nouns import BrokerMode, NodeId, Role
from towpath.kraft.facts.seen import Observation
from towpath.kraft.files.properties import change_properties
from towpath.kraft.files.stored import CONTROLLER_FILES, META, METADATA_LOG, metadata_dir
from towpath.kraft.findings.findings import Refused
from towpath.kraft.reach.commands import format_command
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
from towpath.kraft.steps.file_changes import changes, rendered
from towpath.kraft.steps.kinds import (
    FormatController,
    MendMetaProperties,
    RestartController,
    RollBroker,
    StartControllers,
    Step,
    StopControllers,
    WipeController,
)

_MEND = "sed -i -e 's/^version=.*/version=0/' -e 's/^node\\.id=/broker.id=/'"
Held = frozenset[str]
"""The pods that are held back."""


@dataclass(frozen=True, slots=True)
class NodeObjects:
    """What is there of a node.

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
        """Return what is there of a node now.

        Raises:
            DriverError: It cannot be seen, or is not ours to touch.
        """
        return cls(node.place, node.read(node.place.properties) or b"", node.stateful_set())


@dataclass(slots=True)
class HandBook:
    """Says how steps are done by hand.

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
    def hold(self) -> str:
        """Name of the ConfigMap that names held pods."""
        return hold_name(self.config.kraft)

    def commands(self, step: Step, held: Held) -> tuple[list[str], Held]:
        """Return the commands of a step, none where Towpath does it, and the pods held behind it.

        Raises:
            StepRefusedError: Its properties cannot be made, or no broker has a pod to learn from.
            DriverError: Another field manager keeps what would be changed.
        """
        match step:
            case FormatController() | StartControllers() | RestartController():
                return self._controllers(step, held)
            case StopControllers():
                return self._hold(step.nodes, held)
            case WipeController():
                return [self._wipe(step)], held
            case RollBroker():
                return self._roll(step, held)
            case MendMetaProperties():
                return self._mend(step, held)
            case _:
                return [], held

    def _controllers(
        self, step: FormatController | StartControllers | RestartController, held: Held
    ) -> tuple[list[str], Held]:
        match step:
            case FormatController():
                return self._format(step, held)
            case StartControllers():
                return self._release(step.nodes, held)
            case RestartController():
                return self._restart(step, held)

    def _wipe(self, step: WipeController) -> str:
        data = PurePosixPath(self._at(step.node).data or "")
        paths = shlex.join(str(data / name) for name in CONTROLLER_FILES)
        return self._inside(step.node, f"rm -rf -- {paths}")

    def _mend(self, step: MendMetaProperties, held: Held) -> tuple[list[str], Held]:
        lines, held = self._hold((step.node,), held)
        path = str(PurePosixPath(step.directory) / META)
        return [*lines, self._inside(step.node, f"{_MEND} {shlex.quote(path)}")], held

    def _format(self, step: FormatController, held: Held) -> tuple[list[str], Held]:
        at = self._at(step.node)
        told = next(x for x in self.config.controllers.nodes if NodeId(x.id) == step.node)
        held = held | {at.pod}
        cluster = self.seen.zookeeper.cluster_id if self.seen.zookeeper else "CLUSTER_ID"
        command = format_command(self.config, told, cluster, self.seen)
        properties = self._properties(step, f"controller-{step.node}-with-flag.yaml")
        return [
            self._apply(self._held_file(held)),
            self._apply(properties, manager_of(at)),
            self._apply(self._controller_file(told, at)),
            self._await_held(at),
            self._inside(step.node, shlex.join(command)),
        ], held

    def _roll(self, step: RollBroker, held: Held) -> tuple[list[str], Held]:
        properties = self._properties(step, f"broker-{step.node}-{step.mode}-mode.yaml")
        lines: list[str] = []
        if step.mode is BrokerMode.ZOOKEEPER:
            lines, held = self._hold((step.node,), held)
            folder = PurePosixPath(metadata_dir(self.seen.brokers[step.node].properties))
            gone = shlex.quote(str(folder / METADATA_LOG))
            lines.append(self._inside(step.node, f"rm -rf -- {gone}"))
        at = self._at(step.node)
        lines.append(self._patch(properties, at, manager_of(at)))
        again, held = self._release((step.node,), held)
        return [*lines, *again], held

    def _restart(self, step: RestartController, held: Held) -> tuple[list[str], Held]:
        flag = "with-flag" if step.flag else "without-flag"
        properties = self._properties(step, f"controller-{step.node}-{flag}.yaml")
        lines, held = self._release((step.node,), held)
        return [self._apply(properties, manager_of(self._at(step.node))), *lines], held

    def _release(self, nodes: Iterable[NodeId], held: Held) -> tuple[list[str], Held]:
        """Let pods be made anew, with what their objects say then, and not be held back."""
        pods = [self._at(each).pod for each in nodes]
        left = held - set(pods)
        lines = [self._delete(each) for each in pods]
        return [*([self._apply(self._held_file(left))] if left != held else []), *lines], left

    def _hold(self, nodes: Iterable[NodeId], held: Held) -> tuple[list[str], Held]:
        """Let pods be made anew and be held back."""
        places = [self._at(each) for each in nodes]
        held = held | {each.pod for each in places}
        gates = {name: each for each in places if (name := self._gate(each)) is not None}
        lines = [self._patch(name, each) for name, each in gates.items()]
        lines.append(self._apply(self._held_file(held)))
        for each in places:
            lines += [self._delete(each.pod), self._await_held(each)]
        return lines, held

    def _at(self, node: NodeId) -> NodePlace:
        return self.nodes[node].place

    def _properties(
        self, step: FormatController | RollBroker | RestartController, name: str
    ) -> str:
        wanted = rendered(self.config, self.seen, step)
        if wanted is None or isinstance(wanted, Refused):
            why = "; ".join(str(each) for each in wanted.reasons) if wanted else "nothing to write"
            raise StepRefusedError(type(step).__name__, why)
        there, is_broker = self.nodes[step.node], isinstance(step, RollBroker)
        before = self.seen.brokers[step.node].properties if is_broker else {}
        text = change_properties(there.text if is_broker else b"", changes(before, wanted))
        return self._file(name, properties_object(there.place, text))

    def _controller_file(self, told: KraftController, at: NodePlace) -> str:
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
        return self._file(name, gate_object(stateful_set, at.container, self.hold))

    def _held_file(self, held: Held) -> str:
        pods = sorted(held)
        return self._file(f"hold-{'-and-'.join(pods) or 'none'}.yaml", hold_object(self.hold, pods))

    def _file(self, name: str, *objects: KubernetesObject) -> str:
        named = [
            {**each, "metadata": {**each["metadata"], "namespace": self.driver.namespace}}
            for each in objects
        ]
        self.files[name] = tuple(named)
        return name

    def _apply(self, name: str, manager: str = MANAGER) -> str:
        """Return the command that makes objects which are ours alone."""
        how = f"--server-side --field-manager={manager}"
        return f"{self._kubectl} apply {how} -f {shlex.quote(name)}"

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

    def _await_held(self, at: NodePlace) -> str:
        return f"until {self._kubectl} exec {at.pod} -c {HOLD} -- true; do sleep 2; done"

    def _inside(self, node: NodeId, command: str) -> str:
        return f"{self._kubectl} exec {self._at(node).pod} -c {HOLD} -- {command}"

    @property
    def _kubectl(self) -> str:
        return f"kubectl -n {self.driver.namespace}"
