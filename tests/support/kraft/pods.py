"""Objects of Kafka in Kubernetes, as people run it without an operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.kraft.worlds import CLUSTER, broker_properties, kraft_config
from towpath.kraft.config.file import KraftConfig

NAMESPACE = "messaging"


def pod_config(
    exported: Path | str | None = "/exported", number: int = 2, **driver: object
) -> KraftConfig:
    """Return the file of a migration of pods kafka-0, kafka-1, ... to controllers 3000, ..."""
    told = kraft_config(brokers=number, controllers=3)
    driver = {
        "via": "kubernetes",
        "namespace": NAMESPACE,
        "exported": None if exported is None else str(exported),
        "controllers": {"start": "kafka-server-start.sh {properties}"},
        "format": "kafka-storage.sh format --cluster-id={cluster_id} -c {properties}",
        **driver,
    }
    data = told.model_dump(mode="python", by_alias=True)
    for each in data["brokers"]:
        each["properties"] = f"/etc/kafka/{each['id']}/server.properties"
    for each in data["controllers"]["nodes"]:
        each["properties"] = "/etc/controller/controller.properties"
        each["data"] = "/var/lib/controller/data"
    return KraftConfig.model_validate({**data, "driver": driver})


def stateful_set(name: str = "kafka") -> dict[str, Any]:
    """Return the StatefulSet of all brokers: keys from a Secret, a volume each, OnDelete."""
    kafka = {
        "name": "kafka",
        "image": "kafka:3.9.2",
        "command": ["sh", "-c", "exec kafka-server-start.sh /etc/kafka/${HOSTNAME##*-}/..."],
        "env": [{"name": "KAFKA_HEAP_OPTS", "value": "-Xmx4g"}],
        "resources": {"requests": {"memory": "6Gi"}},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {"name": "files", "mountPath": "/etc/kafka"},
            {"name": "keys", "mountPath": "/etc/keys", "readOnly": True},
        ],
    }
    volumes = [
        {"name": "files", "configMap": {"name": "kafka-files"}},
        {"name": "keys", "secret": {"secretName": "kafka-keys"}},
        {"name": "unused", "secret": {"secretName": "other"}},
    ]
    pod = {
        "serviceAccountName": "kafka",
        "securityContext": {"fsGroup": 1001},
        "containers": [{"name": "exporter", "image": "exporter"}, kafka],
        "volumes": volumes,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "uid": "s-1"},
        "spec": {"updateStrategy": {"type": "OnDelete"}, "template": {"spec": pod}},
    }


def pod(
    name: str, owner: Mapping[str, Any] | None = None, *, running: bool = True
) -> dict[str, Any]:
    """Return a pod of that StatefulSet."""
    state = {"running": {"startedAt": "2026-11-24T05:00:02Z"}} if running else {"waiting": {}}
    kept = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "kafka", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": f"u-{name}",
            "creationTimestamp": "2026-11-24T05:00:00Z",
            "ownerReferences": [dict(owner or kept)],
        },
        "spec": stateful_set()["spec"]["template"]["spec"],
        "status": {"phase": "Running", "containerStatuses": [{"name": "kafka", "state": state}]},
    }


def text_of(properties: Mapping[str, str]) -> str:
    """Return a properties file with a comment."""
    return "".join(["# ours\n", *(f"{key}={value}\n" for key, value in properties.items())])


def config_map(node: int, **more: str) -> dict[str, Any]:
    """Return the ConfigMap with the properties of a broker in ZooKeeper mode."""
    text = text_of({**broker_properties(node), **more})
    meta = {"name": f"kafka-{node}"}
    data = {"server.properties": text, "other": "stays"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def export(folder: Path, *more: Mapping[str, Any], brokers: int = 2) -> Path:
    """Write an export of brokers in ZooKeeper mode; objects in `more` replace those of theirs."""
    made = [stateful_set(), *(config_map(each) for each in range(brokers))]
    made += [pod(f"kafka-{each}") for each in range(brokers)]
    found = {(each["kind"], each["metadata"]["name"]): each for each in (*made, *more)}
    (folder / "objects.json").write_text(json.dumps({"items": list(found.values())}))
    for each in range(brokers):
        meta = folder / f"kafka-{each}/data/b{each}/meta.properties"
        meta.parent.mkdir(parents=True, exist_ok=True)
        meta.write_text(f"version=0\nbroker.id={each}\ncluster.id={CLUSTER}\n")
    return folder
