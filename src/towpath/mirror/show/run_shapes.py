"""Types of the JSON of commands that copy: `run`, `cutover`, `pause`, `resume` and `rate`."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from towpath.mirror.show.groups_shapes import ConsumerGroupJson
from towpath.mirror.show.shapes import StateJson
from towpath.mirror.show.status_shapes import PartitionJson, PauseJson, RatesJson
from towpath.mirror.show.verify_shapes import GoneJson, SchemaProofJson
from towpath.model.json_shapes import shape


@shape
class TransformedJson(TypedDict):
    """What a query made of records in a run."""

    read: int
    written: int
    dropped: int
    """How many fewer were written than read, where fewer were."""


@shape
class MirrorRunJson(TypedDict):
    """Output of `towpath run FILE --output json`, and of its `--report`."""

    link: str
    seconds: float
    stopped: bool
    """Whether the user stopped it."""
    complete: bool
    """Whether nothing was left out, and nothing is in trouble."""
    records: int
    """Number of records that this run copied."""
    bytes: int
    caught_up: bool
    standing_still: int
    """Number of partitions that are not copied."""
    lag: int
    """Lag in source offsets."""
    unstable: int
    """Number of source offsets that open transactions hold back; the lag does not count them."""
    transformed: TransformedJson | None
    """`null` for a link whose records go through no query."""
    left_out: list[str]
    trouble: str
    notes: list[str]
    partitions: list[PartitionJson]


@shape
class StoppedTopicsJson(TypedDict):
    """Output of `towpath topics stop` and `topics start` with `--output json`."""

    link: str
    stopped: list[StateJson]
    """The topics that are stopped now."""
    held: list[str]
    """Mirror topics among them whose retention or compaction is still held back."""


@shape
class PausesJson(TypedDict):
    """Output of `towpath pause` and `resume` with `--output json`."""

    link: str
    paused: list[PauseJson]
    """The pauses that hold now."""


@shape
class RateJson(TypedDict):
    """Output of `towpath rate FILE --output json`."""

    link: str
    max_rate: RatesJson


@shape
class CutoverFailureJson(TypedDict):
    """The error that ended a cutover."""

    code: str
    """A code that `towpath explain` explains."""
    text: str


@shape
class MappedPartitionJson(TypedDict):
    """A partition whose offsets differ from those at the source."""

    topic: str
    partition: int
    why: str


@shape
class GonePartitionJson(GoneJson):
    """A partition with records that not both sides have any more."""

    topic: str
    partition: int


@shape
class CutoverJson(TypedDict):
    """Output of `towpath cutover FILE --output json`, and of its `--report`."""

    link: str
    dry_run: bool
    complete: bool
    """Whether everything is done and equal, or in a rehearsal would be."""
    writing: list[str]
    """Source partitions to which somebody still writes."""
    to_stop: list[str]
    """What must be stopped before the cutover."""
    left_out: list[str]
    """Why the cutover is not complete."""
    group_positions: list[ConsumerGroupJson]
    groups: list[str]
    """Consumer groups that stay at the source."""
    share_groups: list[str]
    streams_groups: list[str]
    failure: CutoverFailureJson | None
    mapped: list[MappedPartitionJson]
    acls_held: int
    """Number of ACLs that are held back."""
    notes: list[str]
    seconds: dict[str, float]
    """Duration of each part that was begun."""
    estimate: dict[str, float] | None
    """Estimated seconds of each part."""
    estimated_seconds: float | None
    behind: int
    """Number of records to copy, in a rehearsal."""
    steps: int
    """Number of steps that were done."""
    steps_planned: int
    partitions: int
    """Number of compared partitions."""
    equal_partitions: int
    gone: list[GonePartitionJson]
    equal_records: int
    schemas: NotRequired[SchemaProofJson | None]
    """The comparison of schema ids, `null` if there was none."""
