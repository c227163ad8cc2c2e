"""What steps apply, given to a real API server whose controllers make the pods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.kafka import wait_until
from tests.support.kraft_pods import NAMESPACE, config_map, export, pod_config, stateful_set
from tests.support.kraft_worlds import start_of
from tests.support.kube_api import KubernetesApi, fetch
from towpath.config import KubernetesDriver
from towpath.kraft.drivers import drivers_of
from towpath.kraft.kubernetes.kubectl import Kubectl
from towpath.kraft.kubernetes.manifests import manifests
from towpath.kraft.kubernetes.objects import HOLD, properties_object
from towpath.kraft.kubernetes.places import manager_of, place_of
from towpath.kraft.model import Goal, Role
from towpath.kraft.planning.outline import outline

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
CORE, APPS = f"/api/v1/namespaces/{NAMESPACE}", f"/apis/apps/v1/namespaces/{NAMESPACE}"
PATHS = {"ConfigMap": f"{CORE}/configmaps", "Secret": f"{CORE}/secrets",
         "Service": f"{CORE}/services", "StatefulSet": f"{APPS}/statefulsets"}  # fmt: skip


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesApi]:
    programs = fetch()
    if programs is None:
        pytest.skip("no server of Kubernetes can be built here")
    with KubernetesApi(programs, tmp_path_factory.mktemp("kubernetes")) as running:
        running.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield running


def brokers() -> dict[str, Any]:
    """Return the StatefulSet of the brokers with all that the API wants of one."""
    made = stateful_set()
    del made["metadata"]["uid"]
    labels = {"app": "kafka"}
    spec = made["spec"]
    spec["template"]["metadata"] = {"labels": labels}
    data = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": data}]
    spec |= {"serviceName": "kafka", "replicas": 2, "podManagementPolicy": "Parallel",
             "selector": {"matchLabels": labels}, "volumeClaimTemplates": claims}  # fmt: skip
    return made


def pod(api: KubernetesApi, name: str) -> dict[str, Any] | None:
    return api.get(f"{CORE}/pods/{name}")


def test_everything_that_steps_apply_is_taken(api: KubernetesApi, tmp_path: Path) -> None:
    config = pod_config(export(tmp_path))
    seen = start_of(config)
    planned = outline(config, seen, Goal.FINAL)
    told = manifests(config, seen, drivers_of(config).values(), planned, Goal.FINAL)
    api.create(PATHS["StatefulSet"], brokers())
    for node in 0, 1:
        api.create(PATHS["ConfigMap"], config_map(node))
    wait_until(lambda: all(pod(api, each) for each in ("kafka-0", "kafka-1")), "brokers have pods")
    before = {name: pod(api, name) for name in ("kafka-0", "kafka-1")}
    for name, text in sorted(told.items()):
        for made in YAML(typ="safe").load_all(text) if name.endswith(".yaml") else ():
            path = f"{PATHS[made['kind']]}/{made['metadata']['name']}"
            assert api.apply(path, made) == "", name
    kept = api.get(f"{PATHS['ConfigMap']}/kafka-0")
    assert kept
    assert kept["data"]["other"] == "stays"
    controllers = [f"kafka-controller-{node}-0" for node in (3000, 3001, 3002)]
    wait_until(lambda: all(pod(api, each) for each in controllers), "controllers have pods")
    for name, was in before.items():
        now = pod(api, name)
        assert now
        assert was
        assert now["metadata"]["uid"] == was["metadata"]["uid"], "the gate restarts nothing"
        assert "initContainers" not in now["spec"]
    assert api.status("DELETE", f"{CORE}/pods/kafka-1") == 200
    wait_until(lambda: HOLD in str(pod(api, "kafka-1")), "a pod comes back with the gate")
    whole = api.get(f"{PATHS['StatefulSet']}/kafka")
    assert whole
    named = [each["name"] for each in whole["spec"]["template"]["spec"]["containers"]]
    assert named == ["exporter", "kafka"]


def test_a_node_leaves_the_files_of_others_in_one_object(
    api: KubernetesApi, tmp_path: Path
) -> None:
    config = pod_config(tmp_path, brokers={"properties": {"name": "all", "key": "{id}.properties"}})
    assert isinstance(config.driver, KubernetesDriver)
    path = f"{PATHS['ConfigMap']}/all"
    for each in config.brokers:
        place = place_of(config.driver, Role.BROKER, each)
        made = properties_object(place, f"broker.id={each.id}\n".encode())
        assert api.apply(path, made, manager_of(place)) == ""
    there = api.get(path)
    assert there
    assert there["data"] == {f"{each.id}.properties": f"broker.id={each.id}\n"
                             for each in config.brokers}  # fmt: skip


def test_a_pod_that_came_in_the_place_of_another_is_left(api: KubernetesApi) -> None:
    config = pod_config(exported=None, kubectl=list(api.kubectl), brokers={"pod": "single-{id}"})
    assert isinstance(config.driver, KubernetesDriver)
    kubectl = Kubectl(config.driver, place_of(config.driver, Role.BROKER, config.brokers[0]))
    containers = [{"name": "kafka", "image": "kafka:3.9.2"}]
    api.create(
        f"{CORE}/pods", {"metadata": {"name": "single-0"}, "spec": {"containers": containers}}
    )
    kubectl.delete_pod("00000000-0000-0000-0000-000000000000", 1)
    there = pod(api, "single-0")
    assert there
    assert "deletionTimestamp" not in there["metadata"]
    kubectl.delete_pod(there["metadata"]["uid"], 1)
    wait_until(lambda: pod(api, "single-0") is None, "the pod is gone")
