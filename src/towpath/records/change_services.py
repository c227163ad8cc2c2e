"""Services for lanes beside their records: schema id decisions, the quarantine, and the twin.

All are asked by way of a `Wait` in the queue of the lane, so only that lane waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from towpath.model.changes import RecordChange, RecordOrigin
from towpath.model.nouns import NO_CLUSTER, NO_LINK, ClusterId, LinkName, ProducerId
from towpath.records.work import Assignment, Slice

if TYPE_CHECKING:
    from towpath.wire.change import Aside, UnknownId
    from towpath.wire.ids import IdTable

Ready = Callable[[], bool]
"""Whether something has happened. Blocking, with a time limit of its own. A `TowpathError` stops
the partition, unless it is a `ClusterError` that passes."""


class IdSource(Protocol):
    """Protocol of a source of schema id decisions, which are durable and never change."""

    def table(self, a: Assignment, change: RecordChange) -> IdTable:
        """Return the known schema id decisions for a partition, without blocking.

        The same object comes back while there is nothing new.

        Args:
            a: The partition.
            change: The change that needs them, which may be an older one than that of the file.
        """

    def want(self, a: Assignment, change: RecordChange, unknown: Sequence[UnknownId]) -> Ready:
        """Request decisions about schema ids, without blocking.

        Returns:
            Whether `table` has all of them. It is asked again until then, also beyond the end of a
            run, so it must end the wait by itself: by a decision, or by an error that stops the
            partition.
        """


class TwinSource(Protocol):
    """Protocol for finding out, in the source's ledger, whether the twin wrote a batch."""

    def wrote(self, a: Assignment, producer: ProducerId) -> bool | None:
        """Return whether the twin of a partition writes under a private producer id.

        Returns:
            `None` if nothing is known of the id. Nothing blocks.
        """

    def want(self, a: Assignment, producers: Sequence[ProducerId]) -> Ready:
        """Return a check that reads the ledger until all these producer ids are known."""


class Quarantine(Protocol):
    """Protocol of a quarantine for records that cannot be changed."""

    def take(self, a: Assignment, records: Sequence[Aside]) -> Ready:
        """Queue records of a partition for the quarantine, without blocking.

        Returns:
            Whether all of them are durable. A record may come again after a crash.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeServices:
    """The services that the lanes of one slice share: schema ids, quarantine, and the twin.

    Attributes:
        link: The link.
        source_cluster: The id of the source cluster.
        target_cluster: The id of the target cluster.
        ids: Decisions about schema ids, `None` if no lane changes ids.
        quarantine: Takes records; if `None`, a lane stops at a record that should go there.
        twins: Tells which batches the twin wrote, `None` if the link has none.
    """

    link: LinkName
    source_cluster: ClusterId = NO_CLUSTER
    target_cluster: ClusterId = NO_CLUSTER
    ids: IdSource | None = None
    quarantine: Quarantine | None = None
    twins: TwinSource | None = None

    @classmethod
    def of(
        cls, work: Slice, ids: IdSource | None = None, quarantine: Quarantine | None = None
    ) -> ChangeServices:
        """Return the services for the lanes of a slice."""
        return cls(
            link=work.link,
            source_cluster=work.source_cluster,
            target_cluster=work.target_cluster,
            ids=ids,
            quarantine=quarantine,
        )

    def origin(self, a: Assignment) -> RecordOrigin:
        """Return the source and target of a partition's records, for quarantine keys."""
        return RecordOrigin(
            link=self.link,
            topic=a.source.topic,
            partition=a.source.partition,
            source_cluster=self.source_cluster,
            target_cluster=self.target_cluster,
        )


NOTHING = ChangeServices(link=NO_LINK)
