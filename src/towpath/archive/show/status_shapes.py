"""Types of the JSON that `archive status`, `run` and `ls` write, and others that list segments."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class GapsJson(TypedDict):
    """Number of archived offsets without a record, by the reason."""

    marker: int
    """Markers of transactions."""
    aborted: int
    """Records of aborted transactions."""
    compacted: int
    """Removed by the source's compaction."""
    retention: int
    """Deleted by the source before they were archived."""
    filtered: int
    """Left out by the file."""
    erased: int
    """Removed by `towpath archive forget`."""
    lost: int
    """Given up as lost."""


@shape
class ArchivedPartitionJson(TypedDict):
    """A partition of an archive."""

    cluster: str
    """Id of the source cluster."""
    topic: str
    topic_id: str
    partition: int
    history: int
    """0, or the number of times that the log was cut at the source before."""
    fork: int | None
    """The offset from which on it differs from the history before."""
    state: str
    begin: int
    """The first archived offset."""
    archived_to: int
    """The offset up to which it is archived."""
    log_start: int
    """First offset of the source log."""
    stable_end: int
    """Last stable offset of the source."""
    lag: int
    """Number of offsets at the source that are not archived."""
    exposed_seconds: float
    """How long the oldest of them may have waited."""
    segments: int
    records: int
    bytes: int
    """Bytes of the records, uncompressed."""
    gaps: GapsJson
    unread: int
    """Offsets that went with their topic before they were archived."""
    why: str
    """Why it is in trouble, "" if it is not."""


@shape
class SafeToDeleteJson(TypedDict):
    """The answer to whether the topics of `--topics` may be deleted at the source."""

    safe: bool
    time: int
    """When it was found out, in ms since 1970."""
    partitions: int
    """Number of partitions that were looked at."""
    why: list[str]
    """What is missing, empty if nothing is."""


@shape
class QualifyingJson(TypedDict):
    """Merges that a compaction would do now."""

    merges: int
    segments: int
    bytes: int


@shape
class LastCompactionJson(TypedDict):
    """The outcome of the last compaction."""

    began: int
    """When it began, in ms since 1970."""
    ended: int
    """When it ended, in ms since 1970."""
    command: str
    host: str
    pid: int
    stopped: bool
    """Whether it was stopped before nothing qualified any more."""
    why: str
    """The error that ended it, "" if none did."""
    version: int
    read: int
    """Number of merged segments."""
    written: int
    """Number of segments that they became."""
    bytes: int
    deleted: int
    """Number of deleted objects."""
    failures: int
    """Number of partitions with merges that failed."""
    failed: dict[str, str]
    """Reasons by partition; not all if there are many."""
    strays: int
    """Number of objects with what the archive lacks, and in no entry."""
    stranded: list[str]
    """Their keys; not all if there are many."""
    unmended: bool
    """Whether the one before had failures, if this one was stopped."""
    complete: bool


@shape
class CompactionStatusJson(TypedDict):
    """The state of an archive's compaction."""

    running: bool
    rules: int
    """Number of rules in the file."""
    next: int | None
    """When a run applies a rule again by its schedule, in ms since 1970."""
    qualifying: QualifyingJson
    objects_waiting: int
    """Number of objects without segments that wait for their deletion."""
    merged: int | None
    """When the newest merged segment was written, in ms since 1970."""
    last: LastCompactionJson | None


@shape
class ArchivedSchemasJson(TypedDict):
    """Totals of the archived schemas."""

    registry: str
    """URL of the registry."""
    subjects: int
    versions: int
    objects: int
    size: int
    """Bytes of their objects."""
    version: int
    """The version of the archive in which they changed last."""


@shape
class ArchiveStatusJson(TypedDict):
    """Output of `towpath archive status FILE --output json`."""

    log: str
    """URL of the commit log."""
    version: int
    """The newest version of the archive."""
    time: int
    """When that version was written, in ms since 1970."""
    alive: bool
    """Whether a run is alive."""
    run_trouble: str
    """Why the run writes nothing, "" if it does."""
    source_trouble: str
    """Why the source could not be asked, "" if it was."""
    objects: int
    size: int
    """Bytes of all objects."""
    exposed_seconds: float
    """How long the oldest offset that is not archived may have waited."""
    compaction: CompactionStatusJson
    schemas: ArchivedSchemasJson | None
    notes: list[str]
    safe_to_delete: SafeToDeleteJson | None
    """The answer to `--topics`."""
    partitions: list[ArchivedPartitionJson]


@shape
class ArchivedRowJson(TypedDict):
    """A partition in a run of an archive."""

    topic: str
    partition: int
    state: str
    archived_to: int
    stable_end: int
    """Last stable offset of the source."""
    lag: int
    segments: int
    """Number of segments that the run wrote."""
    records: int
    bytes: int
    trouble: dict[str, Any] | None
    """A `code`, and its values by name."""


@shape
class ArchiveRunJson(TypedDict):
    """Output of `towpath archive run FILE --output json`, and of its `--report`."""

    archive: str
    seconds: float
    stopped: bool
    """Whether the user stopped it."""
    complete: bool
    """Whether nothing was left out, and nothing is in trouble."""
    version: int
    segments: int
    """Number of segments that the run wrote."""
    records: int
    bytes: int
    lag: int
    """Number of offsets at the source that are not archived."""
    exposed_seconds: float
    left_out: list[str]
    trouble: str
    notes: list[str]
    partitions: list[ArchivedRowJson]


@shape
class SegmentDigestJson(TypedDict):
    """Digest of the records of a segment, in hexadecimal digits."""

    records: int
    unordered: str
    ordered: str


@shape
class SegmentPlaceJson(TypedDict):
    """The object that holds a segment."""

    key: str
    size: int
    """Bytes of the object."""
    first_row_group: int
    row_groups: int
    storage_class: str
    crc: int | None
    """CRC-32C of the object."""


@shape
class SegmentJson(TypedDict):
    """A range of offsets in the archive."""

    cluster: str
    """Id of the source cluster."""
    topic_id: str
    topic: str
    partition: int
    level: int
    """0 as archived, or the level of the compaction that wrote it."""
    start: int
    """First offset of the range."""
    end: int
    """The offset after the range."""
    raw_bytes: int
    """Bytes of the records, uncompressed."""
    first: int | None
    """Offset of the first record."""
    last: int | None
    """Offset of the last record."""
    min_time: int | None
    """Lowest timestamp of a record, in ms since 1970."""
    max_time: int | None
    """Highest timestamp of a record, in ms since 1970."""
    digest: SegmentDigestJson
    gaps: GapsJson
    format: str
    place: SegmentPlaceJson | None
    """`null` for a range without records."""
    created: int
    """When it was written, in ms since 1970."""
    history: int
    """0, or the number of times that the log was cut at the source before."""


@shape
class SegmentsJson(TypedDict):
    """Output of `towpath archive ls FILE --output json`."""

    segments: list[SegmentJson]


@shape
class ShownSegmentJson(SegmentJson):
    """A segment, as its log entry and its object describe it."""

    object_says_the_same: bool


@shape
class ShownObjectJson(TypedDict):
    """Output of `towpath archive show FILE KEY --output json`."""

    segments: list[ShownSegmentJson]


@shape
class SubjectConfigJson(TypedDict):
    """Settings of an archived subject; those that were not set are absent."""

    mode: NotRequired[str]
    compatibility: NotRequired[str]
    normalize: NotRequired[bool]
    more: NotRequired[str]
    """Further settings, as JSON text."""


@shape
class SchemaVersionJson(TypedDict):
    """A version of an archived subject."""

    version: int
    id: int | str
    type: NotRequired[str]
    """Absent for Avro."""
    schema: NotRequired[str]
    """Its text, where one subject was asked for."""
    references: NotRequired[list[list[Any]]]
    metadata: NotRequired[str]
    rules: NotRequired[str]
    deleted: NotRequired[bool]
    """Whether it is deleted in the registry, and could be restored there."""
    gone: NotRequired[bool]
    """Whether the registry no longer has it."""


@shape
class ArchivedSubjectJson(TypedDict):
    """An archived subject."""

    config: NotRequired[SubjectConfigJson]
    versions: list[SchemaVersionJson]


@shape
class ShownSchemasJson(TypedDict):
    """Output of `towpath archive show FILE schemas --output json`."""

    registry: str
    version: int
    """The version of the archive."""
    time: int
    """When that version was written, in ms since 1970."""
    subjects: dict[str, ArchivedSubjectJson]


ShownJson = ShownObjectJson | ShownSchemasJson
"""Output of `towpath archive show FILE --output json`."""
