"""Types of the JSON output of `towpath groups`, from which its schema is made (docs/output)."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import PlaceJson
from towpath.model.json_shapes import shape


@shape
class AnswerJson(TypedDict):
    """The target offset for a group's committed source offset."""

    offset: int
    exactness: str
    """How exact it is: `exact`, `not yet mirrored`, `before the start`, `lost` or `bounded`."""
    why: str
    """Why it is not exact, "" if it is."""


@shape
class LagJson(TypedDict):
    """Lag of a group on one side; `null` where it is unknown."""

    records: int | None
    seconds: float | None


@shape
class GroupPositionJson(TypedDict):
    """The offset of a group in one partition."""

    topic: str
    """The source topic."""
    partition: int
    mirror: PlaceJson | None
    """The mirror partition."""
    source: int | None
    """The committed offset at the source."""
    metadata: str | None
    answer: AnswerJson | None
    target: int | None
    """The committed offset on the target."""
    gone: int | None
    """The offset that the target got earlier and no longer has."""
    again: int | None
    """Number of records that a share group gets again."""
    outcome: str
    """What became of the position, such as `CONFIRMED`, `UNCHANGED` or `NOT_ATTEMPTED`."""
    due: bool
    """Whether it is still to be written."""
    reason: dict[str, Any] | None
    """Why it was not written: a `code`, and its values by name."""
    why: str
    """The same as a sentence, "" without a reason."""
    source_lag: LagJson
    target_lag: LagJson


@shape
class ConsumerGroupJson(TypedDict):
    """A group on both sides."""

    group: str
    kind: str
    """`consumer`, `share` or `streams`."""
    type: str | None
    """Its protocol at the source."""
    mirror_group: str | None
    """Its name on the target."""
    source_state: str | None
    target_state: str | None
    seen_at: int
    """When it was seen at the source, in ms since 1970."""
    deleted: bool
    """Whether it was deleted on the target, as the source no longer has it."""
    committed_at: int | None
    """When all its positions were committed on the target, in ms since 1970."""
    expires: str
    """From when on its offsets expire."""
    holds_until: int | None
    """Until when the target keeps its offsets, in ms since 1970."""
    remarks: list[dict[str, Any]]
    """Each with its `code`, its values by name, and its `text`."""
    positions: list[GroupPositionJson]


@shape
class GroupsStatusJson(TypedDict):
    """Output of `towpath groups ls`, `status`, `sync` and `diff` with `--output json`."""

    link: str
    asked: bool
    """Whether the file asks for groups."""
    at: int
    """When the groups were seen, in ms since 1970."""
    source_gone: str | None
    """Why the source could not be asked."""
    outcomes: dict[str, int]
    """Number of positions by outcome."""
    retention_seconds: int | None
    """How long the target keeps offsets, `null` if unknown."""
    groups: list[ConsumerGroupJson]
    failed: dict[str, str]
    """The error of each group that failed."""
    unlisted: list[str]
    """Errors of brokers that did not list their groups."""
    notes: NotRequired[list[str]]
    """What else `sync` has to say."""


@shape
class TranslatedPositionJson(TypedDict):
    """A source offset of a group and its target offset."""

    topic: str
    """The source topic."""
    partition: int
    source: int
    """The source offset."""
    answer: AnswerJson | None


@shape
class TranslationsJson(TypedDict):
    """Output of `towpath groups translate FILE GROUP --output json`."""

    group: str
    partitions: list[TranslatedPositionJson]
