"""`towpath import kafka-replicator`: its bucket becomes part of an archive of ours.

The import goes on where the archive ends, so it may be stopped and started again. It holds the
lease of the run of the archive, and commits what its tasks have written round by round.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from towpath import __version__
from towpath.archive.commits import WORK
from towpath.archive.lease import HeldArchive
from towpath.archive.look import SourceLook, SourceLooks
from towpath.archive.source_cluster import imported_cluster, require_cluster
from towpath.cluster.admin import Admin
from towpath.config import ArchiveConfig, StoreConfig
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.starting import Starting
from towpath.ledger.alive import this_host
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicName
from towpath.segments.log import CommitLog, Draft, LogWriter, SeenPartition, namesakes
from towpath.segments.model import PartitionId
from towpath.segments.replicator.layout import (
    PartitionPieces,
    ReplicatorObject,
    ReplicatorPiece,
    pieces_of,
)
from towpath.segments.replicator.rows import Doubts, EmptyRules
from towpath.segments.replicator.slice import import_rows
from towpath.segments.replicator.work import SCHEMA, ImportResult, ImportSlice
from towpath.store import Store

_SLICE = 1 << 30
"""Bytes of objects that a task imports, about."""
_ROUND = 16
"""Slices of a round, after which what they wrote is committed."""
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWish:
    """What is imported.

    Attributes:
        theirs: The bucket of kafka-replicator, with its prefix.
        region: The region that wrote it; None if there is only one.
        rules: What empty keys and values were.
        same_source: Whether the source of the file is the cluster that was archived, so that the
            run of the archive goes on behind what is imported.
    """

    theirs: StoreConfig
    region: str | None = None
    rules: EmptyRules = EmptyRules()  # noqa: RUF009  # it is frozen
    same_source: bool = False


@dataclass(slots=True, kw_only=True)
class ImportedPartition:
    """What became of a partition.

    Attributes:
        topic: The topic.
        id: The partition in our archive.
        pieces: Its pieces.
        at: The offset up to which it is in our archive.
        records: Number of records that were imported now.
        why: Why the rest was not imported, "" if all was.
    """

    topic: TopicName
    id: PartitionId
    pieces: PartitionPieces
    at: SourceOffset
    records: int = 0
    why: str = ""

    @property
    def end(self) -> SourceOffset:
        """The offset behind its last record."""
        return self.pieces.pieces[-1].end

    @property
    def lost(self) -> int:
        """Offsets in holes of more than one offset."""
        sizes = (each.end - each.start for each in self.pieces.holes)
        return sum(size for size in sizes if size > 1)

    @property
    def left(self) -> list[ReplicatorPiece]:
        """The pieces that are not imported so far."""
        if self.why:
            return []
        return [
            replace(each, start=max(each.start, self.at))
            for each in self.pieces.pieces
            if each.end > self.at
        ]


@dataclass(slots=True, kw_only=True)
class ReplicatorImport:
    """What an import has done.

    Attributes:
        region: The region of kafka-replicator.
        partitions: The partitions.
        passed: Keys that are no segments, of which a few are kept.
        passed_count: How many there are.
        doubts: What the files do not tell.
        version: The version of our archive behind it.
    """

    region: str
    partitions: list[ImportedPartition] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    passed_count: int = 0
    doubts: Doubts = field(default_factory=Doubts)
    version: int = 0

    @property
    def complete(self) -> bool:
        """Whether all was imported, and nothing is missing in between."""
        return not any(each.why or each.lost for each in self.partitions)


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
    found, objects = _listed(config, wish)
    with Store(config.store) as store:
        log = CommitLog.open_or_begin(store, config.region)
        command = "import kafka-replicator"
        with HeldArchive(store, config.archive, config.region, command, WORK) as lease:
            log.follow()
            importing = _Import(config, wish, found, log, lease)
            importing.plan(objects)
            show(found)
            importing.run(spark, show)
    found.version = log.state.version
    return found


def _region_problem(wish: ImportWish, regions: Sequence[str]) -> ConfigProblem:
    """Return why no single region is meant, for which segments were found."""
    if regions:
        text = f"has segments of the regions {', '.join(regions)}; name one by --from-region"
        return ConfigProblem("--from", f"{wish.theirs.url} {text}")
    if wish.region:
        text = f"{wish.theirs.url} has no segments of kafka-replicator of region {wish.region}"
        return ConfigProblem("--from-region", text)
    text = "has no segments of kafka-replicator; name the bucket with its `S3KeyPrefix`"
    return ConfigProblem("--from", f"{wish.theirs.url} {text}")


def _listed(
    config: ArchiveConfig, wish: ImportWish
) -> tuple[ReplicatorImport, list[ReplicatorObject]]:
    """Return the segments of the bucket that are to be imported."""
    objects: list[ReplicatorObject] = []
    passed: list[str] = []
    count = 0
    with Store(wish.theirs) as theirs:
        prefix = f"{wish.region}/" if wish.region else ""
        for each in theirs.list(prefix):
            found = ReplicatorObject.of(each.key, each.size)
            if found is not None:
                objects.append(found)
            else:
                count += 1
                passed += [each.key] if len(passed) < _NAMED else []
    regions = sorted({each.region for each in objects})
    if len(regions) != 1:
        raise ConfigError((_region_problem(wish, regions),))
    kept = [each for each in objects if config.topics.matches(each.topic)]
    return ReplicatorImport(region=regions[0], passed=passed, passed_count=count), kept


class _Import:
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

    def plan(self, objects: Iterable[ReplicatorObject]) -> None:
        """Find the pieces of each partition, and where our archive of it ends."""
        by_partition: defaultdict[tuple[TopicName, int], list[ReplicatorObject]] = defaultdict(list)
        for each in objects:
            by_partition[each.topic, each.partition].append(each)
        look = self._look() if self._wish.same_source else None
        for (topic, number), some in sorted(by_partition.items()):
            self._found.partitions.append(self._partition(topic, number, pieces_of(some), look))

    def _look(self) -> SourceLook:
        with Admin(self._config.source, Side.SOURCE) as source:
            found = SourceLooks(source, self._config.topics).look()
        require_cluster(self._config, self._log.state, found.cluster)
        return found

    def _partition(
        self, topic: TopicName, number: int, pieces: PartitionPieces, look: SourceLook | None
    ) -> ImportedPartition:
        begin = pieces.pieces[0].start
        why = ""
        identity = self._identity(topic, number, look)
        if identity is None:
            why = "the source has no such topic now; import it without --same-source"
            identity = self._identity(topic, number, None)
        assert identity is not None  # noqa: S101  # names are always known
        known = self._log.state.partitions.get(identity)
        if known is not None and begin < known.begin:
            why = why or (
                f"our archive of it begins at offset {known.begin}, and nothing can be put before"
                " that; import before the first run, or into another region"
            )
        made = ImportedPartition(
            topic=topic,
            id=identity,
            pieces=pieces,
            at=begin if known is None else known.archived_to,
            why=why,
        )
        ends = look.ends.get(identity) if look is not None else None
        if ends is not None and ends.stable_end < made.end and not made.why:
            made.why = (
                f"the source ends at offset {ends.stable_end}, before {made.end}, where the bucket"
                " does: it is another topic, or lost records; import it without --same-source"
            )
        return made

    def _identity(
        self, topic: TopicName, number: int, look: SourceLook | None
    ) -> PartitionId | None:
        if look is None:
            cluster = imported_cluster(self._found.region)
            return PartitionId(cluster, TopicId(f"name:{topic}"), number)
        for topic_id, info in look.topics.items():
            if info.name == topic:
                return PartitionId(look.cluster, topic_id, number)
        return None

    def run(self, spark: Starting, show: Callable[[ReplicatorImport], None]) -> None:
        """Import round by round until nothing is left."""
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
                    writer=LogWriter(
                        owner=self._lease.owner,
                        host=this_host(),
                        work=WORK,
                        epoch=self._lease.epoch,
                        towpath=__version__,
                    ),
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


def bucket_of(config: StoreConfig, url: str) -> StoreConfig:
    """Return the store with another URL: with the login of our store if it is of the same kind.

    Raises:
        ConfigError: The URL is none of a store.
    """
    own = {name: getattr(config, name) for name in config.model_fields_set}
    if url.partition(":")[0] != config.kind:
        own = {}
    try:
        return StoreConfig.model_validate({**own, "url": url, "spread": False})
    except ValidationError as error:
        text = error.errors(include_input=False, include_url=False)[0]["msg"]
        raise ConfigError((ConfigProblem("--from", text.removeprefix("Value error, ")),)) from None
