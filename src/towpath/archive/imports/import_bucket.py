"""`towpath import kafka-replicator`: import its bucket into a Towpath archive.

The import goes on where the archive ends, so it may be stopped and started again. It holds the
lease of the run of the archive, and commits what its tasks have written round by round.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from towpath.archive.config import ArchiveConfig
from towpath.archive.imports.bucket_layout import ReplicatorPiece
from towpath.archive.imports.import_slice import import_rows
from towpath.archive.imports.import_work import SCHEMA, ImportResult, ImportSlice
from towpath.archive.imports.planned_import import (
    ImportedPartition,
    ImportWish,
    ReplicatorImport,
    listed,
    partitions_of,
)
from towpath.archive.log import CommitLog, Draft, SeenPartition, namesakes
from towpath.archive.log.lease import RUN_WORK, HeldArchive
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.starting import Starting
from towpath.store import Store

_SLICE = 1 << 30
"""Approximate bytes of objects that a task imports."""
_ROUND = 16
"""Slices of a round, after which what they wrote is committed."""


def import_bucket(
    config: ArchiveConfig,
    wish: ImportWish,
    spark: Starting,
    show: Callable[[ReplicatorImport], None] = lambda _: None,
) -> ReplicatorImport:
    """Import a bucket of kafka-replicator into an archive.

    Args:
        config: Our archive; its `topics` say what is imported.
        wish: What is imported.
        spark: The session, which may still start.
        show: Gets how it stands, behind each round.

    Raises:
        ConfigError: The bucket has no segments, or those of several regions.
        ArchiveHeldError: Another process writes to the archive now.
        CommitLogError: The commit log cannot be used.
        StoreError: A store cannot be used.
        ClusterError: The source could not be asked, or Spark failed.
    """
    found, objects = listed(config, wish)
    with Store(config.store) as store:
        log = CommitLog.open_or_begin(store, config.region)
        command = "import kafka-replicator"
        with HeldArchive(store, config.archive, config.region, command, RUN_WORK) as lease:
            log.follow()
            found.partitions = partitions_of(config, wish, found.region, log.state, objects)
            show(found)
            _Import(config, wish, found, log, lease).run(spark, show)
    found.version = log.state.version
    return found


class _Import:
    """Imports the partitions that are found, round by round."""

    def __init__(
        self,
        config: ArchiveConfig,
        wish: ImportWish,
        found: ReplicatorImport,
        log: CommitLog,
        lease: HeldArchive,
    ) -> None:
        self._config, self._wish, self._found = config, wish, found
        self._log, self._lease = log, lease

    def run(self, spark: Starting, show: Callable[[ReplicatorImport], None]) -> None:
        """Import in rounds until nothing is left to import."""
        while slices := self._round():
            self._lease.require()
            try:
                rows = run_slices(
                    spark.result(), slices, import_rows, SCHEMA, _ignored, threading.Event()
                )
            except RuntimeError as error:
                raise of_spark(error) from None
            self._commit(map(ImportResult.from_json, rows["imported"].to_pylist()))
            show(self._found)

    def _round(self) -> list[ImportSlice]:
        """Return the next slices: one for each of the partitions that have most left."""
        waiting = [each for each in self._found.partitions if each.left]
        topics = {each: known.topic for each, known in self._log.state.partitions.items()}
        topics |= {each.id: each.topic for each in waiting}
        again = namesakes(topics, [each.id for each in waiting])
        waiting.sort(key=lambda each: -sum(p.source.size for p in each.left if p.source))
        return [
            ImportSlice(
                theirs=self._wish.theirs,
                store=self._config.store,
                region=self._config.region,
                id=each.id,
                topic=each.topic,
                pieces=tuple(_portion(each.left)),
                rules=self._wish.rules,
                limits=self._config.segments.of(each.topic),
                again=each.id in again,
            )
            for each in waiting[:_ROUND]
        ]

    def _commit(self, results: Iterable[ImportResult]) -> None:
        known = {each.id: each for each in self._found.partitions}
        done = list(results)
        add = tuple(segment for each in done for segment in each.segments)
        if add:
            self._log.append(
                Draft(
                    writer=self._lease.writer,
                    add=add,
                    partitions=tuple(_seen(known[each.id]) for each in done if each.segments),
                )
            )
        for each in done:
            partition = known[each.id]
            partition.at = each.end or partition.at
            partition.records += sum(segment.records for segment in each.segments)
            partition.why = each.why
            self._found.doubts.add(each.doubts)


def _seen(partition: ImportedPartition) -> SeenPartition:
    return SeenPartition(
        cluster=partition.id.cluster,
        topic_id=partition.id.topic_id,
        topic=partition.topic,
        partition=partition.id.partition,
        log_start=partition.pieces.pieces[0].start,
        stable_end=partition.end,
    )


def _portion(pieces: Iterable[ReplicatorPiece]) -> Iterator[ReplicatorPiece]:
    """Yield the first pieces, so many that a task has enough to do."""
    size = 0
    for each in pieces:
        yield each
        size += each.source.size if each.source is not None else 0
        if size >= _SLICE:
            return


def _ignored(*_: Any) -> None:
    """Rounds are short, so nobody looks at their slices."""
