"""The scope and the findings of an archive's verification. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import xxhash
from pydantic import TypeAdapter

from towpath.archive.log import ArchiveState
from towpath.archive.model import PartitionId
from towpath.model.nouns import TopicName

DIFFERENT = "ARCHIVE_DIFFERENT"
"""The code of a problem that shows in comparison with the source; others are those of errors."""
_ALL = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyScope:
    """The scope of a verification: which objects, and how deeply.

    Attributes:
        deep: Whether objects are read.
        source: Whether they are compared with what the source still has, for which they are read.
        topics: Only topics whose whole name matches; `None` for all.
        partitions: Only partitions with these numbers; `None` for all.
        share: Which share of the objects is looked at, from 0 to 1; the log is always read wholly.
        seed: Chooses the objects of that share.
    """

    deep: bool = False
    source: bool = False
    topics: re.Pattern[str] | None = None
    partitions: frozenset[int] | None = None
    share: float = 1.0
    seed: int = 0

    @property
    def reads(self) -> bool:
        """Whether objects are read."""
        return self.deep or self.source

    @property
    def names(self) -> bool:
        """Whether the scope names topics or partitions."""
        return self.topics is not None or self.partitions is not None

    @property
    def narrowed(self) -> bool:
        """Whether some objects are left out."""
        return self.names or self.share < 1

    def takes(self, topic: TopicName, partition: int) -> bool:
        """Return whether a partition is in the scope."""
        is_named = self.topics is None or bool(self.topics.fullmatch(topic))
        return is_named and (self.partitions is None or partition in self.partitions)

    def takes_object(self, key: str) -> bool:
        """Return whether an object is in the scope, by sampling its key."""
        return xxhash.xxh3_64_intdigest(key.encode(), self.seed) < self.share * _ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveProblem:
    """A problem found in an archive.

    Attributes:
        code: Its stable code, which the runbook explains.
        about: What it is about: a key, or a topic with a partition.
        why: What is wrong.
    """

    code: str
    about: str
    why: str

    def __str__(self) -> str:
        return f"{self.about}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSegment:
    """The result of verifying one segment.

    Attributes:
        id: Its partition.
        records: Number of records that were read.
        compared: Records that are the same at the source.
        gone: Records that only the archive has, as retention or compaction removed them since.
        uncompared: Why it was not compared with the source, "" if it was, or was not to be.
    """

    id: PartitionId
    records: int = 0
    compared: int = 0
    gone: int = 0
    uncompared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedObject:
    """The result of verifying an object, or a segment without an object.

    Attributes:
        bytes: Bytes that were read.
        unsummed: Whether the commit log does not know its checksum.
        segments: What was found of its segments.
        problems: What is wrong with it.
    """

    bytes: int = 0
    unsummed: bool = False
    segments: tuple[CheckedSegment, ...] = ()
    problems: tuple[ArchiveProblem, ...] = ()

    def to_json(self) -> str:
        """Return the result as JSON text, for a Spark row."""
        return _json.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> CheckedObject:
        """Parse the JSON text that `to_json` returned."""
        return _json.validate_json(text)


_json = TypeAdapter(CheckedObject)


@dataclass(slots=True, kw_only=True)
class CheckedPartition:
    """The result of verifying a partition; `CheckedSegment` documents the counts.

    Attributes:
        topic: The name of its topic.
        segments: Number of segments that were read.
    """

    topic: TopicName
    segments: int = 0
    records: int = 0
    compared: int = 0
    gone: int = 0
    uncompared: str = ""

    def add(self, found: CheckedSegment) -> None:
        """Add the result of a segment."""
        self.segments += 1
        self.records += found.records
        self.compared += found.compared
        self.gone += found.gone
        self.uncompared = self.uncompared or found.uncompared


@dataclass(slots=True, kw_only=True)
class CheckedArchive:
    """The result of verifying an archive.

    Attributes:
        where: Its commit log, as a URL.
        scope: What was verified.
        version: The version that was verified.
        entries: Number of entries of the log that were read.
        unsummed_entries: Entries of an older Towpath, which have no checksum.
        unsummed_checkpoints: Checkpoints of an older Towpath, which have none either.
        segments: Number of segments that were looked at, in so many `objects`.
        bytes: Bytes of objects that were read.
        unsummed: Objects whose checksum could not be compared: the commit log does not know it, or
            the store does not tell it and they were not read.
        orphans: Objects that are in no entry, and their bytes; `None` if they were not counted.
        unnamed: Their keys, at most 1,000 of them.
        stranded: Keys of those that hold what the archive lacks: the entries that named them may be
            lost, or a writer still has to commit them.
        partitions: What was found of partitions whose objects were read.
        problems: All that is wrong.
        notes: What a person should know besides.
    """

    where: str
    scope: VerifyScope
    version: int = 0
    entries: int = 0
    unsummed_entries: int = 0
    unsummed_checkpoints: int = 0
    segments: int = 0
    objects: int = 0
    bytes: int = 0
    unsummed: int = 0
    orphans: tuple[int, int] | None = None
    unnamed: tuple[str, ...] = ()
    stranded: tuple[str, ...] = ()
    partitions: dict[PartitionId, CheckedPartition] = field(default_factory=dict)
    problems: list[ArchiveProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def looked_at_nothing(self) -> bool:
        """Whether the scope excluded everything except the commit log."""
        return self.scope.narrowed and not self.segments

    def add(self, found: CheckedObject, state: ArchiveState) -> None:
        """Add the result of an object."""
        self.bytes += found.bytes
        self.unsummed += found.unsummed
        self.problems += found.problems
        for each in found.segments:
            topic = state.partitions[each.id].topic
            self.partitions.setdefault(each.id, CheckedPartition(topic=topic)).add(each)
