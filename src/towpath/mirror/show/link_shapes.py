"""Types of the JSON that `towpath link` writes; its schemas are made of them (docs/output)."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class CreatedLinkJson(TypedDict):
    """Output of `towpath link create FILE --output json`."""

    link: str
    source: list[str]
    """Bootstrap addresses of the source."""
    include: list[str]
    exclude: list[str]
    created_at: int
    """When it was created, in ms since 1970."""
    created_by: str
    """The user, and the host."""
    new: bool
    """Whether the ledger did not know the link before."""
    changed: bool
    """Whether it did, and the file says something else since."""


@shape
class ServingGatewayJson(TypedDict):
    """A gateway that may serve clients of the link."""

    name: str
    host: str
    pid: int
    since: int
    """When it began, in ms since 1970."""


@shape
class KnownLinkJson(TypedDict):
    """A link in the ledger."""

    link: str
    state: str
    """`created` (it never ran), `copying`, or a state as `towpath status` has it."""
    running: bool
    """Whether a run of it lives."""
    source: list[str]
    """Bootstrap addresses of the source, as they were when it was created."""
    source_cluster: str
    """The cluster id of the source, "" if the link never ran."""
    created_at: int
    """When it was created, in ms since 1970; 0 if it ran without that."""
    gateways: list[ServingGatewayJson]
    promoted: list[str]
    """The topics whose clients gateways moved to the target."""
    promoted_groups: list[str]
    """The groups that gateways moved there."""
    promoted_alone: list[str]
    """Those of them that moved before their topics."""


@shape
class LinksJson(TypedDict):
    """Output of `towpath link ls FILE --output json`."""

    links: list[KnownLinkJson]


@shape
class LinkTopicJson(TypedDict):
    """A topic of a link."""

    topic: str
    target: str
    partitions: int
    """How many of its partitions were opened."""
    identical: int
    """How many of these have the offsets of the source."""
    promoted: bool
    state: str
    """Its own state as `towpath status` has it, "" if it has none."""
    reasons: list[str]
    """Why a gateway cannot move its clients; none if it can, or did."""


@shape
class ShownLinkJson(TypedDict):
    """Output of `towpath link show FILE --output json`."""

    link: KnownLinkJson
    topics: list[LinkTopicJson]
