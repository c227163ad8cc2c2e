"""Types of the JSON of commands that change an archive: `compact`, `prune`, `forget` and others."""

from __future__ import annotations

from typing_extensions import TypedDict

from towpath.model.json_shapes import shape


@shape
class TidiedJson(TypedDict):
    """Objects that were deleted, and those that were not."""

    objects_deleted: int
    """Number of deleted objects whose segments were replaced."""
    objects_waiting: int
    """Number of such objects that are kept for now."""
    orphans_deleted: int
    """Number of deleted objects that dead writers left."""
    orphan_bytes: int
    orphans_unsettled: int
    """Number of objects in no entry that are young, or may still be committed."""
    orphans_unreadable: list[str]
    """Keys of objects in no entry that cannot be read."""
    orphans_stranded: list[str]
    """Keys of objects in no entry that hold what the archive lacks."""
    uploads_aborted: int
    """Number of removed unfinished uploads."""


@shape
class FailedMergeJson(TypedDict):
    """A partition with merges that failed."""

    partition: str
    why: str


@shape
class CompactionJson(TidiedJson):
    """Output of `towpath archive compact FILE --output json`, and of its `--report`."""

    archive: str
    seconds: float
    stopped: bool
    """Whether the user stopped it."""
    unanswered: str
    """Why work did not end when the user stopped it, "" if it did."""
    complete: bool
    version: int
    """The newest version of the archive."""
    segments_read: int
    """Number of merged segments."""
    segments_written: int
    """Number of segments that they became."""
    bytes: int
    records: int
    redundant: int
    """Number of merges whose segments another process had replaced or removed."""
    failed: list[FailedMergeJson]


@shape
class PrunedPartitionJson(TypedDict):
    """A partition whose oldest segments are removed."""

    topic: str
    topic_id: str
    partition: int
    history: int
    """0, or the number of times that the log was cut at the source before."""
    begin: int
    """The first archived offset before."""
    end: int
    """The first archived offset afterwards."""
    archived_to: int
    """The offset up to which it is archived."""
    segments: int
    """Number of removed segments."""
    records: int
    bytes: int
    newest: int | None
    """Highest timestamp of a removed record, in ms since 1970."""


class _PruneJson(TypedDict):
    archive: str
    version: int
    pruned: bool
    """Whether it was done, or only shown."""
    segments: int
    """Number of removed segments."""
    records: int
    bytes: int
    partitions: list[PrunedPartitionJson]


@shape
class PlannedPruneJson(_PruneJson):
    """Output of `towpath archive prune FILE --output json` without `--yes`."""


@shape
class DonePruneJson(_PruneJson, TidiedJson):
    """Output of `towpath archive prune FILE --yes --output json`, and of its `--report`."""


PruneJson = PlannedPruneJson | DonePruneJson
"""Output of `towpath archive prune FILE --output json`, and of its `--report`."""


@shape
class ForgottenPartitionJson(TypedDict):
    """A partition with records of the key."""

    topic: str
    partition: int
    records: int


@shape
class FailedObjectJson(TypedDict):
    """An object that could not be used."""

    object: str
    """Its key."""
    why: str


class _ForgetJson(TypedDict):
    archive: str
    version: int
    """The newest version of the archive."""
    written: bool
    """Whether records were to be erased, or only looked for."""
    stopped: bool
    """Whether the user stopped it."""
    unanswered: str
    """Why work did not end when the user stopped it, "" if it did."""
    complete: bool
    segments_looked_at: int
    segments: int
    """Number of segments with records of the key."""
    records: int
    """Number of records of the key."""
    erased: int
    """Number of erased records."""
    partitions: list[ForgottenPartitionJson]
    failed: list[FailedObjectJson]
    replaced_objects_left: int
    """Number of replaced objects that may still hold such records."""
    readers: int
    """Number of registered readers that they are kept for."""


@shape
class LookedForgetJson(_ForgetJson):
    """Output of `towpath archive forget FILE KEY --output json` where nothing was deleted."""


@shape
class DoneForgetJson(_ForgetJson, TidiedJson):
    """Output of `towpath archive forget FILE KEY --yes --output json`, and of its `--report`."""


ForgetJson = LookedForgetJson | DoneForgetJson
"""Output of `towpath archive forget FILE KEY --output json`, and of its `--report`."""


@shape
class FoundSegmentJson(TypedDict):
    """A segment in an object that no entry of the commit log names."""

    object: str
    """Key of the object."""
    topic: str
    topic_id: str
    partition: int
    history: int
    """0, or the number of times that the log was cut at the source before."""
    start: int
    """First offset of its range."""
    end: int
    """The offset after its range."""
    records: int
    verdict: str
    """Whether it is taken in."""
    gap: int
    """Number of lost offsets before it."""
    why: str
    """Why it is not taken in, "" if it is."""


@shape
class RecoveryJson(TypedDict):
    """Output of `towpath archive recover FILE --output json`, and of its `--report`."""

    archive: str
    version: int
    recovered: bool
    """Whether it was done, or only shown."""
    complete: bool
    taken: int
    """Number of segments that are taken in."""
    records: int
    """Number of their records."""
    lost: int
    """Number of offsets that become gaps."""
    refused: int
    """Number of segments that cannot be taken in."""
    spare: int
    """Number of segments that the archive holds elsewhere."""
    unreadable: list[FailedObjectJson]
    segments: list[FoundSegmentJson]


@shape
class TableChangesJson(TypedDict):
    """Numbers of changed files of a table."""

    added: int
    removed: int


@shape
class RegisteredTableJson(TypedDict):
    """The table of a topic."""

    topic: str
    table: str
    files: int
    """Number of its files."""
    records: int
    changes: TableChangesJson
    copies: int
    """Number of new or changed files that are copies."""
    skipped: int
    """Number of segments of whole batches, which no table can have."""
    skipped_records: int
    """Number of their records."""
    why: str
    """Why it could not be registered, "" if it was."""


@shape
class RegistrationJson(TypedDict):
    """Output of `towpath archive register FILE --output json`."""

    version: int
    """The version of the archive."""
    complete: bool
    tables: list[RegisteredTableJson]
