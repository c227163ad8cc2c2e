"""The work of a restore slice, as frozen values that pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.archive.model import PartitionId
from towpath.archive.read.feed.keyed_layout import KeyedLayout
from towpath.archive.read.feed.late_parts import LatePolicy
from towpath.model.nouns import ClusterId, SourceOffset, TopicPartition
from towpath.records.work import Slice
from towpath.settings import StoreConfig
from towpath.wire.codec import LZ4

RESTORE = "restore"
"""The kind of work of a restore: mirrors and restores do not refuse each other."""
_ARCHIVE = "archive:"


def archived(region: str) -> ClusterId:
    """Return the id that represents the archive of a region as a source in the ledger."""
    return ClusterId(f"{_ARCHIVE}{region}")


def archived_region(cluster: ClusterId) -> str:
    """Return the region of the archive that a ledger's source id represents, "" for none."""
    return cluster.removeprefix(_ARCHIVE) if cluster.startswith(_ARCHIVE) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRange:
    """The offsets [start, end) of one archived partition to restore.

    Attributes:
        partition: The archived partition.
        start: The first offset.
        end: The offset behind the last one.
        codec: Codec of batches that are made of rows.
        batch_bytes: Uncompressed bytes of such a batch at most.
    """

    partition: PartitionId
    start: SourceOffset
    end: SourceOffset
    codec: int = LZ4
    batch_bytes: int = 512 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRange:
    """The records of a topic whose keys belong to one target partition.

    Attributes:
        layout: How records are placed.
        number: The partition of the target.
        codec: Codec of the batches.
        batch_bytes: Uncompressed bytes of a batch at most.
    """

    layout: KeyedLayout
    number: int
    codec: int = LZ4
    batch_bytes: int = 512 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSlice(Slice):
    """A slice of partitions to restore.

    Attributes:
        store: Where the archive is.
        region: The region whose archive it is.
        ranges: What is restored, by the archived topic and the partition of the target.
        late: What is done about missing parts.
        looked: How often late parts were looked for by slices before, by partition.
        follow: Whether the slice goes on with what is added to the archive. The ranges then say
            where partitions begin, and the log where they end.
    """

    store: StoreConfig
    region: str
    ranges: Mapping[TopicPartition, ArchivedRange | KeyedRange] = field(default_factory=dict)
    late: LatePolicy = LatePolicy()  # noqa: RUF009  # it is frozen
    looked: Mapping[TopicPartition, int] = field(default_factory=dict)
    follow: bool = False
