"""`towpath verify` of links whose records go through Spark: made again, and compared in order."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.compare import COMPARING
from towpath.compare.row_sums import Pair, RowLook, RowSum, from_json, joined
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
from towpath.ledger.transformed import PositionsTopic
from towpath.mirror import TRANSFORMING
from towpath.mirror.status.transformed import rows_of
from towpath.mirror.transform.frames import TransformFrames, known_as
from towpath.mirror.transform.proof.looks import looks_at, ranges_of, slices_of, slices_to_read
from towpath.mirror.transform.proof.others import borders_of, others_of
from towpath.mirror.transform.proof.seen import SeenClusters
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.mirror.transform.proof.stands import Stands
from towpath.mirror.transform.proof.sums import Proof, needs
from towpath.mirror.transform.proof.verdict import verdict_of
from towpath.mirror.verify.scope import Scope
from towpath.mirror.verify.stoppable import until
from towpath.mirror.verify.verdict import PartitionVerdict
from towpath.mirror.verify.verify import read_books
from towpath.model.errors import SparkLostError
from towpath.model.nouns import Side, TopicPartition
from towpath.settings import LinkConfig

if TYPE_CHECKING:
    from towpath.mirror.transform.frames import TransformRange

_ROUNDS = 3
"""First all sums, then those without what one side no longer has, then rows one by one."""

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
    return until(stop, text, lambda: _verdicts(config, file, scope, on_done, stop))


def _verdicts(
    config: LinkConfig, file: Path, scope: Scope, on_done: OnDone, stop: threading.Event
) -> tuple[PartitionVerdict, ...]:
    wanted = config.transforms
    assert wanted is not None  # noqa: S101, the command has looked
    with ExitStack() as stack:
        source = stack.enter_context(Admin(config.source, Side.SOURCE))
        target = stack.enter_context(Admin(config.target, Side.TARGET))
        client = stack.enter_context(Client(config.target, Side.TARGET, target))
        books = read_books(config, source, target, Ledger(target, client))
        positions = PositionsTopic(target, client, config.link)
        known = positions.seen()
        rows = rows_of(config, books, source, known)
        seen = SeenClusters(rows, known, tuple(row for row in rows if scope.takes(row.topic)))
        seen.look(scope, source, target, stop)
        mirrors = {row.topic: row.target_topic for row in rows if row.target_topic}
        seen.borders = borders_of(books, mirrors, seen.first)
        spark = _session(config, scope)
        frames = TransformFrames(spark, config, file)
        stands = Stands(seen, frames.doubts(), known_as(wanted), config.topics.shared).all()
        comparing = _Comparing(config, seen, stands, frames, spark, on_done, stop)
        proof, found = comparing.all()
        proof.beside = others_of(found, positions, seen.borders)
    return tuple(
        verdict_of(stands[row.tp], proof, may_delete=scope.may_delete) for row in seen.chosen
    )


def _session(config: LinkConfig, scope: Scope) -> Any:
    return session(
        scope.master,
        f"towpath verify {config.link}",
        scope.parallelism,
        credentials=config.holds_credentials,
        works=(*TRANSFORMING, *COMPARING),
        packages=scope.packages,
    )


class _Comparing:
    """Rounds in which sums are compared, and what they do not tell is looked at again."""

    def __init__(
        self,
        config: LinkConfig,
        seen: SeenClusters,
        stands: Mapping[TopicPartition, ProofStand],
        frames: TransformFrames,
        spark: Any,
        on_done: OnDone,
        stop: threading.Event,
    ) -> None:
        self._names = {
            str(row.topic): str(row.target_topic) for row in seen.rows if row.target_topic
        }
        self._stands, self._frames, self._spark = stands, frames, spark
        self._on_done, self._stop = on_done, stop
        self._ranges = ranges_of(seen, stands)
        self._slices = slices_of(config.target, seen, stands)

    def all(self) -> tuple[Proof, list[WrittenRows]]:
        """Return what was found of all pairs, and of each slice of the target."""
        proof = Proof()
        proof.read, made = self._made(*looks_at(self._ranges, (), None))
        found, there = self._written(slices_to_read(self._slices, (), None))
        proof.bytes = sum(each.bytes for each in found)
        proof.untimed = any(each.untimed for each in found)
        proof.take(joined(made), joined(there), None)
        for _ in range(_ROUNDS - 1):
            needed = needs(proof, self._stands)
            if not needed.pairs:
                break
            _, made_again = self._made(*looks_at(self._ranges, made, needed))
            _, there_again = self._written(slices_to_read(self._slices, there, needed))
            proof.take(joined(made_again), joined(there_again), needed)
        return proof, found

    def _made(
        self, ranges: Sequence[TransformRange], looks: Sequence[RowLook]
    ) -> tuple[Counter[TopicPartition], list[tuple[Pair, int, RowSum]]]:
        """Return how many records were read, and the sums of what the query makes of them."""
        if not ranges:
            return Counter(), []
        job = replace(self._frames.job(ranges, self._names), proves=True)
        try:
            found = self._frames.rows_made(job, looks, self._on_done, self._stop)
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
        """Return what each slice of the target had, and the sums of its rows."""
        if not slices:
            return [], []
        try:
            rows = run_slices(self._spark, slices, written_rows, SCHEMA, self._on_done, self._stop)
        except RuntimeError as error:
            raise of_spark(error) from error
        told = [read_rows(text) for text in rows["found"].to_pylist()]
        return [each for each, _ in told], from_json(sums for _, sums in told)
