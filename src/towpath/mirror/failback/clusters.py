"""Access to both clusters of a link; a failback may read and write either one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.data.committed import CommittedReader
from towpath.ledger.link import OpenLink
from towpath.model.nouns import ClusterId, Side, TopicPartition
from towpath.settings import ClusterConfig
from towpath.wire import plain
from towpath.wire.header import BatchHeader


@dataclass(frozen=True, slots=True)
class OpenCluster:
    """One cluster of a link, with its open clients.

    Attributes:
        side: Which one.
        where: Where it is.
        admin: What asks it.
        client: What reads and writes records.
    """

    side: Side
    where: ClusterConfig
    admin: Admin
    client: Client

    @property
    def id(self) -> ClusterId:
        """The id of the cluster.

        Raises:
            ClusterError: It cannot be asked.
        """
        return self.admin.cluster.id()

    def records(self, tp: TopicPartition, first: int, end: int) -> Iterator[plain.Record]:
        """Yield the committed records with offsets in [first, end).

        Raises:
            ClusterError: They cannot be read.
            CorruptBatchError: A batch is damaged.
        """
        reader = CommittedReader(self.admin, self.client, tp, at=first, side=self.side)
        for record in reader.read() if first < end else ():
            if record.offset >= end:
                return
            yield record

    def behind(self, tp: TopicPartition, first: int, end: int, number: int) -> int:
        """Return the offset after the first `number` committed records in [first, end).

        Raises:
            ClusterError: They cannot be read.
            CorruptBatchError: A batch is damaged.
        """
        at = first
        for record in islice(self.records(tp, first, end), number):
            at = record.offset + 1
        return at

    def count(self, tp: TopicPartition, first: int, end: int) -> int:
        """Count the committed records in [first, end). Reads all bytes, unpacks almost none.

        Raises:
            ClusterError: They cannot be read.
            CorruptBatchError: A batch is damaged.
        """
        number = 0
        reader = CommittedReader(self.admin, self.client, tp, at=first, side=self.side)
        for batch, _ in reader.batches() if first < end else ():
            header = BatchHeader.read(batch)
            if header.base_offset >= end:
                break
            last = header.base_offset + header.last_offset_delta
            if header.base_offset >= first and last < end:
                number += header.count
            else:
                number += sum(first <= each.offset < end for each in plain.decode(batch))
        return number


@dataclass(frozen=True, slots=True)
class BothClusters:
    """The source and the target of a link, both open."""

    source: OpenCluster
    target: OpenCluster

    def of(self, side: Side) -> OpenCluster:
        """Return the cluster of a side."""
        return self.source if side is Side.SOURCE else self.target


@contextmanager
def both_clusters(link: OpenLink) -> Iterator[BothClusters]:
    """Open clients of both clusters of an open link, which are closed at the end.

    Connections are made on first use.
    """
    config = link.config
    sides = (
        (Side.SOURCE, config.source, link.source),
        (Side.TARGET, config.target, link.target),
    )
    with ExitStack() as stack:
        yield BothClusters(
            *(
                OpenCluster(
                    side,
                    where,
                    admin,
                    stack.enter_context(Client(where, side, admin)),
                )
                for side, where, admin in sides
            )
        )
