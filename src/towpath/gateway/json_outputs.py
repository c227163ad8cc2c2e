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


@shape
class PromotionReasonJson(TypedDict):
    """Why nothing was promoted, or what somebody must see to."""

    code: str
    """A code that `towpath explain` explains."""
    text: str


@shape
class PromotionStepJson(TypedDict):
    """A step that a promotion has reached."""

    step: str
    """`begun`; `near`: the target has nearly all records; `gathered`: members are held, and have
    committed; `written`: their offsets are written; `decided`: producers go on; `closed`: consumers
    go on."""
    at: int
    """When, in ms since 1970."""


@shape
class OwnRunJson(TypedDict):
    """A run that the command started itself to copy the last records, as none lived."""

    to_copy: int
    """Records that were to be copied when it began, -1 where that could not be asked."""
    seconds: float
    """How long it went on."""
    exit_code: int | None
    """Its exit code; null in a rehearsal, which starts none."""


@shape
class PromotionJson(TypedDict):
    """Output of `towpath promote FILE --output json`, and of `towpath revert`."""

    name: str
    """The name of the request, as the ledger has it."""
    state: str
    """`promoted` or `reverted`, `told` (a rehearsal), `refused`, `undone`; `running` if it was not
    waited for."""
    gateway: str
    """The gateway that worked on it, "" for none."""
    told: list[str]
    """What a rehearsal tells, in sentences."""
    reasons: list[PromotionReasonJson]
    """Why it was refused or undone, would be refused, or what somebody must see to."""
    held_ms: int
    """How long producers were held."""
    silent_ms: int
    """How long consumers were held."""
    steps: list[PromotionStepJson]
    """What was done, in its order."""
    own_run: OwnRunJson | None
    """The run that the command started itself, or would start; null for none."""


OUTPUTS: Mapping[str, JsonOutput] = MappingProxyType(
    {
        "gateway": JsonOutput(
            GatewayJson, ("gateway",), ("connections", "ended", "nodes[].address")
        ),
        "promotion": JsonOutput(
            PromotionJson, ("promote", "revert"), ("state", "told", "reasons[].code", "held_ms")
        ),
    }
)
"""Each JSON output of `towpath gateway`, by the name of its schema."""
