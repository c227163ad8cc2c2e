"""Types of a plan as JSON, for `plan`, `diff`, a restore's plan and saved plans."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from towpath.model.json_shapes import open_object, shape

_DO = "The kind of step."
_SUBJECT = "The subject that it is about, such as `topics`."
StepJson = Annotated[
    dict[str, Any],
    open_object("A step of a plan, and its values by name.", do=_DO, subject=_SUBJECT),
]
"""A step of a plan: `do`, `subject`, and the values that this kind of step has."""
StepFailureJson = Annotated[
    dict[str, Any],
    open_object(
        "A step that failed, and its values by name.",
        do=_DO,
        subject=_SUBJECT,
        code="A code that `towpath explain` explains.",
        error="Why it failed.",
    ),
]
"""A step that failed, with the `code` and the text of its `error`."""


@shape
class PlannedClusterJson(TypedDict):
    """A cluster as it reported itself."""

    bootstrap: list[str]
    id: str
    version: str
    """The release of Kafka, such as `4.1`."""
    brokers: int
    """Number of brokers that are up."""
    login: str
    """The user that the file logs in as, "" for none."""


@shape
class NoteJson(TypedDict):
    """A fact that may be unexpected but stops nothing."""

    about: str
    text: str
    section: NotRequired[str]
    """The heading under which it is shown."""


@shape
class ProblemJson(TypedDict):
    """What keeps a topic or another item from being mirrored or restored."""

    about: str
    text: str
    cause: str


@shape
class TopicBytesJson(TypedDict):
    """Compressed bytes of a source topic."""

    topic: str
    bytes: int
    """Bytes to copy."""
    held: int
    """Bytes that it holds altogether."""
    replicas: int
    """Number of replicas of the mirror topic."""


@shape
class CopyRateJson(TypedDict):
    """The rate of copying that an estimate is for."""

    bytes_per_second: float
    origin: str
    """`said`, `measured`, `limit` or `guess`."""


@shape
class NetworkJson(TypedDict):
    """Bytes that copying sends."""

    from_source: int
    to_target: int
    inside_target: int


@shape
class CopyEstimateJson(TypedDict):
    """The bytes, time and disk space that copying still needs."""

    topics: list[TopicBytesJson]
    rate: CopyRateJson
    unknown: int
    """Number of partitions whose bytes are not known."""
    free: int | None
    """Free bytes on the target's disks, `null` if unknown."""
    bytes: int
    """Bytes to copy."""
    held: int
    """Bytes that the topics hold at the source."""
    seconds: float
    network: NetworkJson
    stored: int
    """Bytes that the target's disks take, with all replicas."""


@shape
class PlanJson(TypedDict):
    """Output of `towpath plan FILE --output json`, and of `diff` and `schemas diff`."""

    link: str
    source: PlannedClusterJson | None
    """`null` if it did not answer."""
    target: PlannedClusterJson | None
    topics: dict[str, str]
    """Names on the target by source topic."""
    steps: list[StepJson]
    notes: list[NoteJson]
    problems: list[ProblemJson]
    to_copy: NotRequired[CopyEstimateJson]
    saved: NotRequired[bool]
    """Whether the plan was saved, with `--save`."""
