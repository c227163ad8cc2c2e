"""The parts of a kafka-replicator bucket that an import takes into an archive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from towpath.archive.config import ArchiveConfig
from towpath.archive.imports.bucket_layout import (
    PartitionPieces,
    ReplicatorObject,
    ReplicatorPiece,
    pieces_of,
)
from towpath.archive.imports.replicator_rows import Doubts, EmptyRules
from towpath.archive.log import ArchiveState
from towpath.archive.model import PartitionId
from towpath.archive.write.source_cluster import imported_cluster, require_cluster
from towpath.archive.write.source_look import SourceLook, SourceLooks
from towpath.cluster.admin import Admin
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import Side, SourceOffset, TopicId, TopicName
from towpath.settings import StoreConfig
from towpath.store import Store

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWish:
    """The request of an import: bucket, region, and rules for empty keys and values.

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
    """The progress of the import of one partition.

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
        """The offset after the last record of the partition in the bucket."""
        return self.pieces.pieces[-1].end

    @property
    def lost(self) -> int:
        """Number of offsets that are missing in holes of more than one offset."""
        sizes = (each.end - each.start for each in self.pieces.holes)
        return sum(size for size in sizes if size > 1)

    @property
    def left(self) -> list[ReplicatorPiece]:
        """The pieces that are not imported yet."""
        if self.why:
            return []
        return [
            replace(each, start=max(each.start, self.at))
            for each in self.pieces.pieces
            if each.end > self.at
        ]


@dataclass(slots=True, kw_only=True)
class ReplicatorImport:
    """The progress and result of an import from kafka-replicator.

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
        """Whether every partition was imported without a failure or a lost offset."""
        return not any(each.why or each.lost for each in self.partitions)


def bucket_of(config: StoreConfig, url: str) -> StoreConfig:
    """Return the store of a bucket's URL, with our store's login if both are of the same kind.

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


def listed(
    config: ArchiveConfig, wish: ImportWish
) -> tuple[ReplicatorImport, list[ReplicatorObject]]:
    """List the bucket; return an import that has not begun, and the segments to import.

    Raises:
        ConfigError: The bucket has no segments, or those of several regions.
        StoreError: The bucket cannot be read.
    """
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


def partitions_of(
    config: ArchiveConfig,
    wish: ImportWish,
    region: str,
    state: ArchiveState,
    objects: Iterable[ReplicatorObject],
) -> list[ImportedPartition]:
    """Return the pieces of each partition, and the end of each in our archive.

    Args:
        config: Our archive.
        wish: What is imported.
        region: The region of kafka-replicator.
        state: What our archive holds.
        objects: The segments.

    Raises:
        ClusterError: The source could not be asked.
    """
    by_partition: defaultdict[tuple[TopicName, int], list[ReplicatorObject]] = defaultdict(list)
    for each in objects:
        by_partition[each.topic, each.partition].append(each)
    judge = _Judge(region, state, _look(config, state) if wish.same_source else None)
    return [
        judge.partition(topic, number, pieces_of(some))
        for (topic, number), some in sorted(by_partition.items())
    ]


def _look(config: ArchiveConfig, state: ArchiveState) -> SourceLook:
    with Admin(config.source, Side.SOURCE) as source:
        found = SourceLooks(source, config.topics).look()
    require_cluster(config, state, found.cluster)
    return found


class _Judge:
    """Assigns partitions of the bucket to those of our archive, or says why not."""

    def __init__(self, region: str, state: ArchiveState, look: SourceLook | None) -> None:
        self._region, self._state, self._look = region, state, look

    def partition(
        self, topic: TopicName, number: int, pieces: PartitionPieces
    ) -> ImportedPartition:
        begin, look, why = pieces.pieces[0].start, self._look, ""
        identity = self._identity(topic, number, look)
        if identity is None:
            why = "the source has no such topic now; import it without --same-source"
            identity = self._identity(topic, number, None)
        assert identity is not None  # noqa: S101  # names are always known
        known = self._state.partitions.get(identity)
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
            cluster = imported_cluster(self._region)
            return PartitionId(cluster, TopicId(f"name:{topic}"), number)
        for topic_id, info in look.topics.items():
            if info.name == topic:
                return PartitionId(look.cluster, topic_id, number)
        return None
