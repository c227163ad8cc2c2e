"""Types of the JSON that `failback` and `salvage` write; schemas are made of them (docs/output)."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class LoneRecordsJson(TypedDict):
    """The records of a partition that only one of the two clusters has."""

    topic: str
    """The topic on that cluster."""
    partition: int
    first: int
    """The first offset behind what both clusters have."""
    end: int
    """The offset behind the last record that is no part of an open transaction."""
    records: int
    """How many records lie there, -1 if they were not counted."""
    deleted: int
    """How many of these offsets the cluster has deleted since."""


@shape
class FailbackPartitionJson(TypedDict):
    """A partition with the records that each cluster alone has since the cut."""

    topic: str
    """The source topic."""
    partition: int
    cut: int
    """When it was cut, in ms since 1970."""
    source: LoneRecordsJson
    target: LoneRecordsJson
    conflict: bool
    """Whether both sides have records of their own."""
    wins: str | None
    """The side whose records stay in the topic; `null` if nothing is decided, or to be decided."""
    identical: bool
    """Whether offsets stay the same on the way back."""


@shape
class UnfinishedSalvageJson(TypedDict):
    """Records that an earlier failback with another answer left in a salvage topic."""

    wins: str
    """The side that won by that answer; the salvage topic is there."""
    topic: str
    partition: int
    origin: str
    """The topic of the other side that they come from; they are there, too."""
    records: int
    text: str
    """What happened, and what to do."""


@shape
class SalvagedPartitionJson(TypedDict):
    """One partition of a salvage topic, with counts of salvaged and replayed records."""

    topic: str
    """The salvage topic."""
    partition: int
    cluster: str
    """The side of the link that has it: `source` or `target`."""
    origin: str
    """The topic of the other side that the records come from."""
    target: str
    """The topic that they are replayed to, on the same side as the salvage topic."""
    first: int
    """Their first offset at the origin."""
    end: int
    """The offset there behind the last one."""
    records: int
    """How many were salvaged."""
    deleted: int
    """How many offsets the origin had deleted before."""
    replayed: int
    missing: int
    """How many the salvage topic lacks now."""
    foreign: int
    """How many records of others its partition has."""
    at: int
    """When they were salvaged, in ms since 1970."""
    trouble: str
    """Why it could not be looked at, or not be replayed; "" for nothing."""


@shape
class FailbackJson(TypedDict):
    """Output of `towpath failback FILE --output json`."""

    link: str
    back: str
    """The name of the link back."""
    file: str
    """The file of the link back."""
    dry_run: bool
    reversed: bool
    """Whether the link is turned round now."""
    caught_up: bool
    """Whether the link back has copied what clients wrote on the target before it began."""
    records: int
    """How many records the link back has copied since it began."""
    refusals: list[str]
    """Why the link cannot be turned round."""
    undecided: int
    """Number of partitions of which somebody must say whose records stay (`--wins`)."""
    new_on_target: int
    """Offsets that the target has got since the cut, at least as many as records."""
    left_at_source: int
    """Records, or offsets where not counted, that the old source alone has."""
    partitions: list[FailbackPartitionJson]
    salvaged: list[SalvagedPartitionJson]
    replay: list[str]
    """The commands that replay what was salvaged."""
    unfinished: list[UnfinishedSalvageJson]
    """What an earlier failback left half done in salvage topics."""
    notes: list[str]
    """What the file of the link back lacks of the file of the link."""
    missing: list[str]
    """What could not be done."""


@shape
class KeptStraysJson(TypedDict):
    """Output of `towpath salvage keep FILE --output json`."""

    link: str
    records: int
    """How many were kept aside now."""
    left_out: list[str]
    """Why some could not be kept now, in sentences."""
    partitions: list[SalvagedPartitionJson]
    """All that salvage topics hold now."""
    left: int
    """How many of their records were not replayed."""


@shape
class SalvageJson(TypedDict):
    """Output of `towpath salvage ls` and `replay` with `--output json`."""

    link: str
    partitions: list[SalvagedPartitionJson]
    left: int
    """How many records were not replayed."""
