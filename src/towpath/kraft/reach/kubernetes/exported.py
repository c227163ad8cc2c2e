"""Nodes known only from Kubernetes objects that were exported to a folder.

`objects.json` is what `kubectl get statefulset,pod,configmap,secret -o json` gave; a file of a pod
lies beside it at its path below the pod's name. So steps can be planned without the API, and are
done by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from towpath.kraft.errors import DriverError, StepByHandError
from towpath.kraft.reach.kubernetes.node_objects import created, modified, runs, stateful_set_in
from towpath.kraft.reach.kubernetes.node_place import NodePlace, ObjectKind
from towpath.kraft.reach.kubernetes.objects import KubernetesObject, properties_in
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline

OBJECTS = "objects.json"


class ExportedNode:
    """One node as it was when its objects were exported; it can only be read.

    Args:
        folder: The folder.
        place: Where the node lives.
        hold: Name of the ConfigMap that names the migration's held pods.
    """

    def __init__(self, folder: Path, place: NodePlace, hold: str) -> None:
        self._folder, self._place, self._hold = folder, place, hold

    @property
    def place(self) -> NodePlace:
        """The Kubernetes objects that belong to the node."""
        return self._place

    def get(self, kind: ObjectKind, name: str) -> KubernetesObject | None:
        """Return an exported object, `None` if there is none.

        Raises:
            DriverError: The file cannot be read.
        """
        for each in self._objects():
            if each.get("kind") == kind and each["metadata"]["name"] == name:
                return each
        return None

    def stateful_set(self) -> KubernetesObject | None:
        """Return the node's StatefulSet, `None` if the node has no pod.

        Raises:
            DriverError: The pod is not ours to touch.
        """
        where = f"{self._folder / OBJECTS}: export it"
        return stateful_set_in(self.place, self.get, self._hold, where)

    def read(self, path: str) -> bytes | None:
        """Return a file's content, `None` if the export does not have it."""
        if path == self.place.properties:
            holder = self.get(self.place.holder, self.place.holder_name)
            return None if holder is None else properties_in(self.place, holder)
        copied = self._folder / self.place.pod / path.lstrip("/")
        try:
            return copied.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error(f"{copied}: {foreign(error)}") from error

    def modified(self, path: str) -> int | None:
        """Return the modification time of the properties, if the export has it."""
        holder = self.get(self.place.holder, self.place.holder_name)
        if holder is None or path != self.place.properties:
            return None
        return modified(holder, self.place.key)

    def free_bytes(self, path: str) -> int | None:
        """Return `None`, as an export does not have the free space."""
        del path
        return None

    def started(self) -> int | None:
        """Return the creation time of the pod, in ms since 1970; `None` if Kafka did not run."""
        self.stateful_set()
        pod = self.get(ObjectKind.POD, self.place.pod)
        if pod is None or not runs(pod, self.place.container):
            return None
        return created(pod)

    def incarnation(self) -> str | None:
        """Return a text that changes with each start of the node's process; `None` if stopped."""
        started = self.started()
        return None if started is None else str(started)

    def process(self) -> str | None:
        """Return `None`, as an export does not have the process."""
        return None

    def log(self, lines: int) -> str:
        """Return the `kubectl` command that shows the log."""
        return f"kubectl logs {self.place.pod} -c {self.place.container} --tail={lines}"

    def write(self, path: str, data: bytes) -> None:
        """Raise, as steps on exported nodes are done by hand."""
        raise self._by_hand(f"writing {path} ({len(data)} bytes)")

    def require_ours(self, path: str) -> None:
        """Do nothing, as steps on exported nodes are done by hand."""

    def remove(self, path: str) -> None:
        """Raise, as steps on exported nodes are done by hand."""
        raise self._by_hand(f"removing {path}")

    def run(self, command: Sequence[str], deadline: Deadline) -> str:
        """Raise, as steps on exported nodes are done by hand."""
        del deadline
        raise self._by_hand(f"running {command[0]}")

    def start(self) -> None:
        """Raise, as steps on exported nodes are done by hand."""
        raise self._by_hand(f"starting pod {self.place.pod}")

    def stop(self, deadline: Deadline) -> bool:
        """Raise, as steps on exported nodes are done by hand."""
        del deadline
        raise self._by_hand(f"stopping pod {self.place.pod}")

    def _objects(self) -> Sequence[KubernetesObject]:
        file = self._folder / OBJECTS
        try:
            told = json.loads(file.read_bytes())
            return [each for each in told["items"] if isinstance(each, dict)]
        except OSError as error:
            raise self._error(f"{file}: {foreign(error)}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise self._error(
                f"{file} is no list of objects as `kubectl get -o json` gives"
            ) from error

    def _error(self, why: str) -> DriverError:
        return DriverError(self.place.node, f"looking at pod {self.place.pod}", why)

    def _by_hand(self, what: str) -> StepByHandError:
        return StepByHandError(self.place.node, what)
