"""What steps apply, given to a real API server whose controllers make the pods."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.support.kafka import wait_until
from tests.support.kraft.kube_api import KubernetesApi, fetch
from tests.support.kraft.kubelet import Kubelet
from tests.support.kraft.pods import NAMESPACE, config_map, export, pod_config, stateful_set
from tests.support.kraft.worlds import start_of
from towpath.kraft.config import KraftConfig, KubernetesDriver
from towpath.kraft.decide.outline import outline
from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import Goal, NodeId, Role
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.kubernetes.kubectl import Kubectl
from towpath.kraft.reach.kubernetes.kubectl_node import KubectlNode
from towpath.kraft.reach.kubernetes.node_place import ObjectKind, manager_of, place_of
from towpath.kraft.reach.kubernetes.objects import HOLD, properties_object
from towpath.kraft.reach.kubernetes.owners import kept_by_others
from towpath.kraft.run.manifests import manifests
from towpath.runtime.deadline import Deadline

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


def test_a_right_to_delete_that_is_missing_is_told(api: KubernetesApi) -> None:
    """`--raw` answers a wrong uid and a missing right alike, with exit code 1."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
    api.create(f"{roles}/roles", {"metadata": {"name": "looks"}, "rules": rules})
    refer = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "looks"}
    who = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}]
    bound = {"metadata": {"name": "looks"}, "roleRef": refer, "subjects": who}
    api.create(f"{roles}/rolebindings", bound)
    config = pod_config(
        exported=None, kubectl=[*api.kubectl, "--as=jane"], brokers={"pod": "kept-{id}"}
    )
    assert isinstance(config.driver, KubernetesDriver)
    containers = [{"name": "kafka", "image": "kafka:3.9.2"}]
    api.create(f"{CORE}/pods", {"metadata": {"name": "kept-0"}, "spec": {"containers": containers}})
    kubectl = Kubectl(config.driver, place_of(config.driver, Role.BROKER, config.brokers[0]))
    there = pod(api, "kept-0")
    assert there
    with pytest.raises(DriverError, match=r"ending pod kept-0: .*jane.*cannot delete.*docs/kraft"):
        kubectl.delete_pod(there["metadata"]["uid"], 1)
    assert "deletionTimestamp" not in (pod(api, "kept-0") or there)["metadata"]


def test_a_context_or_namespace_that_is_gone_is_told(api: KubernetesApi) -> None:
    gone = pod_config(exported=None, kubectl=[*api.kubectl, "--context=gone"])
    with pytest.raises(DriverError, match='context "gone" does not exist'):
        drivers_of(gone)[NodeId(0)].started()
    away = pod_config(exported=None, kubectl=[*api.kubectl, "--server=https://127.0.0.1:9"])
    with pytest.raises(DriverError, match=r"reading Pod kafka-0: .*127\.0\.0\.1:9"):
        drivers_of(away)[NodeId(0)].started()


def kubectl_of(api: KubernetesApi, *words: str, data: object = None) -> str:
    """Run kubectl as somebody else would; return what it said."""
    command = [*api.kubectl, f"--namespace={NAMESPACE}", *words]
    done = subprocess.run(
        command, input=json.dumps(data).encode(), capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode()


def shared_map(api: KubernetesApi, name: str, manager: str) -> None:
    """Let another tool apply the properties of a broker, as client-side or server-side apply."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"server.properties": "broker.id=0\n", "other": "stays"}}  # fmt: skip
    how = ["--server-side", f"--field-manager={manager}"] if manager == "gitops" else []
    assert "serverside-applied" in (said := kubectl_of(api, "apply", *how, "-f-", data=made)) or (
        "created" in said
    ), said


@pytest.mark.parametrize("manager", ["gitops", "kubectl-client-side-apply"])
def test_fields_of_another_manager_are_taken_only_where_the_file_names_it(
    api: KubernetesApi, manager: str
) -> None:
    name = f"shared-{manager}"
    shared_map(api, name, manager)
    properties = {"name": name, "key": "server.properties"}

    def node(*managers: str) -> tuple[KraftConfig, KubectlNode, list[str]]:
        told: list[str] = []
        config = pod_config(exported=None, kubectl=list(api.kubectl), take_from=managers,
                            brokers={"pod": "none-{id}", "properties": properties})  # fmt: skip
        made = drivers_of(config, lambda _node, text: told.append(text))[NodeId(0)]
        assert isinstance(made, KubectlNode)
        return config, made, told

    config, ours, told = node()
    path = config.brokers[0].properties
    with pytest.raises(DriverError, match=rf"\({manager}: \.data\.server\.properties\)"):
        ours.write(path, b"node.id=0\n")
    assert ours.read(path) == b"broker.id=0\n"
    _, allowed, told = node(manager)
    allowed.write(path, b"node.id=0\n")
    assert allowed.read(path) == b"node.id=0\n"
    assert told == [f"writing ConfigMap {name}: taken from field manager {manager}:"
                    " .data.server.properties"]  # fmt: skip
    allowed.write(path, b"node.id=0\na=1\n")
    assert len(told) == 1, "it is ours now"
    drivers_of(config)[NodeId(0)].write(path, b"node.id=0\nb=1\n")
    assert ours.read(path) == b"node.id=0\nb=1\n", "without leave, too"
    there = api.get(f"{PATHS['ConfigMap']}/{name}")
    assert there
    assert there["data"]["other"] == "stays"
    assert manager in {each["manager"] for each in there["metadata"]["managedFields"]}


def test_what_another_manager_takes_in_between_is_seen(api: KubernetesApi) -> None:
    shared_map(api, "moving", "gitops")
    config = pod_config(exported=None, kubectl=list(api.kubectl), take_from=["gitops"],
                        brokers={"properties": {"name": "moving"}})  # fmt: skip
    assert isinstance(config.driver, KubernetesDriver)
    place = place_of(config.driver, Role.BROKER, config.brokers[0])
    changes = ['{"data":{"more":"x"}}', '{"data":{"server.properties":"by a pipeline"}}']

    class Late(Kubectl):
        """What it writes comes later than what others write."""

        def get(self, kind: ObjectKind, name: str) -> Mapping[str, Any] | None:
            seen = super().get(kind, name)
            if changes:
                how = ("--field-manager=pipeline", "-p", changes.pop(0))
                assert "patched" in kubectl_of(api, "patch", "configmap", name, *how)
            return seen

    with pytest.raises(DriverError, match=r"\(pipeline: \.data\.server\.properties\)"):
        Late(config.driver, place).write(properties_object(place, b"node.id=0\n"), "towpath-0")
    there = Kubectl(config.driver, place).get(ObjectKind.CONFIG_MAP, "moving")
    assert there
    assert there["data"]["server.properties"] == "by a pipeline"
    assert not changes


def test_a_status_that_changes_in_between_holds_up_no_write(api: KubernetesApi) -> None:
    shared_map(api, "busy", "gitops")
    config = pod_config(exported=None, kubectl=list(api.kubectl), take_from=["gitops"],
                        brokers={"properties": {"name": "busy"}})  # fmt: skip
    assert isinstance(config.driver, KubernetesDriver)
    place = place_of(config.driver, Role.BROKER, config.brokers[0])
    times = iter(range(3))

    class Busy(Kubectl):
        """Each look is followed by a change of somebody else."""

        def get(self, kind: ObjectKind, name: str) -> Mapping[str, Any] | None:
            seen = super().get(kind, name)
            if (number := next(times, None)) is not None:
                change = json.dumps({"data": {"more": str(number)}})
                kubectl_of(api, "patch", "configmap", name, "-p", change)
            return seen

    Busy(config.driver, place).write(properties_object(place, b"node.id=0\n"), "towpath-0")
    there = Kubectl(config.driver, place).get(ObjectKind.CONFIG_MAP, "busy")
    assert there
    assert there["data"] == {"server.properties": "node.id=0\n", "other": "stays", "more": "2"}


def test_files_of_other_nodes_stay_in_an_object_that_kubectl_applied(api: KubernetesApi) -> None:
    data = {f"{node}.properties": f"broker.id={node}\n" for node in (0, 1)}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "both"}, "data": data}
    assert "created" in kubectl_of(api, "apply", "-f-", data=made)
    manager = "kubectl-client-side-apply"
    brokers = {"pod": "none-{id}", "properties": {"name": "both", "key": "{id}.properties"}}
    config = pod_config(
        exported=None, kubectl=list(api.kubectl), take_from=[manager], brokers=brokers
    )
    told: list[str] = []
    drivers = drivers_of(config, lambda _node, text: told.append(text))
    for text in (b"first=1\n", b"second=1\n"):
        for each in config.brokers:
            drivers[NodeId(each.id)].write(each.properties, text)
            assert drivers[NodeId(each.id)].read(each.properties) == text
    there = api.get(f"{PATHS['ConfigMap']}/both")
    assert there
    assert there["data"] == dict.fromkeys(data, "second=1\n")
    assert len(told) == len(config.brokers), "nothing of the map is left to be taken"


def test_conflicts_are_those_that_the_api_names(api: KubernetesApi) -> None:
    shared_map(api, "named", "gitops")
    there = api.get(f"{PATHS['ConfigMap']}/named")
    assert there
    meta = {"name": "named", "labels": {"a": "b"}}
    data = {"server.properties": "broker.id=0\n", "other": "moves", "new": "x"}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
    said = kubectl_of(api, "apply", "--server-side", "--field-manager=us", "-f-", data=made)
    assert 'conflict with "gitops": .data.other' in said, said
    assert [(each.manager, each.field) for each in kept_by_others(made, there, "us")] == [
        ("gitops", ".data.other")
    ]


def alone(node: str) -> dict[str, Any]:
    """Return a StatefulSet of one pod whose Kafka does nothing; its first run ends at once."""
    made = stateful_set(node)
    del made["metadata"]["uid"]
    labels, folder = {"app": node}, f"/tmp/{node}"  # noqa: S108, never made
    code = "import time; print('up', flush=True); time.sleep(600)"
    kafka = {"name": "kafka", "image": "kafka:3.9.2",
             "command": [sys.executable, "-c", code, "kafka.Kafka", f"{folder}/x"]}  # fmt: skip
    made["spec"] |= {
        "serviceName": node, "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [kafka]}},
    }  # fmt: skip
    return made


def test_pods_that_are_made_anew_and_containers_that_start_again_are_told_apart(
    api: KubernetesApi, tmp_path: Path
) -> None:
    own = "anew"  # the host would run the pods of other tests, too
    api.create("/api/v1/namespaces", {"metadata": {"name": own}})
    brokers = {"pod": "anew-{id}"}
    config = pod_config(exported=None, kubectl=list(api.kubectl), namespace=own, brokers=brokers)
    kubelet = Kubelet(api, own, tmp_path)
    with kubelet.running():
        api.create(f"/apis/apps/v1/namespaces/{own}/statefulsets", alone("anew"))
        node = drivers_of(config)[NodeId(0)]
        assert isinstance(node, KubectlNode)
        wait_until(lambda: node.started() is not None, "its container runs")
        first = node.incarnation()
        assert first is not None
        kubelet.kill("anew-0")
        wait_until(lambda: node.incarnation() not in {first, None}, "it was started again")
        second = node.incarnation()
        wait_until(lambda: "up" in node.log(5), "the log of the one that ended")
        assert node.stop(Deadline.after(20))
        assert (node.started(), node.incarnation()) == (None, None)
        node.start()
        wait_until(lambda: node.incarnation() is not None, "its pod was made anew")
        assert node.incarnation() not in {first, second}


def test_pods_that_another_migration_holds_are_refused(api: KubernetesApi) -> None:
    def node(name: str) -> KubectlNode:
        config = pod_config(exported=None, kubectl=list(api.kubectl), brokers={"pod": "gated-{id}"})
        made = drivers_of(config.model_copy(update={"kraft": name}))[NodeId(0)]
        assert isinstance(made, KubectlNode)
        return made

    made = alone("gated")
    made["spec"]["template"]["spec"]["containers"].append({"name": "exporter", "image": "x"})
    made["spec"] |= {"replicas": 2, "podManagementPolicy": "Parallel"}
    assert "created" in kubectl_of(api, "apply", "-f-", data=made)
    wait_until(lambda: pod(api, "gated-1") is not None, "there are pods")
    node("first")._gate()
    after = node("first").stateful_set()
    assert after is not None
    assert after["spec"]["replicas"] == 2, "what kubectl applied before stays"
    named = [each["name"] for each in after["spec"]["template"]["spec"]["containers"]]
    assert sorted(named) == ["exporter", "kafka"]
    with pytest.raises(DriverError, match="reads ConfigMap towpath-first instead of") as caught:
        node("second").stop(Deadline.after(1))
    told = str(caught.value)
    patch = told[told.index("-p '") + 4 : told.index("';")]
    kubectl_of(api, "patch", "statefulset", "gated", "-p", patch)
    assert node("second").stateful_set() is not None, "the command of the message removes it"
    node("second")._gate()
    assert node("second").stateful_set() is not None
