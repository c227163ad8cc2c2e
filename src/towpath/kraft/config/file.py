"""The whole file of a migration from ZooKeeper to KRaft."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, NewType

from pydantic import AfterValidator, Field

from towpath.kraft.config.clashes import clashes
from towpath.kraft.config.drivers import KraftDriver
from towpath.settings.address import check_address, host_and_port, listen_address
from towpath.settings.problems import not_empty
from towpath.settings.secrets import SecretText
from towpath.settings.sections.clusters import ClusterConfig, Sasl, Tls
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, between

MigrationName = NewType("MigrationName", str)
"""Name of a migration to KRaft, in its journal, report and metrics."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
_PATH = re.compile(r"/(?:[^/\0]+/?)*")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be 1 to 100 letters, digits, '.', '_' or '-'")
    return text


def _absolute(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("must be a whole path on the node's host, such as /etc/kafka/x.properties")
    return text


def _journal(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("must be a whole path on this machine, such as /var/lib/towpath/orders")
    return text


def _hosts(text: str) -> str:
    hosts, slash, chroot = text.partition("/")
    for each in hosts.split(","):
        check_address(each.strip(), "zookeeper1:2181")
    if slash and not chroot:
        raise ValueError("ends with '/'; write hosts alone, or with the path of the cluster")
    return text


HostPath = Annotated[str, AfterValidator(_absolute)]
"""A path on the host of a node."""


def _own(text: str) -> str:
    if not text.strip("/"):
        raise ValueError("must be a folder of its own, not /")
    return text.rstrip("/")


class ZooKeeperConfig(Section):
    """The ZooKeeper ensemble, and how to log in."""

    connect: Annotated[str, AfterValidator(_hosts)] = Field(
        description="Its servers and the path of the cluster, as brokers have it in"
        " `zookeeper.connect`: host1:2181,host2:2181/path."
    )
    tls: Tls | None = Field(None, description="Encryption. Default: none.")
    username: str | None = Field(
        None, description="Name to log in with (SASL, DIGEST-MD5). Default: no login."
    )
    password: SecretText | None = Field(None, description="Secret to log in with.")
    session_timeout: Annotated[Duration, between("2s", "5m")] = Field(
        Duration.parse("18s"),
        description="After how long without a sign of us ZooKeeper ends our session.",
    )
    admin_port: Annotated[Count, Field(ge=1, le=65535)] = Field(
        Count(8080),
        description="Port of the AdminServer of its servers (`admin.serverPort`), which is asked"
        " who is connected where `4lw.commands.whitelist` does not allow `cons`.",
    )

    @contradictions
    def _both(self) -> Iterator[Placed]:
        if (self.username is None) != (self.password is None):
            yield Placed(("username",), "username and password belong together")


class KraftNode(Section):
    """Fields that the file's brokers and controllers share."""

    id: Annotated[Count, Field(ge=0, le=2**31 - 1)] = Field(
        description="Its id: `broker.id` of a broker, `node.id` of a controller."
    )
    address: Annotated[str, AfterValidator(lambda text: check_address(text, "host:9093"))] = Field(
        description="HOST:PORT where it answers: a broker for clients, a controller for all nodes."
    )
    properties: HostPath = Field(description="Its properties file, on its host.")
    host: str | None = Field(
        None,
        min_length=1,
        description="Its host, for ssh; default: that of `address`. For Kubernetes a broker's pod.",
    )


class KraftBroker(KraftNode):
    """A broker of the cluster."""


class KraftController(KraftNode):
    """A controller that takes over from ZooKeeper; Towpath writes its properties."""

    data: Annotated[HostPath, AfterValidator(_own)] = Field(
        description="Folder for its metadata log; on a disk that stays."
    )


class ControllersConfig(Section):
    """The controllers that take over from ZooKeeper."""

    nodes: Annotated[tuple[KraftController, ...], AfterValidator(not_empty)] = Field(
        description="The controllers: three or five, one only for trials."
    )
    listener: str = Field(
        "CONTROLLER",
        min_length=1,
        description="Name of their listener (`controller.listener.names`).",
    )
    tls: Tls | None = Field(None, description="Encryption of that listener, for our own requests.")
    sasl: Sasl | None = Field(None, description="Login there, for our own requests.")
    properties: dict[str, str] = Field(
        default_factory=dict,
        description="Further properties of controllers; they win over ours.",
        repr=False,
    )


class KraftLimits(Section):
    """Limits on the duration of steps; the defaults suit nearly everyone."""

    start: Annotated[Duration, between("1s", "1h")] = Field(
        Duration.parse("5m"), description="Until a started node serves."
    )
    stop: Annotated[Duration, between("1s", "1h")] = Field(
        Duration.parse("90s"), description="Until a stopped node is killed."
    )
    in_sync: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("30m"), description="Until all replicas are in sync behind a restart."
    )
    pause: Annotated[Duration, between("0s", "1h")] = Field(
        Duration.parse("10s"),
        description="Between the restarts of two brokers: clients come back to the first in it.",
    )
    copy_: Annotated[Duration, between("1s", "1h")] = Field(
        Duration.parse("10m"), alias="copy", description="Until ZooKeeper is copied."
    )
    soak: Annotated[Duration, between("0s", "365d")] = Field(
        Duration.parse("0s"),
        description="How long both must have been written and equal before a finalize.",
    )


class KraftMetricsConfig(Section):
    """The metrics endpoint of `towpath kraft` commands."""

    listen: Annotated[str, AfterValidator(listen_address)] | None = Field(
        None,
        description="HOST:PORT where `towpath kraft run`, `rollback`, `finalize`, and `status"
        " --watch` serve metrics under `/metrics`, such as `127.0.0.1:9404`. Default: not served.",
    )

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port to listen on, `None` if metrics are not served."""
        return host_and_port(self.listen) if self.listen else None


class KraftConfig(Section):
    """The complete configuration of a migration from ZooKeeper to KRaft."""

    kind: Literal["kraft"] = Field(description="What the file describes: `kraft`.")
    kraft: Annotated[MigrationName, AfterValidator(_name)] = Field(
        description="Name of this migration in its journal and report; never change it later."
    )
    cluster: ClusterConfig = Field(description="The brokers, and how to log in as a client.")
    zookeeper: ZooKeeperConfig = Field(description="The ZooKeeper that is to be left.")
    brokers: Annotated[tuple[KraftBroker, ...], AfterValidator(not_empty)] = Field(
        description="Every broker of the cluster."
    )
    controllers: ControllersConfig = Field(description="The controllers that take over.")
    driver: KraftDriver = Field(description="How processes and files of nodes are reached.")
    limits: KraftLimits = Field(
        KraftLimits.model_construct(), description="How long steps may last."
    )
    metrics: KraftMetricsConfig = Field(
        KraftMetricsConfig.model_construct(), description="What is served to Prometheus."
    )
    journal: Annotated[str, AfterValidator(_journal)] = Field(
        description="Folder on this machine for what was approved, done, measured and proven."
    )

    @contradictions
    def _different(self) -> Iterator[Placed]:
        controllers, driver = getattr(self, "controllers", None), getattr(self, "driver", None)
        lists = {"brokers": self, "nodes": controllers}
        told = {
            name: [vars(node) for node in getattr(part, name, ())] for name, part in lists.items()
        }
        nodes, via = {"nodes": told["nodes"]}, {"via": getattr(driver, "via", None)}
        yield from clashes({"brokers": told["brokers"], "controllers": nodes, "driver": via})
