"""Nodes that are pods, reached through the Kubernetes API.

A node is stopped by holding its pod back, see `objects.py`, and its files are reached in whichever
of its containers runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from towpath.kraft.config.file import KraftConfig
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.reach.kubernetes.controller_objects import controller_objects
from towpath.kraft.reach.kubernetes.kubectl import Kubectl
from towpath.kraft.reach.kubernetes.node_objects import (
    created,
    is_ending,
    modified,
    restarts,
    runs,
    stateful_set_in,
    uid_of,
    waits_for,
    was_started,
)
from towpath.kraft.reach.kubernetes.node_place import (
    NodePlace,
    ObjectKind,
    hold_name,
    manager_of,
    place_of,
)
from towpath.kraft.reach.kubernetes.objects import (
    HOLD,
    KubernetesObject,
    gate_object,
    gate_of,
    held_in,
    hold_object,
    properties_in,
    properties_object,
)
from towpath.kraft.reach.kubernetes.owners import kept_advice, not_named
from towpath.kraft.reach.kubernetes.pod_node import kept_properties
from towpath.kraft.reach.scripts import ABSENT, PROCESS_WITH, READ, REMOVE, WRITE
from towpath.runtime.deadline import Deadline

_PAUSE = 0.5
_SLACK = 30.0
"""Seconds that a pod may outlast its grace: its host kills the processes, then tells the API."""
# Containers may have BusyBox's tools, which know whole seconds only.
_MODIFIED = f'[ -e "$1" ] || exit {ABSENT}; stat -L -c %Y -- "$1"'
_FREE = 'p=$1; while [ ! -e "$p" ]; do p=$(dirname -- "$p"); done; df -Pk -- "$p" | tail -n 1'
_AVAILABLE = 3
"""The column of `df -P`."""


class KubectlNode:
    """A node that is a pod, reached through the Kubernetes API.

    Args:
        config: The file.
        driver: Its section.
        place: Where the node lives.
        notice: Is told what was taken from other field managers.
    """

    def __init__(
        self,
        config: KraftConfig,
        driver: KubernetesDriver,
        place: NodePlace,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._config, self._driver, self._place = config, driver, place
        self._kubectl, self._hold = Kubectl(driver, place, notice), hold_name(config.kraft)

    @property
    def place(self) -> NodePlace:
        """The names of the Kubernetes objects that belong to the node."""
        return self._place

    def get(self, kind: ObjectKind, name: str) -> KubernetesObject | None:
        """Return an object, `None` if there is none."""
        return self._kubectl.get(kind, name)

    def stateful_set(self) -> KubernetesObject | None:
        """Return the node's StatefulSet, `None` if the node has no pod.

        Raises:
            DriverError: The pod is not ours to touch.
        """
        return self._stateful_set_of(self._place)

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if it does not exist."""
        if path != self._place.properties:
            return self._inside(READ, path, f"reading {path}")
        holder = self.get(self._place.holder, self._place.holder_name)
        return None if holder is None else properties_in(self._place, holder)

    def modified(self, path: str) -> int | None:
        """Return the modification time of a file, in ms since 1970, rounded to seconds."""
        if path == self._place.properties:
            holder = self.get(self._place.holder, self._place.holder_name)
            return None if holder is None else modified(holder, self._place.key)
        told = self._inside(_MODIFIED, path, f"looking at {path}")
        return None if told is None else int(told) * 1000

    def write(self, path: str, data: bytes) -> None:
        """Replace a file atomically; behind a symlink, the file that it points to.

        A controller that has no pod yet gets one with its first properties; it is held back.
        """
        if path != self._place.properties:
            self._change(WRITE, path, f"writing {path}", data)
            return
        if self.read(path) != data:
            self._kubectl.write(properties_object(self._place, data), manager_of(self._place))
        if self._place.role is Role.CONTROLLER and self._pod() is None:
            self._make()

    def require_ours(self, path: str) -> None:
        """Raise if another field manager owns the properties, and the file does not allow it."""
        others = not_named(kept_properties(self), self._driver.take_from)
        if others and path == self._place.properties:
            raise self._error(f"looking who keeps {path}", kept_advice(others))

    def remove(self, path: str) -> None:
        """Remove a file or a folder with its content, if it exists."""
        self._change(REMOVE, path, f"removing {path}")

    def free_bytes(self, path: str) -> int | None:
        """Return the free bytes on the disk of a path, `None` if no container answers."""
        told = self._inside(_FREE, path, f"asking for the free space of {path}")
        words = (told or b"").split()
        known = len(words) > _AVAILABLE and words[_AVAILABLE].isdigit()
        return int(words[_AVAILABLE]) * 1024 if known else None

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Run a program in the pod until it ends, and return its output."""
        what = f"running {command[0]}"
        told = self._kubectl.inside(self._required(what), command, what, deadline=deadline)
        return (told or b"").decode(errors="replace").strip()

    def start(self) -> None:
        """Recreate the pod without holding it back, unless Kafka runs in it."""
        self._set_held(held=False)
        pod = self._pod()
        if pod is not None and (is_ending(pod) or not runs(pod, self._place.container)):
            self._end(pod, None)
        self._await(
            f"starting {self._place.container}",
            lambda pod: pod is not None and was_started(pod, self._place.container),
        )

    def stop(self, deadline: Deadline) -> bool:
        """Recreate the pod and hold it back; return whether Kafka ended by itself.

        At the deadline the pod's host kills it. A host that does not answer cannot, and no other
        pod comes before it does: this waits no longer than some seconds then.
        """
        self._gate()
        is_new = self._set_held(held=True)
        pod, was_clean = self._pod(), True
        # Before the hold a first container that runs may be one that lets Kafka start right now.
        if pod is not None and (is_new or is_ending(pod) or not runs(pod, HOLD)):
            self._end(pod, deadline)
            was_clean = not deadline.over
        self._await("holding it back", lambda pod: pod is not None and runs(pod, HOLD))
        return was_clean

    def started(self) -> int | None:
        """Return the creation time of the pod, in ms since 1970; `None` if Kafka does not run."""
        self.stateful_set()
        pod = self._pod()
        return created(pod) if pod is not None and runs(pod, self._place.container) else None

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped."""
        pod = self._pod()
        if pod is None or not runs(pod, self._place.container):
            return None
        return f"{uid_of(pod)} {restarts(pod, self._place.container)}"

    def process(self) -> str | None:
        """Return the process's command line and open jars, one word per line."""
        what, path = "looking at its process", self._place.properties
        command = _sh(PROCESS_WITH, path)
        told = self._kubectl.inside(self._place.container, command, what)
        return None if told is None else told.decode(errors="replace")

    def log(self, lines: int) -> str:
        """Return the last lines of the node's log, or else the reason why it does not run."""
        pod = self._pod()
        if pod is None:
            return f"there is no pod {self._place.pod}"
        if not was_started(pod, self._place.container):
            return waits_for(pod)
        again = runs(pod, self._place.container) and restarts(pod, self._place.container) > 0
        return self._kubectl.log(self._place.container, lines, ended=again)

    def _stateful_set_of(self, place: NodePlace) -> KubernetesObject | None:
        where = f"namespace {self._driver.namespace}"
        return stateful_set_in(place, self.get, self._hold, where)

    def _pod(self) -> KubernetesObject | None:
        return self.get(ObjectKind.POD, self._place.pod)

    def _container(self, what: str) -> str | None:
        """Return a container that runs, None where there is no pod."""
        pod = self._pod()
        if pod is None:
            return None
        for each in self._place.container, HOLD:
            if runs(pod, each):
                return each
        raise self._error(what, f"no container of pod {self._place.pod} runs: {waits_for(pod)}")

    def _required(self, what: str) -> str:
        """Return a container that runs; without a pod nothing can be changed, and that is told."""
        container = self._container(what)
        if container is None:
            raise self._error(what, f"there is no pod {self._place.pod} to do it in")
        return container

    def _inside(self, script: str, path: str, what: str) -> bytes | None:
        """Look at a file; None where it, or the pod, is not there."""
        container = self._container(what)
        if container is None:
            return None
        return self._kubectl.inside(container, _sh(script, path), what, secret=True)

    def _change(self, script: str, path: str, what: str, data: bytes = b"") -> None:
        command = _sh(script, path, "", str(len(data)))
        self._kubectl.inside(self._required(what), command, what, data, secret=True)

    def _make(self) -> None:
        """Make a controller's pod, which is held back."""
        self._set_held(held=True)
        node = next(x for x in self._config.controllers.nodes if NodeId(x.id) == self._place.node)
        for each in controller_objects(
            self._config, self._driver, node, self._place, self._broker()
        ):
            self._kubectl.create(each)
        self._await("making it", lambda pod: pod is not None and runs(pod, HOLD))

    def _broker(self) -> tuple[KubernetesObject, NodePlace]:
        for each in self._config.brokers:
            place = place_of(self._driver, Role.BROKER, each)
            found = self._stateful_set_of(place)
            if found is not None:
                return found, place
        why = "no broker has a pod from whose StatefulSet that of a controller could be made"
        raise self._error("making its StatefulSet", why)

    def _gate(self) -> None:
        """Let pods of a StatefulSet have the container that holds them back; restarts none."""
        found = self.stateful_set()
        if found is None:
            return
        if gate_of(found) is None:
            self._kubectl.write(gate_object(found, self._place.container, self._hold))

    def _set_held(self, *, held: bool) -> bool:
        """Hold the pod back, or no longer; return whether that was changed."""
        own = {self._place.pod}
        before = held_in(self.get(ObjectKind.CONFIG_MAP, self._hold))
        wanted = before | own if held else before - own
        if wanted != before:
            self._kubectl.write(hold_object(self._hold, wanted))
        return wanted != before

    def _end(self, pod: KubernetesObject, deadline: Deadline | None) -> None:
        """End a pod and wait until it is gone: its StatefulSet makes another one only then."""
        grace = None if deadline is None else max(1, math.ceil(deadline.left()))
        uid = uid_of(pod)
        self._kubectl.delete_pod(uid, grace)
        own = int(pod["spec"].get("terminationGracePeriodSeconds") or 0)
        patience = Deadline.after((own if grace is None else grace) + _SLACK)
        self._await("ending it", lambda now: now is None or uid_of(now) != uid, patience)

    def _await(
        self,
        what: str,
        done: Callable[[KubernetesObject | None], bool],
        deadline: Deadline | None = None,
    ) -> None:
        patience = Deadline.after(self._config.limits.start) if deadline is None else deadline
        while not done(pod := self._pod()):
            if patience.over:
                seen = "there is no pod" if pod is None else _left(pod)
                raise self._error(f"pod {self._place.pod}: {what}", seen)
            time.sleep(min(_PAUSE, max(0.0, patience.left())))

    def _error(self, what: str, why: str) -> DriverError:
        return DriverError(self._place.node, what, why)


def _sh(script: str, path: str, *more: str) -> tuple[str, ...]:
    return "sh", "-c", script, "sh", path, *more


def _left(pod: KubernetesObject) -> str:
    if is_ending(pod):
        host = pod["spec"].get("nodeName")
        return f"it was told to end and is still there; look whether its host {host} answers"
    return waits_for(pod)
