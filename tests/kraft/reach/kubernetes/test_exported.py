"""Nodes that are known from an export alone, and pods that are not ours to touch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.kraft.pods import export, pod, pod_config, stateful_set
from towpath.kraft.config import KubernetesDriver
from towpath.kraft.errors import DriverError, StepByHandError
from towpath.kraft.facts.nouns import NodeId, Role
from towpath.kraft.look.node_files import read_files
from towpath.kraft.reach.drivers import drivers_of
from towpath.kraft.reach.kubernetes.exported import ExportedNode
from towpath.kraft.reach.kubernetes.node_place import hold_name, place_of
from towpath.kraft.reach.kubernetes.objects import HELD, HOLD
from towpath.runtime.deadline import Deadline

PATH = "/etc/kafka/1/server.properties"


def node(folder: Path, number: int = 1) -> ExportedNode:
    made = drivers_of(pod_config(folder))[NodeId(number)]
    assert isinstance(made, ExportedNode)
    return made


def test_a_node_is_read_from_an_export(tmp_path: Path) -> None:
    export(tmp_path)
    found = read_files(node(tmp_path), NodeId(1), PATH)
    assert found.properties["broker.id"] == "1"
    assert (found.running, found.stale, found.free_bytes) == (True, False, None)
    assert [(each.directory, each.version) for each in found.meta] == [("/data/b1", 0)]
    controller = read_files(node(tmp_path, 3000), NodeId(3000), "/etc/controller/x")
    assert (controller.running, dict(controller.properties), controller.meta) == (False, {}, ())
    export(tmp_path, pod("kafka-1", running=False))
    assert node(tmp_path).started() is None


def test_properties_that_were_written_behind_the_start_are_seen(tmp_path: Path) -> None:
    file = {"kind": "ConfigMap", "data": {"server.properties": "broker.id=1\n"}, "metadata": {
        "name": "kafka-1", "managedFields": [{"time": "2026-11-24T05:00:01Z"}, {}]}}  # fmt: skip
    export(tmp_path, file)
    assert read_files(node(tmp_path), NodeId(1), PATH).stale


def test_a_file_is_not_stale_for_that_of_another_node_in_its_object(tmp_path: Path) -> None:
    def wrote(manager: str, time: str, key: str) -> dict[str, Any]:
        fields: dict[str, Any] = {"f:data": {f"f:{key}": {}}}
        return {"manager": manager, "time": f"2026-11-24T05:00:{time}Z", "fieldsV1": fields}

    config = pod_config(
        tmp_path, brokers={"properties": {"name": "files", "key": "{id}.properties"}}
    )
    for late, stale in (("0", False), ("1", True)):
        fields = [wrote("kubectl", "00", "1.properties"),
                  wrote(f"towpath-{late}", "09", f"{late}.properties")]  # fmt: skip
        file = {"kind": "ConfigMap", "data": {"1.properties": "broker.id=1\n"},
                "metadata": {"name": "files", "managedFields": fields}}  # fmt: skip
        export(tmp_path, file)
        assert read_files(drivers_of(config)[NodeId(1)], NodeId(1), PATH).stale is stale


STRIMZI = {"apiVersion": "core.strimzi.io/v1beta2", "kind": "StrimziPodSet", "name": "my-kafka",
           "controller": True}  # fmt: skip
CONFLUENT = {"apiVersion": "platform.confluent.io/v1beta1", "kind": "Kafka", "name": "kafka",
             "controller": True}  # fmt: skip
KOPERATOR = {"apiVersion": "kafka.banzaicloud.io/v1beta1", "kind": "KafkaCluster", "name": "k",
             "controller": True}  # fmt: skip


def kept(owner: dict[str, Any]) -> dict[str, Any]:
    made = stateful_set()
    made["metadata"]["ownerReferences"] = [owner]
    return made


def rolling() -> dict[str, Any]:
    made = stateful_set()
    del made["spec"]["updateStrategy"]
    return made


def without_owner() -> dict[str, Any]:
    made = pod("kafka-1")
    del made["metadata"]["ownerReferences"]
    return made


def gated(*env: dict[str, Any]) -> dict[str, Any]:
    made = stateful_set()
    gate = {"name": HOLD, "image": "kafka:3.9.2", "env": list(env)}
    made["spec"]["template"]["spec"]["initContainers"] = [gate]
    return made


def held_by(name: str) -> dict[str, Any]:
    return {"name": "TOWPATH_HELD", "valueFrom": {"configMapKeyRef": {"name": name, "key": HELD}}}


def test_pods_that_are_held_back_by_this_migration_are_ours(tmp_path: Path) -> None:
    export(tmp_path, gated(held_by(hold_name(pod_config().kraft))))
    assert node(tmp_path).started() is not None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (gated(held_by("towpath-earlier")), "container towpath-hold of StatefulSet kafka reads"
         " ConfigMap towpath-earlier instead of towpath-trial: give this migration the name"
         " (`kraft`) of the one that made the container, or remove it: kubectl patch statefulset"
         """ kafka -p '{"spec":{"template":{"spec":{"initContainers":[{"name":"towpath-hold","""
         """"$patch":"delete"}]}}}}'"""),
        (gated({"name": "X", "value": "y"}), "container towpath-hold of StatefulSet kafka"
         " reads no ConfigMap instead of towpath-trial"),
        (pod("kafka-1", STRIMZI), "pod kafka-1 is kept by StrimziPodSet my-kafka of"
         " core.strimzi.io: Strimzi migrates clusters itself: annotate its Kafka resource with"
         " `strimzi.io/kraft: migration`"),
        (kept(CONFLUENT), "StatefulSet kafka is kept by Kafka kafka of platform.confluent.io:"
         " Confluent for Kubernetes migrates clusters itself: make a KRaftMigrationJob"),
        (pod("kafka-1", KOPERATOR), "pod kafka-1 is kept by KafkaCluster k of"
         " kafka.banzaicloud.io: use the migration of that operator"),
        (rolling(), "StatefulSet kafka has the update strategy RollingUpdate, so others than"
         " Towpath would restart its pods; first run: kubectl patch statefulset kafka"),
        (without_owner(), "pod kafka-1 belongs to no StatefulSet, so nothing would make it anew"),
        (pod("kafka-1", {**STRIMZI, "apiVersion": "apps/v1", "kind": "StatefulSet",
                         "name": "gone"}), "StatefulSet gone is not in"),
    ],
)  # fmt: skip
def test_pods_of_others_are_refused(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    export(tmp_path, changed)
    with pytest.raises(DriverError) as caught:
        read_files(node(tmp_path), NodeId(1), PATH)
    assert str(caught.value).startswith(f"node 1: looking at pod kafka-1: {why}")


def test_a_container_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = pod_config(export(tmp_path), brokers={"container": "broker"})
    with pytest.raises(DriverError, match="has no container broker; it has exporter, kafka: name"):
        drivers_of(config)[NodeId(0)].started()


def test_nothing_is_done_from_an_export(tmp_path: Path) -> None:
    known, soon = node(export(tmp_path)), Deadline.after(1)
    for act in (
        lambda: known.write("/x", b""), lambda: known.remove("/x"), known.start,
        lambda: known.stop(soon), lambda: known.run(("format",), soon),
    ):  # fmt: skip
        with pytest.raises(StepByHandError):
            act()
    assert str(StepByHandError(1, "stopping pod kafka-1")) == (
        "node 1: stopping pod kafka-1 is done by hand, as `driver.exported` has no API: write the"
        " next steps with `towpath kraft plan FILE --manifests FOLDER`, do the first one, export"
        " the objects again, then run the command again, which goes on from what it sees"
    )


@pytest.mark.parametrize("text", [None, "", "[]", "{}"])
def test_an_export_that_is_none_says_so(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "objects.json").write_text(text)
    with pytest.raises(DriverError, match="objects"):
        node(tmp_path).started()


def test_a_place_of_a_pod_may_be_told(tmp_path: Path) -> None:
    config = pod_config(export(tmp_path))
    assert isinstance(config.driver, KubernetesDriver)
    place = place_of(config.driver, Role.BROKER, config.brokers[0])
    assert ExportedNode(tmp_path, replace(place, pod="kafka-9"), "h").started() is None
