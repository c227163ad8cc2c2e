"""The Kubernetes objects that a migration creates. Pure.

A pod cannot be stopped: its StatefulSet makes it anew at once. So a node is stopped by holding its
pod back: a first container, `towpath-hold`, waits as long as a ConfigMap names the pod. It has the
image and the volumes of Kafka's container, so a folder can be formatted or cleared in it meanwhile.
A pod that comes to another host is held back, or not, as the ConfigMap says then.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.kraft.reach.kubernetes.node_place import KAFKA, NodePlace, ObjectKind, api_version
from towpath.settings.address import host_and_port

KubernetesObject = Mapping[str, Any]
"""An object, as its JSON has it."""

HOLD = "towpath-hold"
"""The container in which a pod is held back."""
HELD = "held"
"""Key of the pods that are held back, separated by blanks."""
NODE_LABEL = "towpath.io/node"
MIGRATION_LABEL = "towpath.io/migration"
_DATA, _PROPERTIES = "towpath-data", "towpath-properties"

# The variables are those of the start of the pod. An end by a signal is no leave to go on.
_WAIT = (
    'case " $TOWPATH_HELD " in *" $TOWPATH_POD "*) ;; *) exit 0 ;; esac;'
    ' trap "exit 1" TERM INT; echo "held back by Towpath";'
    " while :; do sleep 1 & wait $!; done"
)
_FROM_BROKERS = (
    "serviceAccountName",
    "imagePullSecrets",
    "nodeSelector",
    "tolerations",
    "securityContext",
    "priorityClassName",
    "terminationGracePeriodSeconds",
    "enableServiceLinks",
)
"""What the pods of controllers have in common with those of brokers."""
_SHARED_VOLUMES = ("configMap", "secret", "projected", "emptyDir", "downwardAPI")


def _object(
    kind: ObjectKind, name: str, labels: Mapping[str, str] | None = None, **parts: Any
) -> KubernetesObject:
    meta = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": api_version(kind), "kind": kind.value, "metadata": meta, **parts}


def properties_object(place: NodePlace, text: bytes) -> KubernetesObject:
    """Return a patch for the object with a node's properties file; other keys stay."""
    encoded = {place.key: base64.b64encode(text).decode()}
    if place.holder is ObjectKind.SECRET:
        return _object(place.holder, place.holder_name, data=encoded)
    try:
        return _object(place.holder, place.holder_name, data={place.key: text.decode()})
    except UnicodeDecodeError:  # Kafka reads ISO 8859-1
        return _object(place.holder, place.holder_name, binaryData=encoded)


def properties_in(place: NodePlace, holder: KubernetesObject) -> bytes | None:
    """Return the properties file in an object, `None` if the key is missing."""
    text = (holder.get("data") or {}).get(place.key)
    if text is not None and place.holder is ObjectKind.CONFIG_MAP:
        return str(text).encode()
    encoded = text if text is not None else (holder.get("binaryData") or {}).get(place.key)
    return None if encoded is None else base64.b64decode(encoded)


def kind_and_name(made: KubernetesObject) -> tuple[ObjectKind, str]:
    """Return the kind and the name of an object."""
    return ObjectKind(made["kind"]), str(made["metadata"]["name"])


def patch_of(made: KubernetesObject, there: KubernetesObject | None) -> KubernetesObject:
    """Return a strategic merge patch from an existing object to the wanted one.

    A key of a ConfigMap is text or not: where one becomes the other, it is removed from there.
    """
    before = there or {}
    gone = {
        part: dict.fromkeys(made[other].keys() & (before.get(part) or {}).keys())
        for part, other in (("data", "binaryData"), ("binaryData", "data"))
        if made["kind"] == ObjectKind.CONFIG_MAP and other in made
    }
    return {**made, **{part: keys for part, keys in gone.items() if keys}}


def hold_object(name: str, held: Iterable[str]) -> KubernetesObject:
    """Return the ConfigMap that lists the held pods."""
    return _object(ObjectKind.CONFIG_MAP, name, data={HELD: " ".join(sorted(held))})


def held_in(hold: KubernetesObject | None) -> frozenset[str]:
    """Return the pods that a ConfigMap keeps from starting their nodes."""
    data = (hold or {}).get("data") or {}
    return frozenset(str(data.get(HELD, "")).split())


def container_of(template: KubernetesObject, name: str) -> KubernetesObject | None:
    """Return a container of a pod or pod template, `None` if there is none of that name."""
    found = (each for each in template["spec"].get("containers", ()) if each["name"] == name)
    return next(found, None)


def holding(kafka: KubernetesObject, hold: str) -> KubernetesObject:
    """Return the init container that holds a pod back.

    Args:
        kafka: The container that runs Kafka.
        hold: Name of the ConfigMap that names the pods.
    """
    names = {"configMapKeyRef": {"name": hold, "key": HELD, "optional": True}}
    own = {"fieldRef": {"fieldPath": "metadata.name"}}
    like = ("imagePullPolicy", "resources", "securityContext", "volumeMounts")
    return {
        "name": HOLD,
        "image": kafka["image"],
        "command": ["sh", "-c", _WAIT],
        "env": [
            {"name": "TOWPATH_HELD", "valueFrom": names},
            {"name": "TOWPATH_POD", "valueFrom": own},
        ],
        **{key: kafka[key] for key in like if kafka.get(key)},
    }


def gate_of(stateful_set: KubernetesObject) -> str | None:
    """Return the ConfigMap that a StatefulSet's hold container reads; `None` without one.

    It is "" for a container of that name that is not ours.
    """
    first = stateful_set["spec"]["template"]["spec"].get("initContainers") or ()
    gate = next((each for each in first if each["name"] == HOLD), None)
    if gate is None:
        return None
    sources = (each.get("valueFrom") or {} for each in gate.get("env") or ())
    named = (each["configMapKeyRef"]["name"] for each in sources if "configMapKeyRef" in each)
    return next(named, "")


def gate_object(stateful_set: KubernetesObject, container: str, hold: str) -> KubernetesObject:
    """Return a patch that adds the hold container to a StatefulSet.

    Its update strategy is `OnDelete`, so this restarts no pod.
    """
    kafka = container_of(stateful_set["spec"]["template"], container)
    assert kafka is not None  # noqa: S101, `observed.require_ours` asked
    template = {"spec": {"initContainers": [holding(kafka, hold)]}}
    name = stateful_set["metadata"]["name"]
    return _object(ObjectKind.STATEFUL_SET, name, spec={"template": template})


def service_object(
    driver: KubernetesDriver, hold: str, addresses: Iterable[str]
) -> KubernetesObject:
    """Return the Service that gives controllers their DNS names, even before they are ready."""
    ports = sorted({host_and_port(each)[1] for each in addresses})
    listed = [{"name": f"controller-{port}", "port": port} for port in ports]
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {MIGRATION_LABEL: hold},
        "ports": listed,
    }
    name = driver.controllers.name
    return _object(ObjectKind.SERVICE, name, {MIGRATION_LABEL: hold}, spec=spec)


def controller_object(
    driver: KubernetesDriver,
    place: NodePlace,
    broker: tuple[KubernetesObject, NodePlace],
    hold: str,
    start: Iterable[str],
) -> KubernetesObject:
    """Return a controller's StatefulSet, derived from a broker's.

    It has the broker's image, environment, resources and security; those of its volumes that hold
    keys and configs; and a volume of its own for the metadata log.

    Args:
        driver: The section of the file.
        place: The controller.
        broker: The StatefulSet of a broker, and where that broker lives.
        hold: Name of the ConfigMap that names held pods; it is the migration's label, too.
        start: The command that runs the controller.
    """
    labels = {NODE_LABEL: str(place.node), MIGRATION_LABEL: hold}
    pod = _controller_pod(place, broker, hold, start)
    return _object(
        ObjectKind.STATEFUL_SET,
        place.holder_name,
        labels,
        spec={
            "replicas": 1,
            "serviceName": driver.controllers.name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {NODE_LABEL: str(place.node)}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [_claim(driver, labels)],
        },
    )


def _controller_pod(
    place: NodePlace,
    broker: tuple[KubernetesObject, NodePlace],
    hold: str,
    start: Iterable[str],
) -> KubernetesObject:
    stateful_set, at = broker
    template = stateful_set["spec"]["template"]
    kafka = container_of(template, at.container)
    assert kafka is not None  # noqa: S101, `observed.require_ours` asked
    mounts, volumes = _shared(template, kafka, place, at)
    container = _controller_container(place, kafka, mounts, start)
    own = {"name": _PROPERTIES, "secret": {"secretName": place.holder_name}}
    return {
        **{key: template["spec"][key] for key in _FROM_BROKERS if key in template["spec"]},
        "initContainers": [holding(container, hold)],
        "containers": [container],
        "volumes": [own, *volumes],
        "affinity": _apart(hold),
    }


def _controller_container(
    place: NodePlace,
    kafka: KubernetesObject,
    mounts: Iterable[KubernetesObject],
    start: Iterable[str],
) -> KubernetesObject:
    """Return the container of a controller, which is like that of a broker's Kafka."""
    return {
        "name": KAFKA,
        "image": kafka["image"],
        "command": list(start),
        "volumeMounts": [
            {"name": _DATA, "mountPath": place.volume},
            {"name": _PROPERTIES, "mountPath": place.mounted_at, "readOnly": True},
            *mounts,
        ],
        **{key: kafka[key] for key in _LIKE_KAFKA if kafka.get(key)},
    }


_LIKE_KAFKA = ("imagePullPolicy", "env", "envFrom", "resources", "securityContext")


def _claim(driver: KubernetesDriver, labels: Mapping[str, str]) -> KubernetesObject:
    told, named = driver.controllers, driver.controllers.storage_class
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": told.storage}},
        **({} if named is None else {"storageClassName": named}),
    }
    return {"metadata": {"name": _DATA, "labels": dict(labels)}, "spec": spec}


def _apart(hold: str) -> KubernetesObject:
    """Return that controllers are best placed on different hosts."""
    term = {
        "labelSelector": {"matchLabels": {MIGRATION_LABEL: hold}},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _shared(
    template: KubernetesObject, kafka: KubernetesObject, place: NodePlace, broker: NodePlace
) -> tuple[list[KubernetesObject], list[KubernetesObject]]:
    """Return those mounts and volumes of a broker that a controller needs: keys and configs."""
    volumes = {
        each["name"]: each
        for each in template["spec"].get("volumes", ())
        if any(kind in each for kind in _SHARED_VOLUMES)
    }
    own = PurePosixPath(place.volume), PurePosixPath(place.mounted_at)
    mounts = [
        each
        for each in kafka.get("volumeMounts", ())
        if each["name"] in volumes
        and PurePosixPath(each["mountPath"]) not in own
        and not PurePosixPath(broker.properties).is_relative_to(each["mountPath"])
    ]
    used = dict.fromkeys(each["name"] for each in mounts)
    return mounts, [volumes[name] for name in used]
