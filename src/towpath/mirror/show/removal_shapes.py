"""Types of the JSON that `towpath link rm` writes; its schema is made of them (docs/output)."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import StateJson
from towpath.model.json_shapes import shape


@shape
class OwnedTopicJson(TypedDict):
    """A mirror topic that the link has written, and that is still on the target."""

    topic: str
    target: str
    partitions: int
    records: int
    owned: bool
    """Whether the link still fills it: clients were not moved to it."""
    held: bool
    """Whether its retention or compaction is still held back."""


@shape
class RemovalJson(TypedDict):
    """Output of `towpath link rm` with `--output json`."""

    link: str
    done: bool
    over: bool
    """Whether an earlier command has removed the books already."""
    under_way: bool
    """Whether an earlier removal was killed before it ended."""
    entries: int
    """How many entries of the ledger were removed now."""
    state: StateJson | None
    topics: list[OwnedTopicJson]
    relies: list[str]
    """Who or what relies on the books."""
    stays: list[str]
    """What stays on the target."""
    gateways: list[str]
    """Gateways of the link that may still serve clients."""
    refusals: list[str]
    """What forbids it now."""
