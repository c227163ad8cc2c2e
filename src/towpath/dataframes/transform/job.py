"""One batch of a link whose records go through Spark. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin.transactions import ProducerEpoch
from towpath.dataframes.ranges import OffsetRange
from towpath.dataframes.sink.options import SinkOptions
from towpath.ledger.transformed import TransformedPosition
from towpath.model.nouns import LinkName
from towpath.settings import ClusterConfig

NOBODY = ProducerEpoch(-1, -1)


@dataclass(frozen=True, slots=True)
class TransformRange:
    """The offsets of a source partition that one task reads, transforms and writes.

    Attributes:
        part: The offsets.
        before: The position up to now, with its counts.
        who: The producer of the transaction, which the driver has fenced others with.
        planned: The position that the driver has read, before what the source had deleted; -1 if
            there was none.
    """

    part: OffsetRange
    before: TransformedPosition
    who: ProducerEpoch = NOBODY
    planned: int = -1


@dataclass(frozen=True, slots=True)
class TransformJob:
    """A batch: one range of offsets for each task.

    Attributes:
        link: The link.
        source: The cluster to read from.
        sink: What is written, and how.
        ranges: One for each task, in order.
        names: The mirror topic of each source topic.
        query: What the query is known by; another one is another query.
        proves: Whether nothing is written, and the rows are compared with what was written.
    """

    link: LinkName
    source: ClusterConfig
    sink: SinkOptions
    ranges: tuple[TransformRange, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    proves: bool = False

    def query_for(self, partitions: int) -> str:
        """Return what the query is known by where the mirror topic has so many partitions.

        Where keys go depends on their number.
        """
        return f"{self.query}/{partitions}"
