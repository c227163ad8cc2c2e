"""`towpath verify`: is the target what the ledger says it is, record by record?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client
from towpath.config import LinkConfig
from towpath.engine.batch import run as run_slices
from towpath.engine.session import session, slots
from towpath.ledger.books import Ledger, LinkBooks, PartitionBooks
from towpath.model.errors import ClusterError, ConfigError, LedgerError, Problem
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.plan.failure import of_spark
from towpath.plan.status import PartitionStatus, status
from towpath.plan.verify_ranges import SLICE_BYTES, Bounds, Sized, common_range, cut, pack, sample
from towpath.records.compare import SCHEMA, compare_rows
from towpath.records.compare_work import CompareSlice, Comparison

_SMALLEST_SLICE = 16 << 20
_SLICES_PER_SLOT = 8


@dataclass(frozen=True, slots=True)
class Scope:
    """What is compared, and by how many tasks at a time.

    Attributes:
        since_offset: Compare from this source offset on.
        since_ms: Compare from the first record of this time on.
        sample: Seed of a sample; `None` compares everything.
        master: Spark's master.
        parallelism: Slices at a time, on this machine.
    """

    since_offset: int = 0
    since_ms: int | None = None
    sample: int | None = None
    master: str | None = None
    parallelism: int | None = None

    @property
    def narrowed(self) -> bool:
        """Whether only what is behind some offset or time is compared."""
        return self.since_offset > 0 or self.since_ms is not None


class Verdict(StrEnum):
    """What is known of a partition."""

    EQUAL = "equal"
    DIFFERENT = "different"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """One source partition; `why` is empty if everything was compared and is equal."""

    topic: TopicName
    partition: int
    target_topic: TopicName
    mode: str
    verdict: Verdict
    why: str
    behind: int
    comparison: Comparison | None
    notes: tuple[str, ...] = ()


def verify(
    config: LinkConfig, scope: Scope, on_done: Callable[[int, int], None]
) -> tuple[PartitionVerdict, ...]:
    """Compare every partition that matches or that the ledger knows.

    Args:
        config: The link.
        scope: What to compare.
        on_done: Told how many slices are done, and of how many.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        ConfigError: The scope holds nothing at all.
        LedgerError: The target has no ledger, or it is that of other clusters.
        SparkStartError: Spark did not start.
    """
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        target = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, target))
        books = _read(config, source, target, Ledger(target, client))
        rows = status(config, books, source, target)
        observed = _Observed(scope, books, source, target)
        troubles = {tp: text for row in rows if (text := observed.trouble(tp := _tp(row), row))}
        bounds = observed.bounds([_tp(row) for row in rows if _tp(row) not in troubles])
    ranges = {tp: common_range(tp, books.of(tp), each) for tp, each in bounds.items()}
    wanted = [sized for sized in ranges.values() if sized]
    if scope.narrowed and ranges and not wanted:
        text = "no partition has copied records from there on, so nothing would be compared"
        raise ConfigError((Problem("--since", text),))
    found = _compared(config, scope, wanted, on_done)
    return tuple(_verdict(row, books.of(_tp(row)), found, troubles) for row in rows)


def _tp(row: PartitionStatus) -> TopicPartition:
    return TopicPartition(row.topic, row.partition)


def _read(config: LinkConfig, source: Admin, target: Admin, ledger: Ledger) -> LinkBooks:
    clusters = source.cluster_id(), target.cluster_id()
    books = ledger.books(config.link)
    if books.identity is None and not books.partitions:
        raise LedgerError(
            f"the target's ledger knows nothing of link {config.link}; mirror first, with"
            " `towpath run`, or correct `link`"
        )
    books.check_clusters(*clusters)
    return books


class _Observed:
    """What the clusters say of the partitions that can be compared."""

    def __init__(self, scope: Scope, books: LinkBooks, source: Admin, target: Admin) -> None:
        self._scope, self._books = scope, books
        self._source, self._target = source, target
        known = {tp.topic for tp, each in books.partitions.items() if each.opened is not None}
        self._source_topics = source.topics(known)
        copies = {each.opened.target_topic for each in books.partitions.values() if each.opened}
        self._target_topics = target.topics(copies)

    def trouble(self, tp: TopicPartition, row: PartitionStatus) -> str:
        """Return why a partition cannot be compared, if so."""
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
        """Ask where the logs begin, and which topics are compacted."""
        targets = {tp: opened.target for tp in tps if (opened := self._books.of(tp).opened)}
        if not targets:
            return {}
        earliest = self._source.earliest(targets)
        target_earliest = self._target.earliest(targets.values())
        since = self._since(targets)
        compacted = _compacted(self._source, {tp.topic for tp in targets})
        target_compacted = _compacted(self._target, {tp.topic for tp in targets.values()})
        return {
            tp: Bounds(
                _sure(earliest, tp), _sure(target_earliest, there), _sure(since, tp),
                tp.topic in compacted, there.topic in target_compacted,
            )
            for tp, there in targets.items()
        }  # fmt: skip

    def _since(self, tps: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self._scope.since_ms is not None:
            return self._source.at_time(tps, self._scope.since_ms)
        return dict.fromkeys(tps, self._scope.since_offset)


def _sure(answers: Mapping[TopicPartition, int], tp: TopicPartition) -> int:
    """Return the answer for a partition; one that cannot be asked now ends the command."""
    failed: Mapping[TopicPartition, ClusterError] = getattr(answers, "failed", {})
    if tp in failed:
        raise failed[tp]
    return answers[tp]


def _compacted(admin: Admin, topics: Iterable[TopicName]) -> set[TopicName]:
    found = set()
    for name, settings in admin.configs(topics).items():
        policy = settings.get("cleanup.policy")
        if policy is not None and "compact" in (policy.value or ""):
            found.add(name)
    return found


def _compared(
    config: LinkConfig, scope: Scope, wholes: list[Sized], on_done: Callable[[int, int], None]
) -> dict[TopicPartition, Comparison]:
    """Compare on Spark; return what each partition came to."""
    if not wholes:
        return {}
    spark = session(scope.master, f"towpath verify {config.link}", scope.parallelism)
    slices = _slices(config, scope, wholes, slots(spark, scope.parallelism))
    try:
        rows = run_slices(spark, slices, compare_rows, SCHEMA, on_done)
    except RuntimeError as error:
        raise of_spark(error) from error
    return _joined(Comparison.from_json(text) for text in rows["comparison"].to_pylist())


def _slices(
    config: LinkConfig, scope: Scope, wholes: list[Sized], parallelism: int
) -> list[CompareSlice]:
    total = sum(whole.bytes for whole in wholes)
    size = min(SLICE_BYTES, max(_SMALLEST_SLICE, total // (_SLICES_PER_SLOT * parallelism)))
    if scope.sample is None:
        parts = [part for whole in wholes for part in cut(whole, size)]
    else:
        parts = [part for whole in wholes for part in sample(whole, scope.sample)]
    return [CompareSlice(config.source, config.target, ranges) for ranges in pack(parts, size)]


def _joined(comparisons: Iterable[Comparison]) -> dict[TopicPartition, Comparison]:
    found: dict[TopicPartition, Comparison] = {}
    for each in sorted(comparisons, key=lambda c: (c.source, c.first)):
        before = found.get(each.source)
        found[each.source] = before.then(each) if before else each
    return found


def _verdict(
    row: PartitionStatus,
    books: PartitionBooks,
    found: Mapping[TopicPartition, Comparison],
    troubles: Mapping[TopicPartition, str],
) -> PartitionVerdict:
    comparison = found.get(_tp(row))
    reasons = [troubles[_tp(row)]] if _tp(row) in troubles else []
    if comparison is not None and not comparison.equal:
        reasons.append(_difference(comparison))
    if row.lag_records and not troubles.get(_tp(row)):
        behind = row.behind if row.lag_records > 0 else "the source did not tell where it ends"
        reasons.append(f"{behind}: {row.error}" if row.error else behind)
    different = comparison is not None and not comparison.equal
    verdict = Verdict.DIFFERENT if different else Verdict.LEFT_OUT if reasons else Verdict.EQUAL
    return PartitionVerdict(
        row.topic, row.partition, row.target_topic, row.mode, verdict, "; ".join(reasons),
        max(0, row.lag_records), comparison, tuple(_notes(books, comparison)),
    )  # fmt: skip


def _difference(comparison: Comparison) -> str:
    place = comparison.difference
    if place is None:
        return "the digests differ"
    source = f"source offset {place.source_offset}" if place.source_offset >= 0 else ""
    target = f"target offset {place.target_offset}" if place.target_offset >= 0 else ""
    return f"first at {' and '.join(filter(None, (source, target)))}: {place.what}"


def _notes(books: PartitionBooks, comparison: Comparison | None) -> Iterable[str]:
    for gap in books.gaps:
        if books.opened is not None and gap.producer_id == books.opened.producer_id:
            yield f"source offsets {gap.first} to {gap.end - 1} were never copied: {gap.cause}"
    if comparison is None:
        if books.receipt is not None and books.receipt.records:
            yield "nothing of what was copied is in range on both sides any more"
        return
    counts = comparison.counts
    texts = (
        (counts.compacted, "left out: compacted away on one side"),
        (counts.expired, "left out: deleted by retention on one side meanwhile"),
        (counts.replaced, "left out: on the target from before the source log was cut"),
        (counts.foreign, "of other writers in the target partition, not compared"),
        (counts.untimed, "compared without timestamps, which the target sets by its own clock"),
    )
    for number, text in texts:
        if number:
            yield f"{number:,} records {text}"
    yield from comparison.notes
