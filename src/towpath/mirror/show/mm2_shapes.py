"""Types of the JSON of commands about MirrorMaker 2: `import mm2` and others."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class TakenSecretJson(TypedDict):
    """A secret that a written file refers to."""

    variable: str
    """The environment variable."""
    property: str
    """The property of MirrorMaker 2's file."""
    what: str


@shape
class WrittenFileJson(TypedDict):
    """A written YAML file."""

    file: str
    flow: str
    """The flow of MirrorMaker 2 that it is for."""
    secrets: list[TakenSecretJson]
    notes: list[str]
    problems: list[str]
    """What is to be corrected in it."""


@shape
class PropertyFateJson(TypedDict):
    """A property of MirrorMaker 2's file."""

    property: str
    fate: str
    """Whether it was taken over, is to be done by hand, has no equal, or is not needed."""
    text: str


@shape
class ConversionJson(TypedDict):
    """Output of `towpath import mm2 PROPERTIES --output json`."""

    files: list[WrittenFileJson]
    properties: list[PropertyFateJson]


@shape
class SucceededPartitionJson(TypedDict):
    """A partition that a link continues after MirrorMaker 2."""

    topic: str
    partition: int
    mirror: str
    """The mirror topic."""
    copied: int | None
    """The last source offset that MirrorMaker 2 says it copied."""
    begins: int | None
    """The source offset at which copying begins, `null` if nothing is to be written."""
    target_end: int
    """Log end offset of the mirror partition."""
    compared: int
    """Number of records before `begins` that are the same on both sides."""
    fine: bool
    why: str
    """Why nothing is to be written, "" if something is."""


@shape
class SuccessionJson(TypedDict):
    """Output of `towpath import mm2-positions FILE --output json`."""

    alias: str
    """MirrorMaker 2's alias of the source."""
    done: bool
    """Whether the ledger was written."""
    complete: bool
    partitions: list[SucceededPartitionJson]
    notes: list[str]


@shape
class CheckpointJson(TypedDict):
    """A checkpoint of MirrorMaker 2."""

    group: str
    """The consumer group on the target."""
    topic: str | None
    """The mirror topic."""
    partition: int
    source_offset: int | None
    known: int | None
    """The offset that the target has of the group."""
    offset: int | None
    """The offset that the group gets."""
    outcome: str
    reason: dict[str, Any] | None
    """Why it was not written: a `code`, and its values by name."""
    why: str
    """The same as a sentence, "" without a reason."""


@shape
class CheckpointsJson(TypedDict):
    """Output of `towpath checkpoints apply FILE --output json`."""

    topic: str
    """The topic of the checkpoints."""
    alias: str
    """MirrorMaker 2's alias of the source."""
    newest: int
    """When the newest checkpoint was written, in ms since 1970."""
    written: bool
    complete: bool
    positions: list[CheckpointJson]
    notes: list[str]
