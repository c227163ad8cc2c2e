"""The sections `driver` of a migration to KRaft: how nodes are started and stopped."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from towpath.kraft.config.driver_commands import CommandLine, DriverSection
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.settings.sections.topics import Count


class LocalDriver(DriverSection):
    """The section `driver` for nodes that are local processes, started by Towpath."""

    via: Literal["local"] = Field(description="Nodes are processes of this machine.")
    start: CommandLine = Field(
        description="Command that runs a node, such as `kafka-server-start.sh {properties}`."
    )
    folder: str = Field(
        pattern=r"^/", description="Folder for the nodes' logs, and for who runs with which pid."
    )


class SshDriver(DriverSection):
    """The section `driver` for nodes that are systemd units on hosts reached by ssh."""

    via: Literal["ssh"] = Field(description="Nodes are systemd units, reached by ssh.")
    user: str | None = Field(None, description="Login name. Default: that of ssh's own settings.")
    port: Annotated[Count, Field(ge=1, le=65535)] | None = Field(
        None, description="Port. Default: that of ssh's own settings."
    )
    options: tuple[str, ...] = Field(
        (), description="Further `-o` options of ssh, such as `ProxyJump=bastion`."
    )
    broker_unit: str = Field("kafka.service", description="Unit of a broker; {id} is replaced.")
    controller_unit: str = Field(
        "kafka-controller.service", description="Unit of a controller; {id} is replaced."
    )
    sudo: StrictBool = Field(
        True, description="Whether files and units are reached through `sudo -n`."
    )


KraftDriver = Annotated[LocalDriver | SshDriver | KubernetesDriver, Field(discriminator="via")]
"""One kind of driver for all nodes."""
