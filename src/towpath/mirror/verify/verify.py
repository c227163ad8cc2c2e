"""`towpath verify`: compare source and target record by record, along the ledger's offset map."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare.work import Comparison
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.mirror.status.before_start import never_copied
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.status.source_cuts import with_cuts
from towpath.mirror.status.transaction_watch import with_open_transactions
from towpath.mirror.status.twin_lag import TwinLag
from towpath.mirror.status.unread import with_unread
from towpath.mirror.verify.changes import undefined
from towpath.mirror.verify.comparing import compare, joined
from towpath.mirror.verify.deletions import TargetDeletions, parted
from towpath.mirror.verify.gone import Gone, missing_records
from towpath.mirror.verify.observed import Observed
from towpath.mirror.verify.ranges import (
    Bounds,
    Sized,
    common_range,
)
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.stoppable import until
from towpath.mirror.verify.surplus import OthersRule
from towpath.mirror.verify.twins import TwinView, twin_view
from towpath.mirror.verify.verdict import PartitionVerdict, verdict
from towpath.model.at_risk import AtRisk
from towpath.model.deleted import DeletedRecords
from towpath.model.errors import ConfigError, ConfigProblem, LedgerError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import LinkConfig
from towpath.topics.at_risk import Risks, at_risk


def verify(
    config: LinkConfig,
    scope: Scope,
    on_done: Callable[[int, int], None],
    stop: threading.Event | None = None,
) -> tuple[PartitionVerdict, ...]:
    """Compare every selected partition, and every one that the ledger knows.

    Args:
        config: The link.
        scope: What to compare.
        on_done: Called with the number of slices done and the number of all slices.
        stop: Set to end within seconds, even if a cluster does not answer.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        ConfigError: The scope contains no copied records.
        LedgerError: The target has no ledger, or the link joins other clusters.
        SparkStartError: Spark did not start.
        StoppedError: The user stopped the comparison.
    """
    told = stop or threading.Event()
    text = "not everything was compared, so nothing is proven; compare again, from the start"
    return until(told, text, lambda: _verify(config, scope, on_done, told))


def _verify(
    config: LinkConfig, scope: Scope, on_done: Callable[[int, int], None], stop: threading.Event
) -> tuple[PartitionVerdict, ...]:
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        target = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, target))
        seen = _look(config, scope, source, target, client)
    rows_read = compare(config, scope, seen.books, seen.wanted(), on_done, stop)
    found, counted = map(joined, parted(rows_read))
    if late := seen.deletions.during(found):
        with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as to:
            now = _observed(scope, seen.books, source, to)
            seen.deletions.look(source, to, now.bounds(late))
    deleted = dict(seen.deletions.found(None if scope.sample is not None else counted, found))
    return tuple(seen.verdict(row, found.get(row.tp), deleted.get(row.tp)) for row in seen.rows)


def _look(config: LinkConfig, scope: Scope, source: Admin, target: Admin, client: Client) -> _Seen:
    """Look at the ledger and at both clusters, before anything is compared."""
    books = read_books(config, source, target, Ledger(target, client))
    twin = twin_view(config, source, target, books)
    rows = TwinLag(config).without(status(config, books, source, target), source)
    rows = tuple(row for row in rows if scope.takes(row.topic))
    rows = with_unread(with_cuts(rows, config, books, source), source)
    rows = with_open_transactions(rows, source)
    observed = _observed(scope, books, source, target)
    troubles = _troubles(rows, books, observed)
    deletions = TargetDeletions(config, books, may_delete=scope.may_delete)
    bounds = observed.bounds([row.tp for row in rows if row.tp not in troubles])
    bounds = deletions.look(source, target, bounds)
    risks = Risks() if scope.may_delete else at_risk(config, source, target, books)
    return _Seen(
        config=config,
        scope=scope,
        books=books,
        twin=twin,
        rows=rows,
        troubles=troubles,
        observed=observed,
        deletions=deletions,
        bounds=bounds,
        ranges={tp: common_range(tp, books.of(tp), each) for tp, each in bounds.items()},
        at_stake={each.topic: each for each in risks.found},
        unforeseen=risks.unknown,
    )


def _observed(scope: Scope, books: LinkBooks, source: Admin, target: Admin) -> Observed:
    return Observed(books, source, target, scope.since_offset, scope.since_ms)


def _troubles(
    rows: Iterable[PartitionStatus], books: LinkBooks, observed: Observed
) -> dict[TopicPartition, str]:
    """Return why partitions cannot be compared."""
    found = {}
    for row in rows:
        text = observed.trouble(row.tp, row)
        if not text and row.state is State.NO_LEADER:
            text = row.error
        if text := text or undefined(books, row.tp):
            found[row.tp] = text
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is known of the link and of both clusters before anything is compared."""

    config: LinkConfig
    scope: Scope
    books: LinkBooks
    twin: TwinView
    rows: tuple[PartitionStatus, ...]
    troubles: Mapping[TopicPartition, str]
    """Why partitions cannot be compared."""
    observed: Observed
    deletions: TargetDeletions
    bounds: Mapping[TopicPartition, Bounds]
    """Of the partitions that can be compared."""
    ranges: Mapping[TopicPartition, Sized | None]
    """What both sides have of these; `None` for nothing."""
    at_stake: Mapping[TopicName, AtRisk]
    """What the target is going to delete, by topic."""
    unforeseen: Mapping[TopicName, str]
    """Why that is not known, by topic."""

    def wanted(self) -> list[Sized]:
        """Return the ranges to read.

        Raises:
            ConfigError: The scope contains no copied records.
        """
        wanted = [sized for sized in self.ranges.values() if sized]
        if self.scope.sample is None:  # a sample says at most how many records were deleted
            wanted += self.deletions.ranges(self.bounds)
        wanted = [self.twin.without(each) for each in wanted]
        empty = not any(each.part.first < each.part.end for each in wanted)
        if self.scope.narrowed and self.ranges and empty:
            text = "no partition has copied records from there on, so nothing would be compared"
            raise ConfigError((ConfigProblem("--from", text),))
        return wanted

    def verdict(
        self,
        row: PartitionStatus,
        found: Comparison | None,
        deleted: DeletedRecords | None,
    ) -> PartitionVerdict:
        """Return the verdict on a partition."""
        books, start = self.books.of(row.tp), self.config.records.start
        bounds = self.bounds.get(row.tp)
        return verdict(
            row,
            books,
            found,
            self.troubles.get(row.tp, ""),
            uncommitted=self.scope.uncommitted,
            others=self._others(row.tp),
            gone=self._gone(row.tp, found, deleted),
            risk=self.at_stake.get(row.topic),
            unforeseen=self.unforeseen.get(row.topic, ""),
            before=never_copied(start, books, bounds.source_earliest) if bounds else None,
        )

    def _others(self, tp: TopicPartition) -> OthersRule:
        return OthersRule(
            self.config.link,
            self.books.neighbours.link_of,
            self.config.topics.shared,
            self.books.replayers,
            self.twin.of(self.ranges.get(tp)),
        )

    def _gone(
        self, tp: TopicPartition, found: Comparison | None, deleted: DeletedRecords | None
    ) -> Gone:
        unseen, bounds = self.observed.unseen_of(tp), self.bounds.get(tp)
        return missing_records(
            self.books.of(tp),
            found,
            deleted,
            whole=self.scope.whole,
            alone=bounds is not None and bounds.cleaned_alone and not unseen.configs,
            unseen=unseen,
            meant=self.deletions.meant(tp),
        )


def read_books(config: LinkConfig, source: Admin, target: Admin, ledger: Ledger) -> LinkBooks:
    """Return what the ledger knows of a link.

    Raises:
        LedgerError: It knows nothing of it, or the link joins other clusters.
    """
    clusters = source.cluster.id(), target.cluster.id()
    books = ledger.books(config.link)
    if books.identity is None and not books.partitions:
        raise LedgerError(
            f"the target's ledger knows nothing of link {config.link}; mirror first, with"
            " `towpath run`, or correct `link`"
        )
    books.check_clusters(*clusters)
    return books
