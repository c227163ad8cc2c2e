"""Facts from a node's Kubernetes objects, and detection of operators. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import Role
from towpath.kraft.reach.kubernetes.node_place import NodePlace, ObjectKind
from towpath.kraft.reach.kubernetes.objects import HOLD, KubernetesObject, container_of, gate_of

Get = Callable[[ObjectKind, str], KubernetesObject | None]
"""Returns an object by its kind and name, None where there is none."""
_OPERATORS = {
    "strimzi.io": "Strimzi migrates clusters itself: annotate its Kafka resource with"
    " `strimzi.io/kraft: migration` (Strimzi 0.40 to 0.45)",
    "confluent.io": "Confluent for Kubernetes migrates clusters itself: make a KRaftMigrationJob",
}
"""Advice by the end of the group of an operator's API."""
_OTHERS = "use the migration of that operator, as it would undo what is changed here"


def stateful_set_in(place: NodePlace, get: Get, hold: str, where: str) -> KubernetesObject | None:
    """Return the StatefulSet of a node's pod, `None` if there is no pod.

    Args:
        place: The node.
        get: Returns an object, None where there is none.
        hold: Name of the ConfigMap that names the migration's held pods.
        where: Where objects are looked for, for people.

    Raises:
        DriverError: The pod is not ours to touch.
    """
    pod = get(ObjectKind.POD, place.pod)
    if pod is None:
        return None
    name = stateful_set_of(place, pod)
    found = get(ObjectKind.STATEFUL_SET, name)
    if found is None:
        raise _error(place, f"StatefulSet {name} is not in {where}")
    require_ours(place, pod, found)
    _require_gate(place, found, hold)
    return found


def require_ours(place: NodePlace, pod: KubernetesObject, stateful_set: KubernetesObject) -> None:
    """Raise unless the node's pod belongs to a StatefulSet that Towpath alone restarts.

    Args:
        place: The node.
        pod: Its pod.
        stateful_set: The StatefulSet that owns the pod.

    Raises:
        DriverError: It is not, with what to do.
    """
    name = stateful_set["metadata"]["name"]
    owner = owner_of(stateful_set)
    if owner is not None:
        raise _foreign(place, f"StatefulSet {name}", owner)
    strategy = stateful_set["spec"].get("updateStrategy", {}).get("type", "RollingUpdate")
    if strategy != "OnDelete":
        patch = """-p '{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}'"""
        why = f"StatefulSet {name} has the update strategy {strategy}, so others than Towpath would"
        advice = f"restart its pods; first run: kubectl patch statefulset {name} {patch}"
        raise _error(place, f"{why} {advice}")
    if container_of(pod, place.container) is None:
        named = ", ".join(each["name"] for each in pod["spec"]["containers"])
        why = f"pod {place.pod} has no container {place.container}; it has {named}"
        raise _error(place, f"{why}: name the one that runs Kafka as `driver.brokers.container`")


def _require_gate(place: NodePlace, stateful_set: KubernetesObject, hold: str) -> None:
    """Raise where pods are held back by another ConfigMap: naming them in ours stops no node."""
    gate, name = gate_of(stateful_set), stateful_set["metadata"]["name"]
    if gate is None or gate == hold:
        return
    what = f"ConfigMap {gate}" if gate else "no ConfigMap"
    why = f"container {HOLD} of StatefulSet {name} reads {what} instead of {hold}"
    named = "give this migration the name (`kraft`) of the one that made the container"
    if place.role is Role.CONTROLLER:
        last = f"or, once that one was rolled back, run: kubectl delete statefulset {name}"
    else:
        patch = {"initContainers": [{"name": HOLD, "$patch": "delete"}]}
        text = json.dumps({"spec": {"template": {"spec": patch}}}, separators=(",", ":"))
        last = f"or remove it: kubectl patch statefulset {name} -p '{text}'"
    raise _error(place, f"{why}: {named}, {last}")


def stateful_set_of(place: NodePlace, pod: KubernetesObject) -> str:
    """Return the name of the StatefulSet that owns a pod.

    Raises:
        DriverError: Something else owns it, such as an operator.
    """
    owner = owner_of(pod)
    if owner is None:
        why = f"pod {place.pod} belongs to no StatefulSet, so nothing would make it anew"
        raise _error(place, f"{why}: run brokers as pods of a StatefulSet")
    if owner["kind"] != ObjectKind.STATEFUL_SET or not owner["apiVersion"].startswith("apps/"):
        raise _foreign(place, f"pod {place.pod}", owner)
    return str(owner["name"])


def owner_of(found: KubernetesObject) -> Mapping[str, Any] | None:
    """Return the owning controller of an object, such as its StatefulSet; else `None`."""
    owners = found["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


def _foreign(place: NodePlace, what: str, owner: Mapping[str, Any]) -> DriverError:
    group = str(owner["apiVersion"]).partition("/")[0]
    advice = next((text for end, text in _OPERATORS.items() if group.endswith(end)), _OTHERS)
    return _error(place, f"{what} is kept by {owner['kind']} {owner['name']} of {group}: {advice}")


def _error(place: NodePlace, why: str) -> DriverError:
    return DriverError(place.node, f"looking at pod {place.pod}", why)


def uid_of(found: KubernetesObject) -> str:
    """Return the uid of an object, which a later object of the same name does not have."""
    return str(found["metadata"]["uid"])


def is_ending(pod: KubernetesObject) -> bool:
    """Return whether a pod is being deleted."""
    return pod["metadata"].get("deletionTimestamp") is not None


def runs(pod: KubernetesObject, container: str) -> bool:
    """Return whether a container runs; in a held pod, `towpath-hold` runs instead of the node."""
    status = pod.get("status") or {}
    key = "initContainerStatuses" if container == HOLD else "containerStatuses"
    states = (each["state"] for each in status.get(key) or () if each["name"] == container)
    return any("running" in each for each in states)


def was_started(pod: KubernetesObject, container: str) -> bool:
    """Return whether a container runs, or ran and has ended."""
    found = _status_of(pod, container)
    return found is not None and (
        "waiting" not in found["state"] or found.get("restartCount", 0) > 0
    )


def restarts(pod: KubernetesObject, container: str) -> int:
    """Return how often a container was restarted in its pod."""
    return int((_status_of(pod, container) or {}).get("restartCount") or 0)


def _status_of(pod: KubernetesObject, container: str) -> Mapping[str, Any] | None:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((each for each in statuses if each["name"] == container), None)


def waits_for(pod: KubernetesObject) -> str:
    """Return why the containers of a pod do not run, for people."""
    status = pod.get("status") or {}
    for each in (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    ):
        told = each["state"].get("waiting") or each["state"].get("terminated")
        if told and told.get("reason") not in {"Completed", "PodInitializing"}:
            return f"container {each['name']}: {told.get('reason')} {told.get('message') or ''}"
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] != "True":
            return f"it has no host: {each.get('message') or each.get('reason')}"
    return f"it is {status.get('phase', 'Pending')}"


def created(found: KubernetesObject) -> int:
    """Return the creation time of an object, in ms since 1970, by the API server's clock."""
    return _ms(found["metadata"]["creationTimestamp"])


def modified(found: KubernetesObject, key: str) -> int | None:
    """Return the time of a key's last write, in ms since 1970, by the API server's clock.

    It is told in whole seconds for all that one field manager wrote; for the whole object where
    no manager names the key. None where it was left out, as `kubectl get` does.
    """
    entries = [x for x in found["metadata"].get("managedFields") or () if "time" in x]
    owners = [each for each in entries if _has(each, key)]
    return max((_ms(each["time"]) for each in owners or entries), default=None)


def _has(entry: Mapping[str, Any], key: str) -> bool:
    """Whether a field manager owns a key."""
    fields = entry.get("fieldsV1") or {}
    return any(f"f:{key}" in fields.get(part, ()) for part in ("f:data", "f:binaryData"))


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
