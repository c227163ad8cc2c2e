"""Groups of clients: their kinds, and their offsets in a partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class GroupKind(StrEnum):
    """The kinds of groups whose members read records."""

    CONSUMER = "consumer"
    """Also classic groups, and groups that only commit offsets."""
    SHARE = "share"
    """A share group (KIP-932)."""
    STREAMS = "streams"
    """A group of the Streams protocol (KIP-1071)."""


@dataclass(frozen=True, slots=True, order=True)
class ClientGroup:
    """A group whose members read records; names are unique among all kinds."""

    name: str
    kind: GroupKind = GroupKind.CONSUMER

    def __str__(self) -> str:
        kind = "" if self.kind is GroupKind.CONSUMER else f"{self.kind} "
        return f"{kind}group {self.name}"


@dataclass(frozen=True, slots=True)
class Commit:
    """The offset of a group in a partition; for a share group its start offset.

    Attributes:
        offset: Offset of the next record to read.
        metadata: The text that the client committed with it; share groups have none.
        lag: Records that a share group has still to accept, as its broker counts them (KIP-1226);
            -1 where no broker tells it.
        pending: Whether an open transaction commits another offset there (KIP-447); `offset` is
            that of before, -1 for none.
    """

    offset: int
    metadata: str = ""
    lag: int = field(default=-1, compare=False)
    pending: bool = False
