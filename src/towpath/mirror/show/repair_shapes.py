"""Types of the JSON that `repair` and `restart` write."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import PlaceJson
from towpath.mirror.show.status_shapes import LostJson
from towpath.model.json_shapes import shape


@shape
class GroupAheadJson(TypedDict):
    """A consumer group whose offset on the target is beyond the log."""

    group: str
    offset: int


@shape
class RepairedPartitionJson(TypedDict):
    """A partition whose lost records are copied again."""

    tp: PlaceJson
    """The source partition."""
    target: PlaceJson
    lost: LostJson
    offset: int
    """The source offset from which on records are copied again."""
    ahead: list[GroupAheadJson]


@shape
class ContinuedPartitionJson(TypedDict):
    """A partition that an earlier repair did not finish."""

    topic: str
    partition: int
    end: int
    """The offset up to which it is copied again."""


@shape
class UnrepairedPartitionJson(TypedDict):
    """A partition that cannot be repaired."""

    tp: PlaceJson
    """The source partition."""
    cause: str
    text: str


@shape
class RepairJson(TypedDict):
    """Output of `towpath repair FILE --topics TOPICS --output json`, and of its `--report`."""

    link: str
    complete: bool
    repaired: list[RepairedPartitionJson]
    continued: list[ContinuedPartitionJson]
    left: list[UnrepairedPartitionJson]
    missing: list[str]
    """What was not repaired after all."""
    takeover: str
    """The dead process whose lease was taken over, "" for none."""


@shape
class FoundPartitionJson(TypedDict):
    """A partition whose state was found in the target's logs."""

    topic: str
    partition: int
    target: str
    """The mirror partition."""
    end: int
    """The source offset up to which it is copied."""
    sequence: int
    generation: int
    compared: int
    """Number of records that were compared."""


@shape
class UnfoundPartitionJson(TypedDict):
    """A partition whose state cannot be rebuilt."""

    topic: str
    partition: int
    cause: str
    text: str


@shape
class LedgerRepairJson(TypedDict):
    """Output of `towpath repair FILE --ledger --output json`, and of its `--report`."""

    link: str
    complete: bool
    written: bool
    """Whether the ledger was written."""
    found: list[FoundPartitionJson]
    left: list[UnfoundPartitionJson]


AnyRepairJson = RepairJson | LedgerRepairJson
"""Output of `towpath repair FILE --output json`, and of its `--report`."""


@shape
class MirrorTopicJson(TypedDict):
    """A mirror topic that is on the target."""

    id: str
    partitions: int
    records: int
    """Number of offsets that its logs span."""
    owned: bool
    """Whether this link created it."""
    foreign: bool
    """Whether it may hold records that this link did not write."""


@shape
class RestartedTopicJson(TypedDict):
    """A source topic that is copied from its beginning."""

    topic: str
    target: str
    """The mirror topic."""
    source_id: str
    """Id of the new source topic."""
    mirror: MirrorTopicJson | None
    """The mirror topic before, `null` if there was none."""
    replace: bool
    """Whether the mirror topic was deleted first."""


@shape
class NotRestartedJson(TypedDict):
    """A topic that is not restarted."""

    topic: str
    why: str


@shape
class TopicRestartJson(TypedDict):
    """Output of `towpath restart FILE --output json`."""

    link: str
    complete: bool
    restarted: list[RestartedTopicJson]
    left: list[NotRestartedJson]
    failed: list[str]
    """Mirror topics that could not be deleted, and why."""
