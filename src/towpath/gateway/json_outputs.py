"""JSON outputs of gateways, by the names of their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from typing_extensions import TypedDict

from towpath.model.json_shapes import JsonOutput, shape


@shape
class RelayedNodeJson(TypedDict):
    """A broker that a gateway relayed to."""

    id: int
    """Its id on the source."""
    shown_id: int
    """The id under which clients knew it."""
    address: str
    """Where clients reached it."""


@shape
class GatewayJson(TypedDict):
    """Output of `towpath gateway FILE --output json`, at its end."""

    cluster: str
    """The cluster id that clients were told."""
    nodes: list[RelayedNodeJson]
    connections: int
    """Connections of clients, all that there were."""
    ended: int
    """Those that the gateway ended, each with a line in the log."""


OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {"gateway": JsonOutput(GatewayJson, ("gateway",), ("connections", "ended", "nodes[].address"))}
)
"""Each JSON output of `towpath gateway`, by the name of its schema."""
