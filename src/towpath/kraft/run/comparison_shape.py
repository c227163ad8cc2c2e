"""Type of a comparison of both stores as JSON, for the journal and for what is shown."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class StoreDifferenceJson(TypedDict):
    """A difference between ZooKeeper and the metadata log."""

    kind: str
    name: str
    zookeeper: str
    log: str


@shape
class StoreComparisonJson(TypedDict):
    """A comparison of ZooKeeper with the metadata log."""

    equal: bool
    compared: dict[str, int]
    """Number of compared things by kind."""
    digests: dict[str, str]
    """SHA-256 over the contents of ZooKeeper by kind."""
    unproven: list[str]
    """Encoded passwords, of which both stores have one."""
    differences: list[StoreDifferenceJson]
