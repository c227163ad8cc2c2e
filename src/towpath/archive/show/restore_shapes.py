"""Types of the JSON that `restore plan`, `run`, `status` and `thaw` write."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from typing_extensions import TypedDict

from towpath.cli.show.shapes import SchemaIdsJson
from towpath.model.json_shapes import shape
from towpath.plan.plan_shapes import NoteJson, PlannedClusterJson, ProblemJson, StepJson

Told = TypeVar("Told")


@shape
class FailedSourceJson(TypedDict):
    """A source of a restore that could not be looked at."""

    restore: str
    source: str
    """Its name among the file's `restore.sources`."""
    region: str
    error: str
    code: str
    """A code that `towpath explain` explains."""


@shape
class SourcesJson(TypedDict, Generic[Told]):
    """The outputs of all sources, where a restore has several."""

    sources: list[Told | FailedSourceJson]


@shape
class PlannedArchiveJson(TypedDict):
    """The archive that a plan is about."""

    store: str
    """URL of the store."""
    region: str
    version: int
    time: str | None
    """When that version was written."""


@shape
class TopicToRestoreJson(TypedDict):
    """A topic to restore."""

    topic: str
    target: str
    """Its name on the target."""
    partitions: int
    records: int
    filtered: int
    """Number of offsets that were left out of the archive."""
    bytes: int
    """Bytes of the records, uncompressed."""


@shape
class RestoreCostJson(TypedDict):
    """What a restore costs at least."""

    objects: int
    """Number of objects that are read."""
    object_bytes: int
    requests: int
    seconds: float
    price: float | None
    """The price by the file's `restore.costs`, `null` if it has none."""
    currency: str


@shape
class RestorePlanJson(TypedDict):
    """The plan of one restore."""

    restore: str
    archive: PlannedArchiveJson
    target: PlannedClusterJson | None
    """`null` if it did not answer."""
    topics: dict[str, str]
    """Names on the target of archived topics that can be restored."""
    steps: list[StepJson]
    notes: list[NoteJson]
    problems: list[ProblemJson]
    to_restore: list[TopicToRestoreJson]
    groups: list[str]
    """Consumer groups to restore."""
    cost: RestoreCostJson | None


@shape
class HeardJson(TypedDict):
    """The state of an archive that a restore follows."""

    region: str
    version: int
    """The last version that was read."""
    time: str | None
    """When that version was written."""
    state: str
    """`followed`, `silent` or `broken`, for example."""
    why: str
    """Why it is not followed, "" if it is."""
    codes: list[str]
    """Codes that `towpath explain` explains."""
    not_archived: int
    """Number of offsets that the source had at that version, and the archive did not."""


@shape
class LostOffsetsJson(TypedDict):
    """Archived offsets [first, end) that cannot be restored."""

    first: int
    end: int
    why: str
    skipped: bool
    """Whether the restore went on behind them."""


@shape
class RestoredPartitionJson(TypedDict):
    """A partition of a restore."""

    source: str
    """The name of its source, "" if the restore has only one."""
    topic: str
    partition: int
    target: str
    """The topic on the target."""
    state: str
    first: int
    """First archived offset to restore."""
    end: int
    """The offset after the last one to restore."""
    restored_to: int
    """The archived offset up to which it is restored."""
    records: int
    """Number of restored records."""
    archived_records: int
    archived_bytes: int
    filtered: int
    """Number of offsets that were left out of the archive."""
    mode: str
    """`identical` or `mapped`; "" before it was opened."""
    reason: str
    """Why it is mapped."""
    error: str
    """What keeps it from moving, "" if nothing does."""
    codes: list[str]
    """Codes that `towpath explain` explains."""
    gaps: list[LostOffsetsJson]


@shape
class RestoreStatusJson(TypedDict):
    """The state of one restore."""

    restore: str
    source: str
    """Its name among the file's `restore.sources`, "" without these."""
    region: str
    archive: HeardJson | None
    """`null` unless the restore follows the archive."""
    version: int
    """The version of the archive that is restored."""
    complete: bool
    held_back: dict[str, list[str]]
    """Configs that are still to be set, by topic on the target."""
    partitions: list[RestoredPartitionJson]
    schema_ids: SchemaIdsJson | None
    """`null` where schema ids in records stay as they are."""


@shape
class ColdObjectsJson(TypedDict):
    """Cold objects of one storage class."""

    storage_class: str
    objects: int
    bytes: int
    thawing: int
    """Number of those that somebody had asked for before."""
    takes_up_to: float | None
    """Seconds until they can be read."""


@shape
class ThawingJson(TypedDict):
    """Cold objects of one restore."""

    restore: str
    requested: bool
    """Whether the store was asked, or it was only shown."""
    days: int
    """How long the objects stay readable."""
    tier: str
    readable: int
    """Number of objects that can be read."""
    missing: int
    """Number of objects that the store lacks."""
    cold: list[ColdObjectsJson]
    failed: dict[str, str]
    """Why objects could not be asked for, by their keys."""


@shape
class RestoredArchiveJson(TypedDict):
    """An archive that was restored."""

    source: str
    """Its name among the file's `restore.sources`, "" without these."""
    store: str
    """URL of the store."""
    region: str
    version: int
    time: str | None
    """When that version was written."""


@shape
class RestoreProofJson(TypedDict):
    """The comparison of a partition with the archive by digests."""

    source: str
    topic: str
    partition: int | None
    """`null` for a whole topic."""
    target: str
    """The topic on the target."""
    state: str
    """`equal`, `different` or `not compared`."""
    first: int
    end: int
    records_archived: int
    records_restored: int
    digest_archived: str
    digest_restored: str
    ranges: int
    """Number of compared ranges."""
    bytes_read: int
    records_of_others: int
    """Number of records that the restore did not write."""
    why: str
    """Why it is not equal, "" if it is."""


@shape
class ComparisonJson(TypedDict):
    """The comparison of what was restored with the archive."""

    proven: bool
    """Whether all partitions are equal."""
    why: str
    """Why nothing was compared, "" if something was."""
    partitions: list[RestoreProofJson]


@shape
class NotificationsJson(TypedDict):
    """Messages that came from the queue."""

    queue: str
    messages: int
    """Number of handled messages."""
    objects: int
    """Number of objects of followed archives that they told of."""
    poison: int
    """Number of deleted messages that could not be read."""
    trouble: str
    """Why the queue cannot be read, "" if it can."""


@shape
class RestoredPositionJson(TypedDict):
    """The offset of a group in one partition."""

    topic: str
    partition: int
    archived: int | None
    """The archived offset."""
    gets: int | None
    """The offset on the target."""
    exactness: str | None
    outcome: str
    reason: dict[str, Any] | None
    """Why it was not written: a `code`, and its values by name."""


@shape
class RestoredGroupJson(TypedDict):
    """A consumer group of a restore."""

    group: str
    kind: str
    target: str
    """Its name on the target."""
    positions: list[RestoredPositionJson]


@shape
class RestoreRunJson(TypedDict):
    """Output of `towpath restore run FILE --output json`, and of its `--report`."""

    restore: str
    archives: list[RestoredArchiveJson]
    target: list[str]
    """Bootstrap addresses of the target."""
    began: str
    ended: str
    seconds: float
    stopped: bool
    """Whether the user stopped it."""
    complete: bool
    records: int
    """Number of restored records."""
    filtered: int
    """Number of offsets that were left out of the archive."""
    left_out: list[str]
    trouble: str
    notes: list[str]
    sources: list[HeardJson]
    """The archives that it follows."""
    comparison: ComparisonJson
    notifications: NotificationsJson | None
    partitions: list[RestoredPartitionJson]
    groups: list[RestoredGroupJson]
    schemas: list[str]
    """Sentences about schemas."""


RestorePlansJson = RestorePlanJson | SourcesJson[RestorePlanJson]
"""Output of `towpath restore plan FILE --output json`."""
RestoreStatusesJson = RestoreStatusJson | SourcesJson[RestoreStatusJson]
"""Output of `towpath restore status FILE --output json`."""
ThawingsJson = ThawingJson | SourcesJson[ThawingJson]
"""Output of `towpath restore thaw FILE --output json`."""
