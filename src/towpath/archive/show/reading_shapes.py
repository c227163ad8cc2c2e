"""Types of the JSON of commands that read an archive, and of the import from kafka-replicator."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from towpath.cli.show.shapes import EventJson
from towpath.model.json_shapes import shape


@shape
class LifeJson(TypedDict):
    """A topic from its creation to its deletion."""

    topic: str
    id: str
    latest: bool
    """Whether it is the latest life of its name."""
    partitions: int
    records: int
    filtered: int
    """Number of offsets that were left out."""
    begun: str | None
    """When its first segment was archived."""
    seen: str
    """When it was seen last at the source."""
    first: str | None
    """The lowest timestamp of a record."""
    last: str | None
    """The highest timestamp of a record."""


@shape
class LivesJson(TypedDict):
    """Output of `towpath archive lives FILE --output json`; times as text."""

    lives: list[LifeJson]


@shape
class ArchiveEventsJson(TypedDict):
    """Output of `towpath archive events FILE --output json`."""

    archive: str
    earlier: int
    """Number of earlier events that are not shown."""
    unreadable: int
    """Number of events that this version cannot read."""
    events: list[EventJson]


@shape
class QueryRowsJson(TypedDict):
    """Output of `towpath archive query FILE SQL --output json`, and of its `--report`."""

    version: int
    """The version of the archive."""
    time: int
    """When that version was written, in ms since 1970."""
    engine: str
    """`duckdb` or `spark`."""
    more: bool
    """Whether the query has more rows than `--limit`."""
    columns: list[str]
    rows: list[dict[str, Any]]
    """Values by column; bytes as text, or as `0x` and digits."""


@shape
class ArchiveProblemJson(TypedDict):
    """A fault of an archive."""

    code: str
    """A code that `towpath explain` explains."""
    about: str
    """A key, or a partition."""
    why: str


@shape
class CheckedPartitionJson(TypedDict):
    """A partition whose objects were read."""

    topic: str
    topic_id: str
    partition: int
    history: int
    """0, or the number of times that the log was cut at the source before."""
    segments: int
    records: int
    compared: int
    """Number of records that are the same at the source."""
    gone_at_source: int
    """Number of archived records that the source no longer has."""
    uncompared: str
    """Why it was not compared with the source, "" if it was."""


@shape
class CheckedArchiveJson(TypedDict):
    """Output of `towpath archive verify FILE --output json`, and of its `--report`."""

    archive: str
    whole: bool
    """Whether something was looked at, and no problem found."""
    version: int
    seconds: float
    deep: bool
    """Whether objects were read."""
    against_source: bool
    sample_percent: float
    sample_seed: int | None
    entries: int
    """Number of entries of the commit log."""
    unsummed_entries: int
    """Number of entries without a checksum of their own."""
    unsummed_checkpoints: int
    segments: int
    objects: int
    bytes: int
    unsummed_objects: int
    """Number of objects whose checksum is not known."""
    orphans: int | None
    """Number of objects in no entry, `null` if nobody looked."""
    orphan_bytes: int | None
    orphan_keys: list[str]
    """Their keys; not all if there are many."""
    stranded: list[str]
    """Keys of objects in no entry that hold what the archive lacks."""
    problems: list[ArchiveProblemJson]
    notes: list[str]
    partitions: list[CheckedPartitionJson]


@shape
class DoubtsJson(TypedDict):
    """Numbers of facts that kafka-replicator's files leave open."""

    empty_keys: int
    empty_values: int
    empty_header_values: int
    no_time: int
    """Number of records without a timestamp."""


@shape
class ImportedPartitionJson(TypedDict):
    """An imported partition."""

    topic: str
    partition: int
    cluster: str
    topic_id: str
    begin: int
    """First offset in the bucket."""
    end: int
    """The offset after the last one in the bucket."""
    imported_to: int
    """The offset up to which it is imported."""
    records: int
    """Number of records that were imported now."""
    overlapping: int
    """Number of offsets that several objects hold."""
    holes: list[list[int]]
    """First offset of a hole, and the offset after it."""
    lost: int
    """Number of offsets in holes of more than one offset."""
    why: str
    """Why the rest was not imported, "" if all was."""


@shape
class ImportJson(TypedDict):
    """Output of `towpath import kafka-replicator FILE --output json`, and of its `--report`."""

    region: str
    """The region of kafka-replicator."""
    version: int
    """The version of the archive."""
    complete: bool
    empty_keys_became: str
    empty_values_became: str
    doubts: DoubtsJson
    passed_over: int
    """Number of objects that are no segments."""
    partitions: list[ImportedPartitionJson]
