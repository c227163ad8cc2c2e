"""A whole migration of nodes that are pods, through a real API and kubectl: there, back, for good.

Their containers are processes of this machine (`tests/support/kraft/kubelet.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.here import Here
from tests.support.kafka import wait_until
from tests.support.kraft.kube_api import KubernetesApi, fetch
from tests.support.kraft.kubelet import Kubelet
from tests.support.kraft.patients import seed
from tests.support.kraft.runs import entries, run_whole, tell
from tests.support.kraft.traffic import Traffic
from towpath.dev.broker import answers
from towpath.dev.zookeeper import ZooKeeperCluster
from towpath.runtime.deadline import Deadline

pytestmark = [pytest.mark.soak, pytest.mark.broker, pytest.mark.timeout(7200)]
NAMESPACE = "messaging"
CORE, APPS = f"/api/v1/namespaces/{NAMESPACE}", f"/apis/apps/v1/namespaces/{NAMESPACE}"
KEY = "server.properties"
MANAGER = "Python-urllib"
"""The field manager of what the test makes, as the API calls it by its client."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[KubernetesApi]:
    programs = fetch()
    if programs is None:
        pytest.skip("no server of Kubernetes can be built here")
    folder = tmp_path / "kubernetes"
    folder.mkdir()
    with KubernetesApi(programs, folder) as running:
        running.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield running


def serves(node: int, port: int) -> bool:
    """Whether a broker answers with its id."""
    return (node, port) in answers(port).brokers


def folder_of(lab: ZooKeeperCluster, node: int) -> Path:
    """Return where the properties of a node are mounted."""
    return lab.home / "mounted" / str(node)


def command(lab: ZooKeeperCluster, node: int, file: str) -> list[str]:
    """Return the command that runs a node with another file."""
    return [*lab.command(node)[:-1], file]


def stateful_set(lab: ZooKeeperCluster, node: int) -> dict[str, Any]:
    name, labels = f"kafka-{node}", {"app": "kafka", "id": str(node)}
    folder = folder_of(lab, node)
    kafka = {
        "name": "kafka",
        "image": "kafka:3.9.2",
        "command": command(lab, node, str(folder / KEY)),
        "volumeMounts": [{"name": "files", "mountPath": str(folder)}],
    }
    pod = {"containers": [kafka], "volumes": [{"name": "files", "configMap": {"name": name}}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def into_pods(lab: ZooKeeperCluster, api: KubernetesApi) -> None:
    """Let brokers of a lab be pods, and name them in the file of its migration."""
    for node in lab.brokers:
        lab.process(node).stop(Deadline.after(60))
        lab.wait_forgotten(node)
        data = {KEY: lab.files.properties(node).read_text()}
        api.create(f"{CORE}/configmaps", {"metadata": {"name": f"kafka-{node}"}, "data": data})
        api.create(f"{APPS}/statefulsets", stateful_set(lab, node))
    file: dict[str, Any] = YAML(typ="safe").load(lab.config)
    for each in file["brokers"]:
        each["properties"] = str(folder_of(lab, each["id"]) / KEY)
    for each in file["controllers"]["nodes"]:
        each["properties"] = str(folder_of(lab, each["id"]) / "controller.properties")
        each["data"] = str(lab.home / "volumes" / str(each["id"]) / "data")
    file["driver"] = {
        "via": "kubernetes",
        "namespace": NAMESPACE,
        "kubectl": list(api.kubectl),
        "brokers": {"pod": "kafka-{id}-0"},
        "controllers": {"start": command(lab, lab.controllers[0], "{properties}")},
        "format": file["driver"]["format"],
    }
    lab.config.write_text(json.dumps(file))
    for node, port in zip(lab.brokers, lab.ports.internal, strict=True):
        wait_until(partial(serves, node, port), "a pod serves", 120.0)


def take_from(lab: ZooKeeperCluster, *managers: str) -> None:
    """Name field managers in the file whose fields may be taken."""
    file = json.loads(lab.config.read_text())
    file["driver"]["take_from"] = managers
    lab.config.write_text(json.dumps(file))


def test_pods_go_the_whole_way_and_back(tmp_path: Path, api: KubernetesApi, here: Here) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with (
        ZooKeeperCluster(2, 1, home=tmp_path / "lab") as lab,
        Kubelet(api, NAMESPACE, logs).running(),
    ):
        seed(lab)
        into_pods(lab, api)
        checked = here("kraft", "check", str(lab.config), "--output", "json")
        [kept] = [x for x in checked.json["findings"] if x["code"] == "FIELDS_KEPT"]
        assert f"{MANAGER}: .data.{KEY}" in kept["what"], checked.said
        with Traffic(lab) as traffic:
            refused = run_whole(lab, "run", "refused")
            assert refused.wait() == 3, refused.said
            assert f"{MANAGER}: .data.{KEY}" in refused.said
            assert not any(each["event"] == "step_began" for each in entries(lab))
            for node, port in zip(lab.brokers, lab.ports.internal, strict=True):
                assert serves(node, port), "no broker was stopped for it"
            take_from(lab, MANAGER)
            for number, told in enumerate(("run", "rollback", "run", "finalize")):
                done = run_whole(lab, told, f"{told}-{number}")
                assert done.wait() == 0, done.said
                traffic.flowing()
    told_of = traffic.result()
    tell(lab, told_of)
    taken = [each["what"] for each in entries(lab) if each["event"] == "taken"]
    assert len(taken) == len(lab.brokers), "each file once"
    assert told_of.whole, told_of
