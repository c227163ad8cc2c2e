"""The records of a link in its cutover: how the rest is copied, and how equality is proven."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Protocol

from towpath.cluster.data.client import Client
from towpath.cluster.metadata import every_partition
from towpath.engine.starting import Starting
from towpath.groups.cut_sync import CutSync
from towpath.groups.sync import GroupSync
from towpath.ledger.entries import Cut
from towpath.ledger.link import OpenLink
from towpath.ledger.transformed import PositionsTopic
from towpath.mirror.cutover.cuts import cuts, cuts_through_query
from towpath.mirror.run.progress import RunProgress, Wishes
from towpath.mirror.run.run import run
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.transform.frames import TransformFrames, known_as
from towpath.mirror.transform.proof import verify as through_query
from towpath.mirror.transform.run import begin
from towpath.mirror.transform.run import run as transform
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.verdict import PartitionVerdict
from towpath.mirror.verify.verify import verify
from towpath.model.nouns import Side, TopicPartition
from towpath.plan.lease import Lease
from towpath.settings import LinkConfig

_CLIENTS = "that clients wrote behind the cutover before"
_ROUTED = "of other topics, as the query may send them there"


class LinkRecords(Protocol):
    """Protocol of what a cutover does with the records of a link."""

    def prepare(self, link: OpenLink) -> None:
        """Create the ledger, and what else keeps track of records, unless they exist."""
        ...

    def drain(
        self,
        wishes: Wishes,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        lease: Lease,
    ) -> RunProgress:
        """Copy until nothing is left to be copied."""
        ...

    def compare(self, scope: Scope, stop: threading.Event) -> tuple[PartitionVerdict, ...]:
        """Compare both clusters."""
        ...

    def cuts(
        self,
        link: OpenLink,
        rows: Iterable[PartitionStatus],
        verdicts: Iterable[PartitionVerdict],
    ) -> list[Cut]:
        """Return the ledger entries of the cutover."""
        ...

    def groups(
        self,
        link: OpenLink,
        may_skip: Collection[str],
        verdicts: Iterable[PartitionVerdict],
        spark: Starting,
    ) -> GroupSync:
        """Return what lets groups go on on the target.

        Args:
            link: The link.
            may_skip: Groups that are meant to pass over what they have not read.
            verdicts: The results of the comparison.
            spark: Spark.
        """
        ...


def records_of(config: LinkConfig, file: Path) -> LinkRecords:
    """Return how the records of a link are cut over.

    Args:
        config: The link.
        file: Its file, for problems of a query.
    """
    return CopiedRecords(config) if config.transforms is None else QueriedRecords(config, file)


class CopiedRecords:
    """Records that are copied in whole batches; see `LinkRecords`.

    Args:
        config: The link.
    """

    def __init__(self, config: LinkConfig) -> None:
        self._config = config

    def prepare(self, link: OpenLink) -> None:
        """Create the ledger."""
        link.prepare()

    def drain(
        self,
        wishes: Wishes,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        lease: Lease,
    ) -> RunProgress:
        """Copy until nothing is left to be copied."""
        return run(self._config, wishes, spark, stop, show, lease)

    def compare(self, scope: Scope, stop: threading.Event) -> tuple[PartitionVerdict, ...]:
        """Compare record by record, along the offset map."""
        return verify(self._config, scope, _nothing, stop)

    def cuts(
        self,
        link: OpenLink,
        rows: Iterable[PartitionStatus],
        verdicts: Iterable[PartitionVerdict],
    ) -> list[Cut]:
        """Return an entry for each partition that was opened."""
        clients = {TopicPartition(each.topic, each.partition) for each in verdicts if each.clients}
        return cuts(link.name, rows, clients)

    def groups(
        self,
        link: OpenLink,
        may_skip: Collection[str],
        verdicts: Iterable[PartitionVerdict],
        spark: Starting,
    ) -> GroupSync:
        """Return what translates positions by the offset map."""
        del may_skip, verdicts, spark
        return GroupSync(link)


class QueriedRecords:
    """Records that go through a query; see `LinkRecords`.

    Args:
        config: The link.
        file: Its file.
    """

    def __init__(self, config: LinkConfig, file: Path) -> None:
        self._config, self._file = config, file

    def prepare(self, link: OpenLink) -> None:
        """Create the ledger and the topic of positions."""
        link.look()
        with Client(self._config.target, Side.TARGET, link.target) as client:
            begin(link, PositionsTopic(link.target, client, self._config.link))

    def drain(
        self,
        wishes: Wishes,
        spark: Starting,
        stop: threading.Event,
        show: Callable[[RunProgress], None],
        lease: Lease,
    ) -> RunProgress:
        """Send records through the query until nothing is left to be read."""
        return transform(self._config, self._file, wishes, spark, stop, show, lease)

    def compare(self, scope: Scope, stop: threading.Event) -> tuple[PartitionVerdict, ...]:
        """Send records through the query again, and compare what it makes, in order."""
        return through_query.verify(self._config, self._file, scope, _nothing, stop)

    def cuts(
        self,
        link: OpenLink,
        rows: Iterable[PartitionStatus],
        verdicts: Iterable[PartitionVerdict],
    ) -> list[Cut]:
        """Return an entry for each number of a source partition, or of one of a mirror topic."""
        names = {row.target_topic for row in rows}
        tps = every_partition(link.target.topics.describe(names))
        ends = link.target.offsets.latest(tps)
        clients = {each.target_topic for each in verdicts if each.clients}
        link.look()
        return cuts_through_query(link.books, rows, {tp: ends.sure(tp) for tp in tps}, clients)

    def groups(
        self,
        link: OpenLink,
        may_skip: Collection[str],
        verdicts: Iterable[PartitionVerdict],
        spark: Starting,
    ) -> GroupSync:
        """Return what lets groups that have read everything go on where mirror topics end."""
        given = [*verdicts]
        others = dict.fromkeys((each.target_topic for each in given if each.clients), _CLIENTS)
        mirrors = {each.target_topic for each in given}
        if len(mirrors) > 1 and self._routes(link, spark):
            others = {name: others.get(name, _ROUTED) for name in mirrors}
        return CutSync(link, may_skip=may_skip, others=others)

    def _routes(self, link: OpenLink, spark: Starting) -> bool:
        """Return whether a query may have sent records to the mirror topic of another topic."""
        wanted = self._config.transforms
        assert wanted is not None  # noqa: S101, by `records_of`
        with Client(self._config.target, Side.TARGET, link.target) as client:
            known = PositionsTopic(link.target, client, self._config.link).seen()
        if any(each.query_texts - {known_as(wanted)} for each in known.values()):
            return True
        return TransformFrames(spark.result(), self._config, self._file).doubts().routes


def _nothing(_done: int, _of: int) -> None:
    """Show no progress."""
