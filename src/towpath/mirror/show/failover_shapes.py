"""Types of the JSON that `towpath failover` writes; its schema is made of them (docs/output)."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import StateJson
from towpath.model.json_shapes import shape


@shape
class PartitionPlanJson(TypedDict):
    """What becomes of a partition."""

    topic: str
    partition: int
    target_topic: str
    mode: str
    """`identical` or `mapped`."""
    source_end: int
    """The source offset behind the last copied record."""
    target_end: int
    """The target offset from which on clients write."""
    missing: int | None
    """Source offsets that are not mirrored, `null` if the source does not tell."""
    at_least: int
    """How many they are at least, as far as groups had read them."""
    as_of: int
    """When the link last told of the partition, in ms since 1970."""
    beyond: int
    """Records on the target that no receipt told of."""
    trouble: dict[str, Any] | None
    """Why it cannot be failed over: a `code`, and its values by name."""
    why: str
    """The same as a sentence, "" without trouble."""
    silent: dict[str, Any] | None
    """Why a source that answers otherwise tells nothing of it: a `code`, and its values by name."""


@shape
class PositionPlanJson(TypedDict):
    """Where a group stands in a partition after the failover."""

    group: str
    mirror_group: str
    topic: str
    partition: int
    source: int
    """The last known committed offset at the source."""
    target: int | None
    """The offset on the target."""
    exactness: str | None
    """`exact`, `bounded`, `not yet mirrored`, `before the start` or `lost`."""
    again: int | None
    """Records that are read twice at least, `null` if the map does not tell."""
    follow: int
    """Mirrored records that it has still to read: what it read since its last known commit is among
    them."""
    ahead: int
    """Source offsets that it had read and that are not mirrored."""
    writes: bool
    """Whether it is on the target, or will be."""
    outcome: str
    reason: dict[str, Any] | None
    """Why it is not written: a `code`, and its values by name."""
    why: str


@shape
class GroupPlanJson(TypedDict):
    """A group that is brought over."""

    group: str
    mirror_group: str
    kind: str
    """`consumer` or `share`."""
    type: str | None
    """Its type at the source in the words of Kafka, such as `classic` or `streams`."""
    target_state: str | None
    """Its state on the target, `null` if it is not there."""
    remarks: list[dict[str, Any]]
    """What else is to be known of it, each a `code` with its values by name."""


@shape
class SplitGroupJson(TypedDict):
    """A group that reads topics which fail over, and others that do not."""

    group: str
    moves: list[str]
    stays: list[str]


@shape
class FailoverPlanJson(TypedDict):
    """What a failover costs."""

    at: int
    """When it was seen, in ms since 1970."""
    source_gone: str | None
    """Why the source does not answer."""
    unfenced: str | None
    """Why the target takes no fences."""
    lost: int
    """Source offsets that are not mirrored, as far as known."""
    unknown: int
    """Partitions of which that is not known."""
    again: int
    """Records that groups read twice, as far as known."""
    again_at_most: int
    """How many they are at most: groups may have read on since their last known commit, where the
    source does not tell."""
    held: list[str]
    """Mirror topics whose retention or compaction is still held back."""
    unfenceable: dict[str, str]
    """Partitions written in transactions that cannot be fenced, and why."""
    held_by: str | None
    """The command that changes the target for the link now; until its end, failover is refused."""
    split: list[SplitGroupJson]
    """Groups of which a part of the topics does not fail over."""
    groups: list[GroupPlanJson]
    stopped: list[str]
    """Source topics that somebody stopped by hand; they do not fail over."""
    paused: list[str]
    """Source topics that somebody paused; they fail over as they stand."""
    partitions: list[PartitionPlanJson]
    positions: list[PositionPlanJson] | None
    """`null` where the file asks for no groups."""
    groups_failed: dict[str, str]
    """The error of each group that could not be looked at."""
    unlisted: list[str]
    """Errors of brokers that did not list their groups."""
    remembered: dict[str, str]
    """Groups that go on where the ledger last saw them, in whole or in part, and why the source
    does not tell; none where nobody answers there at all."""


@shape
class FailoverJson(TypedDict):
    """Output of `towpath failover` with `--output json`."""

    link: str
    topics: list[str]
    """The source topics that were chosen, none for all."""
    dry_run: bool
    done: bool
    """Whether it was carried out."""
    state: list[StateJson]
    plan: FailoverPlanJson
    """What was foretold."""
    after: FailoverPlanJson | None
    """What it came to."""
    fenced: int
    """Partitions with a fence."""
    not_fenced: dict[str, str]
    """Partitions without a fence, and why."""
    missing: list[str]
    """What is left to do; a repeated failover does it."""
    clients: list[str]
    """What to change in clients."""
    seconds: dict[str, float]


@shape
class FailoverUndoneJson(TypedDict):
    """Output of `towpath failover --undo` with `--output json`."""

    link: str
    state: list[StateJson]
