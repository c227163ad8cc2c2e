"""The order and placement of archived records that are partitioned by key. Pure.

A partition of the target has one lane, which reads all archived partitions, one behind the other,
and takes the records whose keys belong there. Positions of the lane count through all of them.

Partitions are passed twice. When a topic got more partitions, keys moved: their older records are
in partitions where their keys do not belong any more. These come first, those at home afterwards.
So records of a key keep their order, if the topic was expanded once, or each time to a multiple,
and keys were placed by Java's default partitioner all the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from towpath.archive.model import PartitionId
from towpath.model.nouns import SourceOffset, TopicId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPass:
    """One pass over the archived offsets [start, end) of a partition.

    Attributes:
        source: The archived partition.
        start: The first offset.
        end: The offset behind the last one.
        at: The position of `start` among all that the lane reads.
        moved: Whether records are taken whose keys moved to other partitions, or those at home.
    """

    source: PartitionId
    start: SourceOffset
    end: SourceOffset
    at: SourceOffset
    moved: bool

    @property
    def stop(self) -> SourceOffset:
        """The position after the pass's last offset."""
        return self.position(self.end)

    def position(self, offset: int) -> SourceOffset:
        """Convert an archived offset to a position in the layout."""
        return SourceOffset(self.at + offset - self.start)

    def offset(self, position: int) -> SourceOffset:
        """Convert a position in the layout to an archived offset."""
        return SourceOffset(self.start + max(0, position - self.at))


@dataclass(frozen=True)
class KeyedLayout:
    """The placement of a topic's records by their keys.

    Attributes:
        stretches: What each lane reads, in this order.
        before: How many partitions the topic had in the archive.
        count: How many partitions it gets.
    """

    stretches: tuple[KeyPass, ...]
    before: int
    count: int

    @classmethod
    def of(
        cls,
        parts: Sequence[tuple[PartitionId, SourceOffset, SourceOffset]],
        before: int,
        count: int,
    ) -> KeyedLayout:
        """Make the layout for archived partitions, each with its first offset and its end."""
        return cls(tuple(_stretches(parts)), before, count)

    @property
    def end(self) -> SourceOffset:
        """The position after the layout's last offset."""
        return self.stretches[-1].stop if self.stretches else SourceOffset(0)

    @cached_property
    def topic_id(self) -> TopicId:
        """The topic id that identifies the layout in the ledger.

        It is another one if anything in the layout is different, as positions mean something else
        then.
        """
        told = repr((self.stretches, self.before, self.count)).encode()
        return TopicId(str(UUID(bytes=hashlib.sha256(told).digest()[:16])))

    def id_of(self, number: int) -> PartitionId:
        """Return the ledger's partition id for the records of one partition of the target."""
        return self.stretches[0].source._replace(topic_id=self.topic_id, partition=number)


def _stretches(
    parts: Sequence[tuple[PartitionId, SourceOffset, SourceOffset]],
) -> Iterator[KeyPass]:
    at = SourceOffset(0)
    ordered = sorted(parts, key=lambda part: part[0].partition)
    for moved in (True, False):
        for source, start, end in ordered:
            made = KeyPass(source=source, start=start, end=end, at=at, moved=moved)
            at = made.stop
            yield made
