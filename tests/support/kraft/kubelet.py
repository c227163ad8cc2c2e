"""The host of pods in tests: their containers are processes of this machine.

A real kubelet wants an engine for containers, which test machines lack. This one does what a
migration needs of it: it runs first containers and then the others, with files of ConfigMaps and
Secrets where they are mounted, starts them again when they end, ends them with their grace, tells
the API how they are, and serves `kubectl exec` and `kubectl logs`. Paths are those of this machine,
so each pod has folders of its own in its template.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.kraft.kube_api import KubernetesApi
from tests.support.kraft.kubelet_server import serve
from towpath.dev import ports

HOST = "host"
_PAUSE = 0.2
_PREVIOUS = ".previous"
_MERGE = "application/merge-patch+json"


@dataclass(slots=True)
class RunningPod:
    """A pod that was given to this host.

    Attributes:
        pod: Its object, as it was then.
        process: The container that runs or ran last.
        at: Number of that container: first containers, then the others.
        killed_at: When its grace is over; None before it is told to end.
    """

    pod: dict[str, Any]
    process: subprocess.Popen[bytes] | None = None
    at: int = -1
    killed_at: float | None = None
    began: str = ""
    ended: dict[str, int] = field(default_factory=dict)
    restarts: dict[str, int] = field(default_factory=dict)

    @property
    def containers(self) -> list[dict[str, Any]]:
        """First containers, then the one that counts."""
        spec = self.pod["spec"]
        return [*spec.get("initContainers", ()), *spec["containers"]]

    @property
    def is_first(self) -> bool:
        """Whether a first container is at work."""
        return self.at < len(self.pod["spec"].get("initContainers", ()))


class Kubelet:
    """Runs the pods of a namespace until it is stopped.

    Args:
        api: The API.
        namespace: The namespace.
        folder: Where logs of containers go.
    """

    def __init__(self, api: KubernetesApi, namespace: str, folder: Path) -> None:
        self._api, self._core = api, f"/api/v1/namespaces/{namespace}"
        self._folder = folder
        self._pods: dict[str, RunningPod] = {}
        self._stopping = threading.Event()
        self._port = ports.reserve(1)[0]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve and run pods; at the end all of their processes are gone."""
        address = {"type": "InternalIP", "address": "127.0.0.1"}
        self._api.create("/api/v1/nodes", {"metadata": {"name": HOST}})
        endpoint = {"kubeletEndpoint": {"Port": self._port}}
        status = {"addresses": [address], "daemonEndpoints": endpoint}
        self._api.patch(f"/api/v1/nodes/{HOST}/status", {"status": status}, _MERGE)
        worker = threading.Thread(target=self._work, name="kubelet")
        with serve(self._port, self):
            worker.start()
            try:
                yield
            finally:
                self._stopping.set()
                worker.join()
                for each in self._pods.values():
                    _signal(each, signal.SIGKILL)
                    if each.process is not None:
                        each.process.wait()

    def command(self, pod: str, container: str, words: list[str]) -> list[str]:
        """Return how a command is run in a container."""
        found = self._pods[pod]
        assert found.containers[found.at]["name"] == container, f"{container} does not run"
        return words

    def log(self, pod: str, container: str, *, previous: bool) -> bytes:
        """Return what a container logged, or the one before it in its pod."""
        path = self._folder / f"{pod}-{container}.log{_PREVIOUS if previous else ''}"
        return path.read_bytes() if path.exists() else b""

    def kill(self, pod: str) -> None:
        """Kill the process of a pod's container, as a lack of memory does."""
        _signal(self._pods[pod], signal.SIGKILL)

    def _work(self) -> None:
        while not self._stopping.wait(_PAUSE):
            listed = self._api.get(f"{self._core}/pods")
            for pod in listed["items"] if listed else ():
                self._look(pod)

    def _look(self, pod: dict[str, Any]) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        known = self._pods.get(name)
        if known is None or known.pod["metadata"]["uid"] != uid:
            if "deletionTimestamp" in pod["metadata"]:
                self._forget(name)
                return
            known = self._pods[name] = RunningPod(pod)
            target = {"apiVersion": "v1", "kind": "Node", "name": HOST}
            made = {"metadata": {"name": name}, "target": target}
            self._api.create(f"{self._core}/pods/{name}/binding", made)
        if "deletionTimestamp" in pod["metadata"]:
            self._end(known, pod)
        else:
            self._go_on(known)

    def _go_on(self, known: RunningPod) -> None:
        code = None if known.process is None else known.process.poll()
        if known.process is not None and code is None:
            return
        if code is not None and (code or not known.is_first):
            self._again(known)
            return
        if code is not None:
            known.ended[known.containers[known.at]["name"]] = code
        known.at += 1
        self._mount(known.pod)
        self._start(known)
        self._tell(known)

    def _again(self, known: RunningPod) -> None:
        """Start a container again that has ended: the restart policy of pods is `Always`."""
        name = known.containers[known.at]["name"]
        known.restarts[name] = known.restarts.get(name, 0) + 1
        log = self._folder / f"{known.pod['metadata']['name']}-{name}.log"
        log.replace(log.with_name(log.name + _PREVIOUS))
        self._start(known)
        self._tell(known)

    def _start(self, known: RunningPod) -> None:
        container, name = known.containers[known.at], known.pod["metadata"]["name"]
        with (self._folder / f"{name}-{container['name']}.log").open("ab") as log:
            known.process = subprocess.Popen(
                container["command"], env=self._environment(container, name), stdout=log,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        known.began = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def _environment(self, container: Mapping[str, Any], pod: str) -> dict[str, str]:
        made = dict(os.environ)
        for each in container.get("env", ()):
            source = each.get("valueFrom") or {}
            if "configMapKeyRef" in source:
                told = source["configMapKeyRef"]
                found = self._api.get(f"{self._core}/configmaps/{told['name']}")
                made[each["name"]] = ((found or {}).get("data") or {}).get(told["key"], "")
            elif "fieldRef" in source:
                made[each["name"]] = pod
            else:
                made[each["name"]] = each.get("value", "")
        return made

    def _mount(self, pod: Mapping[str, Any]) -> None:
        volumes = {each["name"]: each for each in pod["spec"].get("volumes", ())}
        for container in pod["spec"]["containers"]:
            for mount in container.get("volumeMounts", ()):
                folder, volume = Path(mount["mountPath"]), volumes.get(mount["name"], {})
                folder.mkdir(parents=True, exist_ok=True)
                for key, data in self._files(volume).items():
                    (folder / key).write_bytes(data)

    def _files(self, volume: Mapping[str, Any]) -> dict[str, bytes]:
        if "configMap" in volume:
            found = self._api.get(f"{self._core}/configmaps/{volume['configMap']['name']}") or {}
            return {key: text.encode() for key, text in (found.get("data") or {}).items()}
        if "secret" in volume:
            found = self._api.get(f"{self._core}/secrets/{volume['secret']['secretName']}") or {}
            return {key: base64.b64decode(x) for key, x in (found.get("data") or {}).items()}
        return {}

    def _end(self, known: RunningPod, pod: Mapping[str, Any]) -> None:
        if known.killed_at is None:
            grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
            known.killed_at = time.monotonic() + grace
            _signal(known, signal.SIGTERM)
        if known.process is not None and known.process.poll() is None:
            if time.monotonic() > known.killed_at:
                _signal(known, signal.SIGKILL)
            return
        self._forget(pod["metadata"]["name"])

    def _forget(self, name: str) -> None:
        self._pods.pop(name, None)
        self._api.status("DELETE", f"{self._core}/pods/{name}?gracePeriodSeconds=0")

    def _tell(self, known: RunningPod) -> None:
        first = known.pod["spec"].get("initContainers", ())
        status = {
            "phase": "Pending" if known.is_first else "Running",
            "initContainerStatuses": [self._status(known, each) for each in first],
            "containerStatuses": [
                self._status(known, each) for each in known.pod["spec"]["containers"]
            ],
        }
        path = f"{self._core}/pods/{known.pod['metadata']['name']}/status"
        self._api.patch(path, {"status": status}, _MERGE)

    def _status(self, known: RunningPod, container: Mapping[str, Any]) -> dict[str, Any]:
        name = container["name"]
        if name in known.ended:
            state: dict[str, Any] = {"terminated": {"exitCode": known.ended[name]}}
        elif known.at >= 0 and known.containers[known.at]["name"] == name:
            state = {"running": {"startedAt": known.began}}
        else:
            state = {"waiting": {"reason": "PodInitializing"}}
        times = known.restarts.get(name, 0)
        common = {"name": name, "image": container["image"], "imageID": "", "restartCount": times}
        return {**common, "ready": "running" in state, "state": state}


def _signal(known: RunningPod, number: signal.Signals) -> None:
    if known.process is not None and known.process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(known.process.pid, number)
