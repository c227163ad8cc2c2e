"""`towpath verify` of links whose records go through Spark: made again, and compared in order."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import every_partition
from towpath.compare import COMPARING
from towpath.compare.row_sums import Pair, RowLook, RowSum, from_json, joined, skips_of
from towpath.compare.written_rows import (
    SCHEMA,
    WrittenRows,
    WrittenSlice,
    read_rows,
    written_rows,
)
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.session import session
from towpath.ledger.ledger import Ledger
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.mirror import TRANSFORMING
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.status.transformed import rows_of
from towpath.mirror.transform.frames import TransformFrames, known_as, range_of
from towpath.mirror.transform.proof_others import (
    borders_of,
    mirrors_of,
    others_of,
    producers_of,
)
from towpath.mirror.transform.proof_verdict import Proof, ProofStand, needs, verdict_of
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.stoppable import until
from towpath.mirror.verify.verdict import PartitionVerdict
from towpath.mirror.verify.verify import read_books
from towpath.model.errors import SparkLostError
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import LinkConfig

_PART = 1_000_000
"""Offsets of one task."""
_PATIENCE = 60.0
"""Seconds for transactions that are open when the comparison begins."""
_LOOK = 0.2
_ROUNDS = 3
"""First all sums, then those without what one side no longer has, then rows one by one."""

Positions = Mapping[TopicPartition, TransformedPosition]
OnDone = Callable[[int, int], None]


def verify(
    config: LinkConfig, file: Path, scope: Scope, on_done: OnDone, stop: threading.Event
) -> tuple[PartitionVerdict, ...]:
    """Compare what the query makes of the source now with what is on the target.

    Args:
        config: The link.
        file: Its file, for problems of the query.
        scope: What to compare.
        on_done: Gets the number of finished tasks and of all tasks, from another thread.
        stop: Set to end within seconds.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        ConfigError: The query is wrong.
        LedgerError: The target has no ledger, or the link joins other clusters.
        SparkStartError: Spark did not start.
        StoppedError: The user stopped the comparison.
    """
    text = "not everything was compared, so nothing is proven; compare again, from the start"
    return until(stop, text, lambda: _Proving(config, file, scope, on_done, stop).all())


@dataclass(slots=True)
class _Seen:
    """Both clusters when the comparison began.

    Attributes:
        rows: The status of all partitions.
        positions: Their positions.
        chosen: Those of the partitions that are compared.
        first: Log start of all target partitions.
        end: Log end of those whose open transactions have ended.
        compacts: Topics that are compacted or may be, by side.
        earliest: Log start of source partitions.
        since: The source offset from which on records are to be compared.
        counts: Number of partitions of each mirror topic.
        borders: From which offset on clients may write to target partitions, since a cutover.
    """

    rows: tuple[PartitionStatus, ...]
    positions: Positions
    chosen: tuple[PartitionStatus, ...]
    first: dict[TopicPartition, int] = field(default_factory=dict)
    end: dict[TopicPartition, int] = field(default_factory=dict)
    compacts: dict[Side, frozenset[TopicName]] = field(default_factory=dict)
    earliest: dict[TopicPartition, int] = field(default_factory=dict)
    since: dict[TopicPartition, int] = field(default_factory=dict)
    counts: dict[TopicName, int] = field(default_factory=dict)
    borders: dict[TopicPartition, int] = field(default_factory=dict)


class _Proving:
    def __init__(
        self,
        config: LinkConfig,
        file: Path,
        scope: Scope,
        on_done: OnDone,
        stop: threading.Event,
    ) -> None:
        self._config, self._scope = config, scope
        self._on_done, self._stop = on_done, stop
        self._file = file
        wanted = config.transforms
        assert wanted is not None  # noqa: S101, the command has looked
        self._known_as = known_as(wanted)

    def all(self) -> tuple[PartitionVerdict, ...]:
        """Compare all partitions."""
        with ExitStack() as stack:
            source = stack.enter_context(Admin(self._config.source, Side.SOURCE))
            target = stack.enter_context(Admin(self._config.target, Side.TARGET))
            client = stack.enter_context(Client(self._config.target, Side.TARGET, target))
            books = read_books(self._config, source, target, Ledger(target, client))
            positions = PositionsTopic(target, client, self._config.link)
            known = positions.seen()
            rows = rows_of(self._config, books, source, known)
            seen = _Seen(rows, known, tuple(row for row in rows if self._scope.takes(row.topic)))
            self._look(seen, source, target)
            mirrors = {row.topic: row.target_topic for row in rows if row.target_topic}
            seen.borders = borders_of(books, mirrors, seen.first)
            self._spark: Any = session(
                self._scope.master,
                f"towpath verify {self._config.link}",
                self._scope.parallelism,
                credentials=self._config.holds_credentials,
                works=(*TRANSFORMING, *COMPARING),
                packages=self._scope.packages,
            )
            frames = TransformFrames(self._spark, self._config, self._file)
            stands = self._stands(seen, frames)
            proof, found = self._compared(seen, stands, frames)
            proof.beside = others_of(found, positions, seen.borders)
        return tuple(
            verdict_of(
                stands[row.tp],
                proof,
                may_delete=self._scope.may_delete,
            )
            for row in seen.chosen
        )

    def _look(self, seen: _Seen, source: Admin, target: Admin) -> None:
        """Look at the logs of both sides, once transactions that are open now have ended."""
        known = [row.tp for row in seen.rows if not row.error]
        seen.earliest = dict(source.offsets.earliest(known).items())
        if self._scope.since_ms is not None:
            asked = source.offsets.at_time(known, self._scope.since_ms)
            seen.since = dict(asked.items())
        elif self._scope.since_offset:
            seen.since = dict.fromkeys(known, self._scope.since_offset)
        names = {row.target_topic for row in seen.rows if row.target_topic}
        found = target.topics.describe(names)
        seen.counts = {name: len(info.partitions) for name, info in found.items()}
        there = every_partition(found)
        seen.first = dict(target.offsets.earliest(there).items())
        seen.end = self._settled(target, there)
        for side, admin, topics in (
            (Side.SOURCE, source, {tp.topic for tp in known}),
            (Side.TARGET, target, set(found)),
        ):
            configs = admin.configs.describe(topics)
            entries = {name: (configs.get(name) or {}).get("cleanup.policy") for name in topics}
            seen.compacts[side] = frozenset(
                name
                for name, each in entries.items()
                if each is None or "compact" in (each.value or "")
            )

    def _settled(self, target: Admin, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return where partitions end, but of those where a transaction stays open."""
        ends = dict(target.offsets.latest(tps).items())
        until_then = Deadline.after(_PATIENCE)
        while True:
            stable = target.offsets.latest(ends, committed=True)
            open_ones = [tp for tp, end in ends.items() if stable.get(tp, -1) < end]
            if not open_ones or until_then.over or self._stop.is_set():
                return {tp: end for tp, end in ends.items() if tp not in open_ones}
            time.sleep(_LOOK)

    def _stands(self, seen: _Seen, frames: TransformFrames) -> dict[TopicPartition, ProofStand]:
        """Return what is known of each partition, and from which source offset on it is made."""
        doubts = frames.doubts()
        topics = {row.topic: row.target_topic for row in seen.rows}
        mirrors = frozenset(topics.values())
        open_ones = frozenset(tp for tp in seen.first if tp not in seen.end)
        shortened = frozenset(tp for tp, first in seen.first.items() if first > 0)
        reached = {
            row.tp: mirrors_of(
                row.target_topic, mirrors, routed=doubts.routes or not self._known(row, seen)
            )
            for row in seen.chosen
        }
        return {
            row.tp: ProofStand(
                row=row,
                position=(at := seen.positions.get(row.tp)),
                first=self._first(row, at, seen, doubts.never),
                since=seen.since.get(row.tp, 0),
                earliest=seen.earliest.get(row.tp, -1),
                never=doubts.never,
                other_query=at is not None and self._since(row, at, seen) < 0,
                python=doubts.python,
                joins=doubts.joins,
                source_compacts=row.topic in seen.compacts[Side.SOURCE],
                target_compacts=bool(reached[row.tp] & seen.compacts[Side.TARGET]),
                shortened=_among(shortened, reached[row.tp]),
                unsettled=_among(open_ones, reached[row.tp]),
                shared=self._config.topics.shared,
                told=row is seen.chosen[0],
                mirrors=_told_with(row, seen.chosen),
                reached=reached[row.tp],
            )
            for row in seen.chosen
        }

    def _known(self, row: PartitionStatus, seen: _Seen) -> bool:
        """Return whether the query of the file made all records of a partition."""
        at = seen.positions.get(row.tp)
        return at is not None and len(at.queries) == 1 and self._since(row, at, seen) >= 0

    def _since(self, row: PartitionStatus, at: TransformedPosition, seen: _Seen) -> int:
        """Return the source offset from which on the query of the file made the records."""
        return at.since(f"{self._known_as}/{seen.counts.get(row.target_topic, 0)}")

    def _first(
        self, row: PartitionStatus, at: TransformedPosition | None, seen: _Seen, never: str
    ) -> int:
        """Return the source offset from which on records can be made again, -1 for none."""
        if at is None or row.error or at.first < 0 or never:
            return -1
        since = self._since(row, at, seen)
        if since < 0 or row.tp not in seen.earliest:
            return -1
        return min(at.end, max(since, seen.earliest[row.tp], seen.since.get(row.tp, 0)))

    def _compared(
        self, seen: _Seen, stands: Mapping[TopicPartition, ProofStand], frames: TransformFrames
    ) -> tuple[Proof, list[WrittenRows]]:
        """Compare sums, and look again where they do not tell enough."""
        names = {str(row.topic): str(row.target_topic) for row in seen.rows if row.target_topic}
        ranges = [
            range_of(row.tp, at.topic_id, replace(at, end=first), end)
            for row in seen.chosen
            if (at := seen.positions.get(row.tp)) is not None and stands[row.tp].first >= 0
            for first, end in _cut(stands[row.tp].first, at.end)
        ]
        reads = frozenset[TopicName]().union(*(each.reached for each in stands.values()))
        slices = [
            WrittenSlice(
                self._config.target, tp, first, last, producers_of(seen.positions), RowLook()
            )
            for tp, end in sorted(seen.end.items())
            if tp.topic in reads
            for first, last in _parted(seen.first.get(tp, 0), end, seen.borders.get(tp, end))
        ]
        proof = Proof()
        found: list[WrittenRows] = []
        made: list[tuple[Pair, int, RowSum]] = []
        there: list[tuple[Pair, int, RowSum]] = []
        for number in range(_ROUNDS):
            wanted = needs(proof, stands) if number else None
            if wanted is not None and not wanted.pairs:
                break
            sources = None if wanted is None else {here for here, _ in wanted.pairs}
            targets = None if wanted is None else {to for _, to in wanted.pairs}
            again = [r for r in ranges if sources is None or r.part.tp in sources]
            looks = _looks(
                made, wanted.made if wanted else {}, wanted.lists if wanted else (), again
            )
            read, sums = self._made(frames, again, names, looks)
            parts = [s for s in slices if targets is None or s.tp in targets]
            parts = _with_looks(parts, there, wanted)
            told, written = self._written(parts)
            if wanted is None:
                made, there, found = sums, written, told
                proof.read, proof.bytes = read, sum(each.bytes for each in told)
                proof.untimed = any(each.untimed for each in told)
            proof.take(joined(sums), joined(written), wanted)
        return proof, found

    def _made(
        self,
        frames: TransformFrames,
        ranges: Sequence[Any],
        names: dict[str, str],
        looks: Sequence[RowLook],
    ) -> tuple[Counter[TopicPartition], list[tuple[Pair, int, RowSum]]]:
        if not ranges:
            return Counter(), []
        job = replace(frames.job(ranges, names), proves=True)
        try:
            found = frames.rows_made(job, looks, self._on_done, self._stop)
        except SparkLostError:
            raise
        except RuntimeError as error:
            raise of_spark(error) from error
        read = Counter[TopicPartition]()
        for each in found:
            read[ranges[each.number].part.tp] += each.read
        return read, from_json(each.sums for each in found)

    def _written(
        self, slices: Sequence[WrittenSlice]
    ) -> tuple[list[WrittenRows], list[tuple[Pair, int, RowSum]]]:
        if not slices:
            return [], []
        try:
            rows = run_slices(self._spark, slices, written_rows, SCHEMA, self._on_done, self._stop)
        except RuntimeError as error:
            raise of_spark(error) from error
        told = [read_rows(text) for text in rows["found"].to_pylist()]
        return [each for each, _ in told], from_json(sums for _, sums in told)


def _among(
    tps: frozenset[TopicPartition], topics: frozenset[TopicName]
) -> frozenset[TopicPartition]:
    return frozenset(tp for tp in tps if tp.topic in topics)


def _told_with(row: PartitionStatus, rows: Sequence[PartitionStatus]) -> frozenset[TopicName]:
    """Return the mirror topics whose other writers are told with a partition: the first of it."""
    first = next(each for each in rows if each.target_topic == row.target_topic)
    return frozenset({row.target_topic}) if row is first else frozenset()


def _cut(first: int, end: int) -> Iterator[tuple[int, int]]:
    for start in range(first, end, _PART):
        yield start, min(start + _PART, end)


def _parted(first: int, end: int, border: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a target partition; none lies on both sides of a border."""
    at = min(max(first, border), end)
    yield from _cut(first, at)
    yield from _cut(at, end)


def _looks(
    parts: Sequence[tuple[Pair, int, RowSum]],
    skips: Mapping[Pair, int],
    lists: Iterable[Pair],
    ranges: Sequence[Any],
) -> list[RowLook]:
    """Return what is wanted of each range of the source."""
    listed = frozenset(lists)
    return [
        RowLook(
            skips_of(
                (each for each in parts if each[0][0] == one.part.tp),
                {pair: n for pair, n in skips.items() if pair[0] == one.part.tp},
            ).get(one.part.start, {}),
            listed,
        )
        for one in ranges
    ]


def _with_looks(
    slices: Sequence[WrittenSlice], parts: Sequence[tuple[Pair, int, RowSum]], wanted: Any
) -> list[WrittenSlice]:
    if wanted is None:
        return [*slices]
    listed = frozenset(wanted.lists)
    return [
        replace(
            one,
            look=RowLook(
                skips_of(
                    (each for each in parts if each[0][1] == one.tp),
                    {pair: n for pair, n in wanted.there.items() if pair[1] == one.tp},
                ).get(one.first, {}),
                listed,
            ),
        )
        for one in slices
    ]
