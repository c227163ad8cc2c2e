"""Types of the JSON output of `towpath verify`, from which its schema is made (docs/output)."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from towpath.mirror.show.shapes import AtRiskJson, DeletedJson
from towpath.mirror.show.status_shapes import OpenTransactionJson
from towpath.model.json_shapes import shape


@shape
class WriterJson(TypedDict):
    """Records in a mirror topic that the link did not write."""

    link: str | None
    """The link that wrote them, if it is known."""
    producer: int
    """The producer id, -1 for producers without one, and for links."""
    records: int


@shape
class GoneJson(TypedDict):
    """Records that are missing on either side."""

    target: DeletedJson | None
    source: int
    """On the target only, as the source has deleted them."""
    both: int | None
    """Copied, and gone on both sides; `null` if unknown."""
    compacted_target: int
    compacted_source: int
    cleaned: DeletedJson | None
    """Removed by the cleaner of the target alone."""


@shape
class DigestJson(TypedDict):
    """Digest of the records of one side; the same numbers mean the same records."""

    records: int
    ordered: str
    unordered: str


@shape
class DifferenceJson(TypedDict):
    """The first difference; an offset is -1 on a side without one."""

    source_offset: int
    target_offset: int
    what: str


@shape
class StretchJson(TypedDict):
    """Target offsets [first, end) that repeat earlier records."""

    first: int
    end: int
    records: int


@shape
class ComparedPartitionJson(TypedDict):
    """A compared partition; the optional keys are absent if nothing was compared."""

    topic: str
    partition: int
    target_topic: str
    mode: str
    verdict: str
    why: str
    """Why it is not equal, "" if it is."""
    codes: list[str]
    """Codes that `towpath explain` explains."""
    behind: int
    """Number of source offsets that are not copied yet."""
    notes: list[str]
    others: list[WriterJson]
    clients: list[WriterJson]
    """Who wrote after a cutover."""
    gone: GoneJson
    open_transaction: OpenTransactionJson | None
    """Behind it nothing is copied or compared."""
    first: NotRequired[int]
    """First source offset of the compared range."""
    end: NotRequired[int]
    """The source offset after the compared range."""
    source_digest: NotRequired[DigestJson]
    target_digest: NotRequired[DigestJson]
    difference: NotRequired[DifferenceJson | None]
    equal: NotRequired[int]
    """Records that are the same on both sides."""
    unopened: NotRequired[int]
    """The part of the equal ones whose batches have the same bytes."""
    changed: NotRequired[int]
    """Records on both sides that differ."""
    missing: NotRequired[int]
    """Records on the source only."""
    extra: NotRequired[int]
    """Records of the link on the target only."""
    compacted: NotRequired[int]
    """Records on one side only, as compaction removed them on the other."""
    compacted_there: NotRequired[int]
    deleted: NotRequired[int]
    """Records on the source only, as the target deleted them."""
    due: NotRequired[int]
    """The part of these that the source's own retention deletes soon."""
    expired: NotRequired[int]
    """Records on the target only, as the source deleted them."""
    replaced: NotRequired[int]
    """Records on the target only, copied before the source log was truncated."""
    foreign: NotRequired[int]
    """Records of other producers on the target."""
    untimed: NotRequired[int]
    """Records compared without timestamps, as the target sets them."""
    twin: NotRequired[int]
    """Records on the source that the twin of the link wrote, so that they were left out."""
    uncommitted: NotRequired[int]
    """Records on the target in aborted transactions."""
    doubled: NotRequired[int]
    doubled_stretches: NotRequired[list[StretchJson]]
    beyond: NotRequired[int]
    """Records of the link after the copied ones."""
    changes: NotRequired[dict[str, int]]
    """What changes did to records, by kind."""


@shape
class IdAnswerJson(TypedDict):
    """A schema id in the records of a mirror topic, and the answers of both registries."""

    topic: str
    target_topic: str
    part: str
    """`key` or `value`."""
    id: int | str
    source_ids: list[int | str]
    verdict: str
    why: str
    records: int
    partition: int
    """Partition of the first record with the id."""
    offset: int
    """Its offset on the target."""


@shape
class SchemaProofJson(TypedDict):
    """The comparison of schema ids (`--schemas`)."""

    equal: bool
    records: int
    """Number of records that were looked at."""
    one_in: int
    seed: int
    ids: list[IdAnswerJson]
    holes: list[str]
    """What could not be proven."""
    notes: list[str]
    requests: int


@shape
class VerifyJson(TypedDict):
    """Output of `towpath verify FILE --output json`, and of its `--report`."""

    link: str
    equal: bool
    """Whether at least one partition was compared, and all are equal."""
    seconds: float
    sample_seed: int | None
    bytes: int
    records: int
    """Number of equal records."""
    behind: int
    unstable: int
    """Number of source offsets behind open transactions, which nobody compares before they end."""
    deleted: int
    at_risk: list[AtRiskJson]
    partitions: list[ComparedPartitionJson]
    schemas: NotRequired[SchemaProofJson]
