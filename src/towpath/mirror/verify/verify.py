"""`towpath verify`: compare source and target record by record, along the ledger's offset map."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import Answers, ConfigEntry
from towpath.compare import COMPARING
from towpath.compare.slice import SCHEMA, compare_rows
from towpath.compare.work import CompareSlice, Comparison
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.session import session
from towpath.engine.slots import slots
from towpath.ledger.books import LinkBooks
from towpath.ledger.ledger import Ledger
from towpath.mirror.status.before_start import never_copied
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import status
from towpath.mirror.status.source_cuts import with_cuts
from towpath.mirror.status.transaction_watch import with_open_transactions
from towpath.mirror.status.twin_lag import TwinLag
from towpath.mirror.status.unread import with_unread
from towpath.mirror.verify.changes import changes_of, undefined
from towpath.mirror.verify.deletions import TargetDeletions, parted
from towpath.mirror.verify.gone import SEEN, UnseenConfigs, missing_records
from towpath.mirror.verify.ranges import (
    SLICE_BYTES,
    Bounds,
    Sized,
    by_change,
    common_range,
    cut,
    pack,
    sample,
)
from towpath.mirror.verify.stoppable import until
from towpath.mirror.verify.surplus import OthersRule
from towpath.mirror.verify.twins import twin_view
from towpath.mirror.verify.verdict import PartitionVerdict, verdict
from towpath.model.cleaner import is_cleaned
from towpath.model.errors import ConfigError, ConfigProblem, LedgerError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.settings import LinkConfig
from towpath.topics.at_risk import Risks, at_risk
from towpath.topics.cleaners import RUNS, look_at_cleaner
from towpath.topics.configs import compacts
from towpath.wire.naming import IdSample

EVERY_TOPIC = ".*"
_SMALLEST_SLICE = 16 << 20
_SLICES_PER_SLOT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope of a comparison, and its number of parallel tasks.

    Attributes:
        since_offset: Compare from this source offset on.
        since_ms: Compare from the first record of this time on.
        sample: Seed of a random sample; `None` to compare everything.
        master: Spark's master.
        parallelism: Number of slices at a time, on this machine.
        uncommitted: Whether the target must hold no record that only consumers with
            isolation.level=read_uncommitted see.
        packages: Where Spark finds an archive of `towpath pack` for its workers.
        ids: Which records on the target are looked at for schema ids, `None` for none.
        may_delete: Whether all mirror topics are meant to keep less than the source.
        topics: Compare only source topics whose whole name matches this regular expression.
    """

    since_offset: int = 0
    since_ms: int | None = None
    sample: int | None = None
    master: str | None = None
    parallelism: int | None = None
    uncommitted: bool = False
    packages: str | None = None
    ids: IdSample | None = None
    may_delete: bool = False
    topics: str = EVERY_TOPIC

    def takes(self, topic: TopicName) -> bool:
        """Return whether a source topic is compared."""
        return re.fullmatch(self.topics, topic) is not None

    @property
    def whole(self) -> bool:
        """Whether all records are compared, not a sample or a part."""
        return self.sample is None and not self.narrowed

    @property
    def narrowed(self) -> bool:
        """Whether the comparison begins at some offset or time."""
        return self.since_offset > 0 or self.since_ms is not None


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
        books = read_books(config, source, target, Ledger(target, client))
        twin = twin_view(config, source, target, books)
        rows = TwinLag(config).without(status(config, books, source, target), source)
        rows = tuple(row for row in rows if scope.takes(row.topic))
        rows = with_unread(with_cuts(rows, config, books, source), source)
        rows = with_open_transactions(rows, source)
        observed = Observed(scope, books, source, target)
        away = {_tp(row): row.error for row in rows if row.state is State.NO_LEADER}
        troubles = away | {
            tp: text for row in rows if (text := observed.trouble(tp := _tp(row), row))
        }
        troubles |= {
            tp: text
            for tp in map(_tp, rows)
            if tp not in troubles and (text := undefined(books, tp))
        }
        bounds = observed.bounds([_tp(row) for row in rows if _tp(row) not in troubles])
        deletions = TargetDeletions(config, books, may_delete=scope.may_delete)
        bounds = deletions.look(source, target, bounds)
        risks = Risks() if scope.may_delete else at_risk(config, source, target, books)
    at_stake = {each.topic: each for each in risks.found}
    ranges = {tp: common_range(tp, books.of(tp), each) for tp, each in bounds.items()}
    wanted = [sized for sized in ranges.values() if sized]
    if scope.sample is None:  # a sample says at most how many records were deleted
        wanted += deletions.ranges(bounds)
    wanted = [twin.without(each) for each in wanted]
    if scope.narrowed and ranges and not any(each.part.first < each.part.end for each in wanted):
        text = "no partition has copied records from there on, so nothing would be compared"
        raise ConfigError((ConfigProblem("--from", text),))
    rows_read = _read_on_spark(config, scope, books, wanted, on_done, stop)
    found, counted = map(_joined, parted(rows_read))
    if late := deletions.during(found):
        with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as to:
            deletions.look(source, to, Observed(scope, books, source, to).bounds(late))
    deleted = dict(deletions.found(None if scope.sample is not None else counted, found))
    return tuple(
        verdict(
            row,
            books.of(tp := _tp(row)),
            found.get(tp),
            troubles.get(tp, ""),
            uncommitted=scope.uncommitted,
            others=OthersRule(
                config.link,
                books.neighbours.link_of,
                config.topics.shared,
                books.replayers,
                twin.of(ranges.get(tp)),
            ),
            gone=missing_records(
                books.of(tp),
                found.get(tp),
                deleted.get(tp),
                whole=scope.whole,
                alone=tp in bounds
                and bounds[tp].cleaned_alone
                and not observed.unseen_of(tp).configs,
                unseen=observed.unseen_of(tp),
                meant=deletions.meant(tp),
            ),
            risk=at_stake.get(row.topic),
            unforeseen=risks.unknown.get(row.topic, ""),
            before=never_copied(config.records.start, books.of(tp), bounds[tp].source_earliest)
            if tp in bounds
            else None,
        )
        for row in rows
    )


def _tp(row: PartitionStatus) -> TopicPartition:
    return TopicPartition(row.topic, row.partition)


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


class Observed:
    """The state of both clusters for the partitions to compare."""

    def __init__(self, scope: Scope, books: LinkBooks, source: Admin, target: Admin) -> None:
        self._scope, self._books = scope, books
        self._source, self._target = source, target
        known = {tp.topic for tp, each in books.partitions.items() if each.opened is not None}
        self._source_topics = source.topics.describe(known)
        copies = {each.opened.target_topic for each in books.partitions.values() if each.opened}
        self._target_topics = target.topics.describe(copies)
        self._unseen: dict[TopicPartition, UnseenConfigs] = {}
        self._cleaner = RUNS

    def trouble(self, tp: TopicPartition, row: PartitionStatus) -> str:
        """Return why a partition cannot be compared, "" if it can."""
        opened = self._books.of(tp).opened
        if opened is None:
            return "never copied"
        source = self._source_topics.get(tp.topic)
        target = self._target_topics.get(opened.target_topic)
        if source is None or tp.partition >= len(source.partitions):
            return "it is no more at the source"
        if source.id != opened.source_topic_id:
            return "the topic was deleted and created again at the source since it was copied"
        if target is None or row.partition >= len(target.partitions):
            return f"{opened.target} is no more at the target"
        if target.id != opened.target_topic_id:
            return "the topic was deleted and created again at the target since it was copied"
        return ""

    def bounds(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """Ask for log start offsets, and which topics are compacted."""
        targets = {tp: opened.target for tp in tps if (opened := self._books.of(tp).opened)}
        if not targets:
            return {}
        earliest = self._source.offsets.earliest(targets)
        target_earliest = self._target.offsets.earliest(targets.values())
        target_latest = self._target.offsets.latest(targets.values())
        since = self._since(targets)
        source_configs = self._source.configs.describe({tp.topic for tp in targets})
        target_configs = self._target.configs.describe({tp.topic for tp in targets.values()})
        kept = self._kept(source_configs)
        self._unseen |= {
            tp: UnseenConfigs(
                source=str(source_configs.failed.get(tp.topic, "")),
                target=str(target_configs.failed.get(there.topic, "")),
                cleaner=self._cleaner.unknown,
            )
            for tp, there in targets.items()
        }
        return {
            tp: Bounds(
                earliest.sure(tp),
                target_earliest.sure(there),
                since.sure(tp),
                _may_compact(source_configs.get(tp.topic)),
                _may_compact(target_configs.get(there.topic)),
                target_latest.sure(there),
                source_keeps=tp.topic in kept,
            )
            for tp, there in targets.items()
        }

    def unseen_of(self, tp: TopicPartition) -> UnseenConfigs:
        """Return the configs of a partition's topics that could not be read."""
        return self._unseen.get(tp, SEEN)

    def _kept(self, configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> frozenset[TopicName]:
        """Return the topics with a policy of `compact` that the source does not compact."""
        values = {
            name: {key: each.value for key, each in entries.items() if each.value is not None}
            for name, entries in configs.items()
        }
        self._cleaner = look_at_cleaner(self._source, Side.SOURCE, values.values())
        stops = self._cleaner.stops
        return frozenset(
            name
            for name, each in values.items()
            if compacts(each) and not is_cleaned({**each, **stops})
        )

    def _since(self, tps: Iterable[TopicPartition]) -> Answers[TopicPartition, int]:
        if self._scope.since_ms is not None:
            return self._source.offsets.at_time(tps, self._scope.since_ms)
        return Answers(dict.fromkeys(tps, self._scope.since_offset), {})


def _may_compact(configs: Mapping[str, ConfigEntry] | None) -> bool:
    """Whether a topic is compacted, or may be because the login cannot see its configs."""
    policy = configs.get("cleanup.policy") if configs else None
    return policy is None or "compact" in (policy.value or "")


def compared(
    config: LinkConfig,
    scope: Scope,
    books: LinkBooks,
    wholes: list[Sized],
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> dict[TopicPartition, Comparison]:
    """Compare ranges on Spark; return the result for each source partition.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        LedgerError: It is not known how records were changed.
        SparkStartError: Spark did not start.
        TowpathError: Spark failed, or was stopped.
    """
    return _joined(_read_on_spark(config, scope, books, wholes, on_done, stop))


def _read_on_spark(
    config: LinkConfig,
    scope: Scope,
    books: LinkBooks,
    wholes: list[Sized],
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> list[Comparison]:
    """Compare ranges; return one result for each, in any order. For errors see `compared`."""
    if not wholes:
        return []
    name, secret = f"towpath verify {config.link}", config.holds_credentials
    spark = session(
        scope.master,
        name,
        scope.parallelism,
        credentials=secret,
        works=COMPARING,
        packages=scope.packages,
    )
    slices = _slices(config, scope, books, wholes, slots(spark, scope.parallelism))
    try:
        rows = run_slices(spark, slices, compare_rows, SCHEMA, on_done, stop)
    except RuntimeError as error:
        raise of_spark(error) from error
    return [Comparison.from_json(text) for text in rows["comparison"].to_pylist()]


def _slices(
    config: LinkConfig, scope: Scope, books: LinkBooks, wholes: list[Sized], parallelism: int
) -> list[CompareSlice]:
    changes = changes_of(books, (whole.part.source for whole in wholes))
    wholes = [part for whole in wholes for part in by_change(whole, books.of(whole.part.source))]
    total = sum(whole.bytes for whole in wholes)
    size = min(SLICE_BYTES, max(_SMALLEST_SLICE, total // (_SLICES_PER_SLOT * parallelism)))
    if scope.sample is None:
        parts = [part for whole in wholes for part in cut(whole, size)]
    else:
        parts = [part for whole in wholes for part in sample(whole, scope.sample)]
    return [
        CompareSlice(config.source, config.target, ranges, ids=scope.ids, changes=changes)
        for ranges in pack(parts, size)
    ]


def _joined(comparisons: Iterable[Comparison]) -> dict[TopicPartition, Comparison]:
    found: dict[TopicPartition, Comparison] = {}
    for each in sorted(comparisons, key=lambda c: (c.source, c.first)):
        before = found.get(each.source)
        found[each.source] = before.then(each) if before else each
    return found
