"""The objects that are made for pods: properties, the hold, controllers from brokers."""

from __future__ import annotations

import shutil
import signal
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from tests.support.kraft.pods import pod_config, stateful_set
from towpath.kraft.config import KubernetesDriver
from towpath.kraft.facts.nouns import Role
from towpath.kraft.reach.kubernetes.node_place import NodePlace, ObjectKind, hold_name, place_of
from towpath.kraft.reach.kubernetes.objects import (
    HELD,
    HOLD,
    controller_object,
    gate_object,
    held_in,
    hold_object,
    holding,
    patch_of,
    properties_in,
    properties_object,
    service_object,
)

CONFIG = pod_config()
DRIVER = CONFIG.driver
assert isinstance(DRIVER, KubernetesDriver)
BROKER = place_of(DRIVER, Role.BROKER, CONFIG.brokers[1])
CONTROLLER = place_of(DRIVER, Role.CONTROLLER, CONFIG.controllers.nodes[0])


def test_places_follow_the_names_of_the_file() -> None:
    assert (BROKER.pod, BROKER.holder_name, BROKER.key) == (
        "kafka-1",
        "kafka-1",
        "server.properties",
    )
    assert (CONTROLLER.pod, CONTROLLER.holder) == ("kafka-controller-3000-0", ObjectKind.SECRET)
    assert (CONTROLLER.volume, CONTROLLER.key) == ("/var/lib/controller", "controller.properties")
    config = pod_config(brokers={"pod": "b-{id}-0", "properties": {
        "kind": "secret", "name": "files", "key": "{id}.properties"}})  # fmt: skip
    assert isinstance(config.driver, KubernetesDriver)
    named = config.brokers[1].model_copy(update={"host": "third-0"})
    told = [place_of(config.driver, Role.BROKER, each) for each in (config.brokers[0], named)]
    assert [each.pod for each in told] == ["b-0-0", "third-0"]
    assert (told[1].holder, told[1].holder_name, told[1].key) == (
        ObjectKind.SECRET, "files", "1.properties")  # fmt: skip


@pytest.mark.parametrize("kind", [ObjectKind.CONFIG_MAP, ObjectKind.SECRET])
@pytest.mark.parametrize("text", [b"a=1\n", "a=\u00e4\n".encode(), b"a=\xe4\n", b""])
def test_properties_come_back_as_they_were_written(kind: ObjectKind, text: bytes) -> None:
    place = replace(BROKER, holder=kind)
    assert properties_in(place, properties_object(place, text)) == text
    assert properties_in(place, {"data": {"other": "x"}}) is None
    assert properties_in(place, {"data": None}) is None


def test_the_hold_names_pods() -> None:
    assert held_in(hold_object("h", ["b", "a"])) == {"a", "b"}
    assert held_in(hold_object("h", [])) == held_in(None) == held_in({"data": None}) == frozenset()


@pytest.mark.parametrize(
    ("name", "made"),
    [("orders", "towpath-orders"), ("A_b", "towpath-a-b-"), ("x" * 100, f"towpath-{'x' * 46}-")],
)
def test_the_hold_has_a_name_that_labels_may_have(name: str, made: str) -> None:
    assert hold_name(name).startswith(made)
    assert len(hold_name(name)) <= 63
    assert len({hold_name(each) for each in ("A_b", "a-b", "A-b", "a_b")}) == 4


def test_the_gate_changes_nothing_else_of_a_stateful_set() -> None:
    made = gate_object(stateful_set(), "kafka", "towpath-trial")
    assert made["spec"].keys() == {"template"}
    assert made["spec"]["template"]["spec"].keys() == {"initContainers"}
    [gate] = made["spec"]["template"]["spec"]["initContainers"]
    assert (gate["name"], gate["image"]) == (HOLD, "kafka:3.9.2")
    assert [each["mountPath"] for each in gate["volumeMounts"]] == [
        "/data", "/etc/kafka", "/etc/keys"]  # fmt: skip
    held = gate["env"][0]["valueFrom"]["configMapKeyRef"]
    assert held == {"name": "towpath-trial", "key": HELD, "optional": True}


@pytest.mark.parametrize(
    ("held", "waits"),
    [("a kafka-1", True), ("kafka-1", True), ("kafka-11 kafka", False), ("", False)],
)
def test_a_pod_waits_only_where_it_is_named(held: str, waits: bool) -> None:
    shell = shutil.which("sh")
    assert shell
    gate = holding({"name": "kafka", "image": "x"}, "h")
    environment = {"TOWPATH_HELD": held, "TOWPATH_POD": "kafka-1", "PATH": "/usr/bin:/bin"}
    command = [shell, *gate["command"][1:]]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout
        if waits:
            assert b"held back" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
        # A pod that ends is no leave to go on.
        assert process.wait(20) == int(waits)


def made_controller(place: NodePlace = CONTROLLER, **kafka: Any) -> dict[str, Any]:
    broker = stateful_set()
    broker["spec"]["template"]["spec"]["containers"][1] |= kafka
    assert isinstance(DRIVER, KubernetesDriver)
    start = ("start", place.properties)
    return dict(controller_object(DRIVER, place, (broker, BROKER), "towpath-trial", start))


def test_a_controller_is_made_from_a_broker() -> None:
    made = made_controller()
    pod = made["spec"]["template"]["spec"]
    [kafka] = pod["containers"]
    assert made["metadata"]["name"] == "kafka-controller-3000"
    assert made["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert made["spec"]["template"]["metadata"]["labels"].items() >= (
        made["spec"]["selector"]["matchLabels"].items()
    )
    assert kafka["command"] == ["start", "/etc/controller/controller.properties"]
    assert kafka["env"] == [{"name": "KAFKA_HEAP_OPTS", "value": "-Xmx4g"}]
    assert (pod["serviceAccountName"], pod["securityContext"]) == ("kafka", {"fsGroup": 1001})
    # Keys come along; the brokers' data, their properties and what Kafka does not mount do not.
    assert {each["name"]: each["mountPath"] for each in kafka["volumeMounts"]} == {
        "towpath-data": "/var/lib/controller",
        "towpath-properties": "/etc/controller",
        "keys": "/etc/keys",
    }
    assert [each["name"] for each in pod["volumes"]] == ["towpath-properties", "keys"]
    [claim] = made["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["resources"]["requests"] == {"storage": "10Gi"}
    assert "storageClassName" not in claim["spec"]
    [gate] = pod["initContainers"]
    assert gate["volumeMounts"] == kafka["volumeMounts"]


def test_a_mount_of_a_broker_gives_way_to_one_of_the_controller() -> None:
    place = replace(CONTROLLER, properties="/etc/keys/controller.properties")
    [kafka] = made_controller(place)["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in kafka["volumeMounts"]] == [
        "towpath-data",
        "towpath-properties",
    ]


def test_the_service_names_controllers_before_they_are_ready() -> None:
    assert isinstance(DRIVER, KubernetesDriver)
    made = service_object(DRIVER, "towpath-trial", ["a:9093", "b:9093", "c:9094"])
    assert made["spec"]["publishNotReadyAddresses"]
    assert [each["port"] for each in made["spec"]["ports"]] == [9093, 9094]
    labels = made_controller()["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"].items() <= labels.items()


def test_a_file_that_is_no_text_any_more_leaves_its_place_as_text() -> None:
    there = {"data": {"server.properties": "a", "other": "stays"}}
    binary = properties_object(BROKER, b"\xfc")
    assert patch_of(binary, there)["data"] == {"server.properties": None}
    assert patch_of(properties_object(BROKER, b"a"), {"binaryData": binary["binaryData"]}) == {
        **properties_object(BROKER, b"a"),
        "binaryData": {"server.properties": None},
    }
    assert patch_of(properties_object(BROKER, b"a"), there) == properties_object(BROKER, b"a")
    assert patch_of(binary, None) == binary
