"""The section `records`: where copying begins, and which offsets the copies get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
)

from towpath.settings.naming import Expression, fits
from towpath.settings.problems import not_one_of
from towpath.settings.sections.region import region_name
from towpath.settings.sections.store import StoreConfig, StoreLayout
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.times import milliseconds, parse_time
from towpath.settings.units import Duration, between

MOST_FILL = 2_000_000_000
"""Upper bound of `records.fill`, in offsets of one partition."""
_WORD = re.compile(r"[A-Za-z_]*")


class StartAt(StrEnum):
    """Where mirroring of a new partition begins; the file may also give a time."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"


class OffsetsPolicy(StrEnum):
    """The policies about keeping record offsets."""

    AUTO = "auto"
    IDENTICAL = "identical"
    MAPPED = "mapped"


class OnGap(StrEnum):
    """The policies for records that the source lost before they were copied."""

    STOP = "stop"
    RECORD = "record"
    ARCHIVE = "archive"


class WithoutArchive(StrEnum):
    """The policies for lost records that the archive does not have either."""

    STOP = "stop"
    RECORD = "record"


class GapRules(Section):
    """The policies for records that the source lost before they were copied, by topic."""

    default: OnGap = Field(
        OnGap.STOP,
        description="For topics that no expression names: `stop` that partition, `record` the gap"
        " in the ledger and go on, or take the records from the `archive` (docs/archive.md).",
    )
    topics: dict[Expression, WithoutArchive] = Field(
        default_factory=dict,
        description="Regular expressions, each with `stop` or `record`. For a source topic whose"
        " whole name matches one, that is done about records that nothing gives; the first"
        " expression that matches counts.",
    )

    def stops(self, topic: str) -> bool | None:
        """Return whether a topic stops at a gap, `None` if no expression matches the topic."""
        found = (policy for each, policy in self.topics.items() if fits(topic, (each,)))
        policy = next(found, None)
        return None if policy is None else policy is WithoutArchive.STOP


def _of_all(value: object) -> object:
    """Return the mapping that a policy alone stands for."""
    if isinstance(value, Mapping | GapRules):
        return value
    if not isinstance(value, str) or value not in set(OnGap):
        raise ValueError(not_one_of(value, [*OnGap]))
    return {"default": value}


OnGaps = Annotated[GapRules, BeforeValidator(_of_all, json_schema_input_type=OnGap | GapRules)]


class GapArchive(Section):
    """The archive with the records that the source has deleted."""

    store: StoreConfig = Field(description="Where the archive is kept.")
    region: Annotated[str, AfterValidator(region_name)] = Field(
        description="The region whose archive is read; it must be of the source of this link."
    )
    wait: Annotated[Duration, between("1s", "7d")] = Field(
        Duration.parse("10m"),
        description="How long a partition waits for records that the archive does not give now: the"
        " store is away, an object is missing, or it is not archived so far.",
    )
    otherwise: WithoutArchive = Field(
        WithoutArchive.STOP,
        description="What is done about records that the archive does not give: `stop` or `record`,"
        " as `on_gap` says without an archive.",
    )

    @contradictions
    def _is_ours(self) -> Iterator[Placed]:
        if self.store.layout is not StoreLayout.ARCHIVE:
            text = (
                f"is {self.store.layout}; gaps are filled from an archive of `towpath archive run`"
            )
            yield Placed(("store", "layout"), text)


def _start(value: object) -> StartAt | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return milliseconds(value)
    if not isinstance(value, str) or (_WORD.fullmatch(value) and value not in set(StartAt)):
        raise ValueError(not_one_of(value, [*StartAt, "a time such as 2025-01-31T08:00:00Z"]))
    if value in set(StartAt):
        return StartAt(value)
    return parse_time(value, else_write="earliest")


Start = Annotated[
    StartAt | int,
    PlainValidator(_start, json_schema_input_type=str | int),
    PlainSerializer(lambda start: start),
]


class RecordsConfig(Section):
    """The start of copying, and the policy for offsets."""

    start: Start = Field(
        StartAt.EARLIEST,
        description="Where a new partition begins: `earliest`, `latest` (for what is there when the"
        " link first runs; what appears later is copied whole), `committed` (where the group"
        " `group` stands), or a time: ISO 8601 with a zone, or milliseconds since 1970.",
    )
    group: str | None = Field(
        None,
        description="Consumer group of the source whose offsets `start: committed` takes.",
    )
    commit: Annotated[Duration, between("1s", "1h")] | None = Field(
        None,
        description="How often the position of each partition is committed to `group` at the"
        " source, for tools that watch its lag, and for another program that goes on with it."
        " Default: never; then a link writes nothing at its source.",
    )
    offsets: OffsetsPolicy = Field(
        OffsetsPolicy.AUTO,
        description="`identical` demands equal offsets on both sides, `mapped` keeps a map of them,"
        " `auto` is identical wherever it can be.",
    )
    on_gap: OnGaps = Field(
        GapRules.model_construct(),
        description="When records of the source were lost before we read them: `stop` that"
        " partition, `record` the gap in the ledger and go on, or take them from the `archive`"
        " (docs/archive.md); or a mapping, to say it by topic.",
    )
    archive: GapArchive | None = Field(
        None,
        description="The archive of the source from which `on_gap: archive` takes records.",
    )

    fill: Annotated[Count, Strict(), Field(ge=0, le=MOST_FILL)] = Field(
        Count(10_000_000),
        description="How many offsets of one compacted partition, of those that compaction left"
        " empty, are filled on the target to keep offsets identical; beyond it, the partition is"
        " mapped, and with 0 none are filled. Offsets of transactions (markers, aborted records)"
        " are filled in any case and do not count; where offsets are mapped, they are filled unless"
        " this is 0. Each takes a transaction marker of 78 bytes until the target's cleaner removes"
        " it, and needs the ACL Alter or ClusterAction on the cluster (docs/rights.md).",
    )

    def stops_on_gap(self, topic: str) -> bool:
        """Return whether partitions of a source topic stop at gaps that no archive fills."""
        said = self.on_gap.stops(topic)
        return self.stops_by_default if said is None else said

    @property
    def stops_by_default(self) -> bool:
        """Whether partitions stop at gaps, for topics that `on_gap.topics` does not match."""
        if self.archive is not None:
            return self.archive.otherwise is WithoutArchive.STOP
        return self.on_gap.default is OnGap.STOP

    @contradictions
    def _archive_of_gaps(self) -> Iterator[Placed]:
        by_archive = self.on_gap.default is OnGap.ARCHIVE
        if by_archive and self.archive is None:
            text = "is required by `on_gap: archive`: the archive to take records from"
            yield Placed(("archive",), text)
        if not by_archive and self.archive is not None:
            yield Placed(("archive",), "is used with `on_gap: archive` only")

    @contradictions
    def _commit_of_group(self) -> Iterator[Placed]:
        if self.commit is not None and not self.group:
            text = "needs `start: committed` with a `group`, to which it commits"
            yield Placed(("commit",), text)

    @contradictions
    def _group_of_committed(self) -> Iterator[Placed]:
        committed = self.start is StartAt.COMMITTED
        if committed and not self.group:
            text = "is required by `start: committed`: the group whose offsets to take"
            yield Placed(("group",), text)
        if not committed and self.group:
            yield Placed(("group",), "is used with `start: committed` only")
