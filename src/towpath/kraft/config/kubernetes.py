"""The section `driver` for nodes that are Kubernetes pods."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from towpath.kraft.config.driver_commands import CommandLine, DriverSection
from towpath.settings.shape import Section

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABELS = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_QUANTITY = re.compile(r"[1-9][0-9]*(?:Ki|Mi|Gi|Ti|k|M|G|T)?")
_LONGEST = 200
"""Below the limit of names, which is 253, for what replaces a place."""


def _name(text: str) -> str:
    if len(text) > _LONGEST or not _LABELS.fullmatch(text):
        raise ValueError("must be a name of Kubernetes: small letters, digits, '-' and '.'")
    return text


def _pattern(text: str) -> str:
    _name(text.replace("{id}", "0"))
    return text


def _quantity(text: str) -> str:
    if not _QUANTITY.fullmatch(text):
        raise ValueError("must be a quantity of Kubernetes, such as 10Gi")
    return text


ObjectName = Annotated[str, AfterValidator(_name)]
"""Name of an object of Kubernetes."""
NamePattern = Annotated[str, AfterValidator(_pattern)]
"""Name of an object of Kubernetes in which `{id}` is replaced by a node's id."""


class PropertiesObject(Section):
    """The Kubernetes object that holds a broker's properties file, mounted into its pod."""

    kind: Literal["configmap", "secret"] = Field(
        "configmap", description="Whether the files of brokers are in config maps or in secrets."
    )
    name: NamePattern = Field("kafka-{id}", description="Its name; {id} is replaced.")
    key: str = Field(
        "server.properties",
        pattern=r"^[-._a-zA-Z0-9{}]+$",
        description="Key of the file in it; {id} is replaced. Each broker has a file of its own.",
    )


class KubernetesBrokers(Section):
    """The brokers' pods, which belong to StatefulSets."""

    pod: NamePattern = Field(
        "kafka-{id}",
        description="Name of a broker's pod; {id} is replaced. Where the ids of brokers are other"
        " numbers than those of pods, give each broker its pod as `host`.",
    )
    container: ObjectName = Field("kafka", description="The container that runs Kafka.")
    properties: PropertiesObject = Field(
        PropertiesObject.model_construct(), description="Where the properties files of brokers are."
    )


class KubernetesControllers(Section):
    """The controllers to create: a StatefulSet with one pod for each."""

    name: ObjectName = Field(
        "kafka-controller",
        description="Name of their headless Service. A controller's StatefulSet and the secret with"
        " its properties are called NAME-ID, its pod NAME-ID-0.",
    )
    start: CommandLine = Field(
        description="Command that runs a controller in its container, such as"
        " `/opt/kafka/bin/kafka-server-start.sh {properties}`."
    )
    storage: Annotated[str, AfterValidator(_quantity)] = Field(
        "10Gi", description="Size of a controller's volume."
    )
    storage_class: ObjectName | None = Field(
        None, description="Storage class of that volume. Default: that of the cluster."
    )


class KubernetesDriver(DriverSection):
    """The section `driver` for pods of StatefulSets that no operator manages."""

    via: Literal["kubernetes"] = Field(description="Nodes are pods of StatefulSets.")
    namespace: ObjectName = Field(description="Namespace of all nodes.")
    kubectl: CommandLine = Field(
        ("kubectl",),
        description="Command of `kubectl` with its own options, such as"
        " `kubectl --context=production`. Its settings and logins are used.",
    )
    take_from: tuple[str, ...] = Field(
        (),
        description="Field managers whose fields a migration may take over, such as"
        " `argocd-controller` or `kubectl-client-side-apply`: those that have written the"
        " properties of brokers, once nothing applies them again. `kraft check` names them.",
    )
    exported: str | None = Field(
        None,
        min_length=1,
        description="Folder on this machine with what `kubectl` gave elsewhere, where the API"
        " cannot be reached from here. Steps on nodes are done by hand then, by manifests that"
        " `plan --manifests` writes.",
    )
    brokers: KubernetesBrokers = Field(
        KubernetesBrokers.model_construct(), description="The brokers' pods."
    )
    controllers: KubernetesControllers = Field(description="The controllers that are made.")
