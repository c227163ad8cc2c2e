"""A real Kubernetes API: etcd of the system's package; a server, controllers and kubectl by Go.

No kubelet runs: pods have no host, and are what the controllers make of their StatefulSets.
`kubelet.py` gives them one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.kafka import wait_until
from tests.support.network.serving import end, serving
from towpath.dev import ports
from towpath.runtime.home import home_folder

VERSION = "1.34.2"
_PACKAGE = "etcd-server"
_TOKEN = "of-tests"  # noqa: S105, known to this server alone
_PATIENCE = 120.0


def fetch() -> Path | None:
    """Return the folder of the programs; None where they can be neither found nor made.

    The first time takes about ten minutes.
    """
    place = home_folder() / f"kubernetes-{VERSION}-with-kubectl"
    if place.exists():
        return place
    if not all(map(shutil.which, ("go", "apt-get", "dpkg", "openssl"))):
        return None
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        try:
            _etcd(Path(scratch), made)
            _build(Path(scratch), made)
        except subprocess.SubprocessError:
            return None
        return made.replace(place)


def _etcd(scratch: Path, made: Path) -> None:
    command = ["apt-get", "-qq", "download", _PACKAGE]
    subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=_PATIENCE)
    [archive] = scratch.glob(f"{_PACKAGE}_*.deb")
    subprocess.run(["dpkg", "-x", str(archive), str(scratch / "etcd")], check=True)
    (scratch / "etcd/usr/bin/etcd").replace(made / "etcd")


def _build(scratch: Path, made: Path) -> None:
    """Build from the module, whose parts are modules of the same release."""
    work = scratch / "work"
    work.mkdir()
    (work / "go.mod").write_text(f"module x\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v{VERSION}\n")
    environment = os.environ | {"GOFLAGS": "-mod=mod -p=1 -buildvcs=false", "CGO_ENABLED": "0"}

    def go(*words: str) -> str:
        command = ["nice", "-n", "19", "go", *words]
        done = subprocess.run(command, cwd=work, env=environment, check=True, capture_output=True)
        return done.stdout.decode()

    told = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"))
    parts = re.findall(r"(k8s\.io/\S+) => \./staging", Path(told["GoMod"]).read_text())
    replaced = "".join(f"\t{each} => {each} v0{VERSION[1:]}\n" for each in parts)
    with (work / "go.mod").open("a") as file:
        file.write(f"\nreplace (\n{replaced})\n")
    named = f"-X k8s.io/component-base/version.gitVersion=v{VERSION}"
    for program in "kube-apiserver", "kube-controller-manager", "kubectl":
        out = str(made / program)
        go("build", "-trimpath", f"-ldflags=-s -w {named}", "-o", out,
           f"k8s.io/kubernetes/cmd/{program}")  # fmt: skip


class KubernetesApi:
    """The API server with its store and controllers; all of them end with it.

    Args:
        programs: What `fetch` returned.
        folder: Where everything lies.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        self._etcd, self._peer, self.port, self._controllers = ports.reserve(4)
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self) -> None:
        folder = self._folder
        key = str(folder / "accounts.key")
        subprocess.run(["openssl", "genrsa", "-out", key], check=True, capture_output=True)
        (folder / "tokens.csv").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
        store, peer = f"http://127.0.0.1:{self._etcd}", f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd", self._etcd, f"--data-dir={folder}/etcd",
            f"--listen-client-urls={store}", f"--advertise-client-urls={store}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )  # fmt: skip
        self._run(
            "kube-apiserver", self.port, f"--etcd-servers={store}", f"--secure-port={self.port}",
            "--bind-address=127.0.0.1", f"--cert-dir={folder}/certificates",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            f"--token-auth-file={folder}/tokens.csv", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount",
            # WebSockets of kubectl are handed on as they are, so that a host need not speak SPDY.
            "--feature-gates=TranslateStreamCloseWebsocketRequests=false",
            "--kubelet-preferred-address-types=InternalIP",
        )  # fmt: skip
        wait_until(lambda: self.status("GET", "/readyz") == 200, "the API is ready", _PATIENCE)
        (folder / "kubeconfig").write_text(json.dumps(self._kubeconfig()))
        self._run(
            "kube-controller-manager", self._controllers, f"--kubeconfig={folder}/kubeconfig",
            "--controllers=statefulset-controller", "--bind-address=127.0.0.1",
            f"--secure-port={self._controllers}", "--leader-elect=false",
            f"--cert-dir={folder}/controllers",
        )  # fmt: skip

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        for each in reversed(self._processes):
            end(each)

    def status(self, method: str, path: str, body: bytes | None = None, form: str = "") -> int:
        """Return the HTTP status of a request; 0 where nobody answers."""
        return self._ask(method, path, body, form)[0]

    def get(self, path: str) -> dict[str, Any] | None:
        """Return an object, None where there is none."""
        number, text = self._ask("GET", path)
        return json.loads(text) if number == 200 else None

    def create(self, path: str, made: Mapping[str, Any]) -> None:
        """Create an object."""
        number, text = self._ask("POST", path, json.dumps(made).encode(), "application/json")
        assert number == 201, text

    def apply(self, path: str, made: Mapping[str, Any], manager: str = "towpath") -> str:
        """Apply an object as `kubectl apply --server-side` does; return the refusal, "" if none."""
        whole = f"{path}?fieldManager={manager}&force=true&fieldValidation=Strict"
        data = json.dumps(made).encode()
        number, text = self._ask("PATCH", whole, data, "application/apply-patch+yaml")
        return "" if number in {200, 201} else text.decode()

    def patch(self, path: str, made: Mapping[str, Any], form: str) -> None:
        """Change an object."""
        number, text = self._ask("PATCH", path, json.dumps(made).encode(), form)
        assert number in {200, 404}, text

    @property
    def kubectl(self) -> tuple[str, ...]:
        """The command of kubectl that reaches this API."""
        return str(self._programs / "kubectl"), f"--kubeconfig={self._folder / 'kubeconfig'}"

    def _ask(
        self, method: str, path: str, body: bytes | None = None, form: str = ""
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": form or "application/json"}
        url = f"https://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, body, headers, method=method)
        context = ssl.create_default_context(cafile=self._folder / "certificates/apiserver.crt")
        try:
            with urllib.request.urlopen(request, timeout=30, context=context) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def _kubeconfig(self) -> Mapping[str, Any]:
        server = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority": str(self._folder / "certificates/apiserver.crt"),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": server}],
            "users": [{"name": "tests", "user": {"token": _TOKEN}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "current-context": "tests",
        }

    def _run(self, program: str, port: int, *words: str) -> None:
        command = [str(self._programs / program), *words]
        self._processes.append(serving(command, port, self._folder / f"{program}.log"))
