"""The Kubernetes API, accessed through the system's own kubectl.

So its contexts, logins and their plugins are used, and none of ours.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence

from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.errors import DriverError
from towpath.kraft.reach.child import ChildLateError, printable, run_child
from towpath.kraft.reach.kubernetes.node_objects import uid_of
from towpath.kraft.reach.kubernetes.node_place import MANAGER, NodePlace, ObjectKind
from towpath.kraft.reach.kubernetes.objects import KubernetesObject, kind_and_name, patch_of
from towpath.kraft.reach.kubernetes.owners import (
    fields_by_manager,
    kept_advice,
    kept_by_others,
    not_named,
)
from towpath.kraft.reach.scripts import ABSENT
from towpath.model.foreign import foreign
from towpath.runtime.deadline import Deadline

_PATIENCE = 60.0
"""Seconds for one command whose deadline nobody gives."""
_LINES = 20
_TIMES = 5
"""How often a write is tried that others come before: controllers tell how an object is."""


class Kubectl:
    """Access to the Kubernetes objects of one node.

    Args:
        driver: Says how kubectl is called, and in which namespace.
        place: The node.
        notice: Is told what was taken from other field managers, as the file allows it.
    """

    def __init__(
        self,
        driver: KubernetesDriver,
        place: NodePlace,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._take_from, self._notice = driver.take_from, notice
        self._command = (*driver.kubectl, f"--namespace={driver.namespace}")
        self._pods = f"/api/v1/namespaces/{driver.namespace}/pods"
        self._place = place

    def get(self, kind: ObjectKind, name: str) -> KubernetesObject | None:
        """Return an object, `None` if there is none.

        Raises:
            DriverError: The API cannot be reached, or refuses.
        """
        how = ("--output=json", "--ignore-not-found", "--show-managed-fields")
        text = self._call(f"reading {kind} {name}", "get", kind.lower(), name, *how)
        if not text.strip():
            return None
        try:
            found: KubernetesObject = json.loads(text)
        except ValueError as error:
            why = f"what {self._command[0]} printed is no JSON: {foreign(error)}"
            raise self._error(f"reading {kind} {name}", why) from error
        return found

    def write(self, made: KubernetesObject, manager: str = MANAGER) -> None:
        """Patch an object; everything that `made` does not name stays unchanged.

        A field that another manager keeps with another value is taken only from those managers
        that the file names, and only as it was when it was looked at. `kubectl apply` is no way
        there: it takes all fields of an object that `kubectl apply` has made before, and removes
        those that are not named.

        Args:
            made: The object.
            manager: Field manager of what is written.

        Raises:
            DriverError: Another manager keeps a field, the API cannot be reached, or it refuses.
        """
        version, done = self._attempt(made, manager)
        for _ in range(_TIMES):
            if done.returncode == 0 or version == _version(self._there(made)):
                break
            version, done = self._attempt(made, manager)
        self._checked(done, _writing(made))

    def create(self, made: KubernetesObject, manager: str = MANAGER) -> None:
        """Create an object unless it exists.

        Raises:
            DriverError: The API cannot be reached, or refuses.
        """
        if self._there(made) is None:
            self.write(made, manager)

    def _there(self, made: KubernetesObject) -> KubernetesObject | None:
        return self.get(*kind_and_name(made))

    def _attempt(
        self, made: KubernetesObject, manager: str
    ) -> tuple[str, subprocess.CompletedProcess[bytes]]:
        """Write an object as it is seen now; return its version, and what the API said."""
        what, there = _writing(made), self._there(made)
        kept = kept_by_others(made, there, manager)
        if others := not_named(kept, self._take_from):
            raise self._error(what, kept_advice(others))
        done = self._written(what, made, there, manager)
        if kept and done.returncode == 0:
            self._notice(f"{what}: taken from field manager {fields_by_manager(kept)}")
        return _version(there), done

    def _written(
        self, what: str, made: KubernetesObject, there: KubernetesObject | None, manager: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Create an object, or change it as it was seen: one that was changed since is refused."""
        owner = f"--field-manager={manager}"
        if there is None:
            return self._run(what, ("create", owner, "--filename=-"), json.dumps(made).encode())
        kind, name = kind_and_name(made)
        version = {"resourceVersion": _version(there)}
        change = {**patch_of(made, there), "metadata": {**made["metadata"], **version}}
        how = ("patch", kind.lower(), name, owner, "--patch-file=/dev/stdin")
        return self._run(what, how, json.dumps(change).encode())

    def delete_pod(self, uid: str, grace: int | None = None) -> None:
        """Delete a pod of the node by its uid, and return at once.

        Args:
            uid: The pod's uid. The API deletes no pod that has another one.
            grace: Seconds after which it is killed; None for those that the pod itself names.

        Raises:
            DriverError: The API cannot be reached, or refuses.
        """
        pod, what = self._place.pod, f"ending pod {self._place.pod}"
        wanted: dict[str, object] = {"preconditions": {"uid": uid}}
        how = [] if grace is None else [f"--grace-period={grace}"]
        if grace is not None:
            wanted["gracePeriodSeconds"] = grace
        made = {"apiVersion": "v1", "kind": "DeleteOptions", **wanted}
        # No option of kubectl names a precondition.
        raw = ("delete", f"--raw={self._pods}/{pod}", "--filename=-")
        if self._run(what, raw, json.dumps(made).encode()).returncode == 0:
            return
        there = self.get(ObjectKind.POD, pod)
        if there is not None and uid_of(there) == uid:
            # `--raw` does not reach an API that lies below a path of its server.
            self._call(what, "delete", "pod", pod, "--ignore-not-found", "--wait=false", *how)

    def inside(
        self,
        container: str,
        command: Sequence[str],
        what: str,
        data: bytes = b"",
        deadline: Deadline | None = None,
        *,
        secret: bool = False,
    ) -> bytes | None:
        """Run a program in a container, and return its output; `None` for its "absent" exit code.

        Args:
            container: A container of the node's pod.
            command: The program.
            what: What it does, for people.
            data: Its input.
            deadline: When it must be done.
            secret: Whether what it prints may hold passwords, and is not shown where it fails.

        Raises:
            DriverError: It failed, was too late, or the API refuses.
        """
        stdin = ("--stdin",) if data else ()
        at = ("exec", *stdin, self._place.pod, f"--container={container}", "--", *command)
        done = self._run(what, at, data, deadline)
        if secret and done.returncode:
            done.stdout = b""
        return None if done.returncode == ABSENT else self._checked(done, what)

    def log(self, container: str, lines: int, *, ended: bool = False) -> str:
        """Return the last lines of a container's log, or of its predecessor's.

        Args:
            container: A container of the node's pod.
            lines: How many lines.
            ended: Whether the log of the container before it is asked for first: that one ended,
                and its host started this one in its place.

        Raises:
            DriverError: The API cannot be reached, or refuses.
        """
        at = ("logs", self._place.pod, f"--container={container}", f"--tail={lines}")
        what = f"reading the log of {container}"
        if ended and (told := self._log_before(what, at)):
            return told
        told = printable(self._call(what, *at).encode())
        return told or self._log_before(what, at)

    def _log_before(self, what: str, at: Sequence[str]) -> str:
        before = self._run(what, (*at, "--previous"))
        return printable(before.stdout) if before.returncode == 0 else ""

    def _call(self, what: str, *words: str, data: bytes = b"") -> str:
        return self._checked(self._run(what, words, data), what).decode(errors="replace")

    def _run(
        self,
        what: str,
        words: Sequence[str],
        data: bytes = b"",
        deadline: Deadline | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        left = _PATIENCE if deadline is None else deadline.left()
        command = [*self._command, *words]
        try:
            return run_child(command, data, seconds=left)
        except ChildLateError as error:
            raise self._error(what, str(error)) from error
        except FileNotFoundError as error:
            why = f"{command[0]} is not there: install it, or name it as `driver.kubectl`"
            raise self._error(what, why) from error
        except OSError as error:
            raise self._error(what, foreign(error)) from error

    def _checked(self, done: subprocess.CompletedProcess[bytes], what: str) -> bytes:
        if done.returncode == 0:
            return done.stdout
        raise self._failure(done, what)

    def _failure(self, done: subprocess.CompletedProcess[bytes], what: str) -> DriverError:
        tail = "; ".join(printable(done.stdout + done.stderr).splitlines()[-_LINES:])
        return self._error(
            what, f"kubectl ended with code {done.returncode}: {tail}{_advice(tail)}"
        )

    def _error(self, what: str, why: str) -> DriverError:
        return DriverError(self._place.node, what, why)


def _writing(made: KubernetesObject) -> str:
    return f"writing {made['kind']} {made['metadata']['name']}"


def _version(there: KubernetesObject | None) -> str:
    """Return what differs for each state of an object; "" where there is none."""
    return str(there["metadata"]["resourceVersion"]) if there is not None else ""


def _advice(told: str) -> str:
    """Return what to do where the API refuses for a missing right, which its answer names."""
    if "(Forbidden)" not in told:
        return ""
    return "; give who asks (`kubectl auth whoami`) the rights that docs/kraft-hosts.md lists"
