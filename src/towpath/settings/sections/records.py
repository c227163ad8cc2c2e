"""The section `records`: where copying begins, and which offsets the copies get."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    ValidationInfo,
    field_validator,
    model_validator,
)

from towpath.settings.naming import Expression, fits
from towpath.settings.problems import not_one_of, placed_error
from towpath.settings.sections.region import region_name
from towpath.settings.sections.store import StoreConfig, StoreLayout
from towpath.settings.sections.topics import Count
from towpath.settings.shape import Section
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

    @model_validator(mode="after")
    def _is_ours(self) -> Self:
        if self.store.layout is not StoreLayout.ARCHIVE:
            text = (
                f"is {self.store.layout}; gaps are filled from an archive of `towpath archive run`"
            )
            raise placed_error(text, "store", "layout")
        return self


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
        validate_default=True,
        description="Consumer group of the source whose offsets `start: committed` takes.",
    )
    commit: Annotated[Duration, between("1s", "1h")] | None = Field(
        None,
        validate_default=True,
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
        validate_default=True,
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

    @field_validator("archive")
    @classmethod
    def _archive_of_gaps(
        cls, archive: GapArchive | None, info: ValidationInfo
    ) -> GapArchive | None:
        rules = info.data.get("on_gap")
        on_gap = None if rules is None else rules.default
        if on_gap is OnGap.ARCHIVE and archive is None:
            raise ValueError("is required by `on_gap: archive`: the archive to take records from")
        if archive is not None and on_gap not in {None, OnGap.ARCHIVE}:
            raise ValueError("is used with `on_gap: archive` only")
        return archive

    @field_validator("commit")
    @classmethod
    def _commit_of_group(cls, commit: Duration | None, info: ValidationInfo) -> Duration | None:
        if commit is not None and not info.data.get("group", "unknown"):
            raise ValueError("needs `start: committed` with a `group`, to which it commits")
        return commit

    @field_validator("group")
    @classmethod
    def _group_of_committed(cls, group: str | None, info: ValidationInfo) -> str | None:
        start = info.data.get("start")
        if start is StartAt.COMMITTED and not group:
            raise ValueError("is required by `start: committed`: the group whose offsets to take")
        if group and start is not None and start is not StartAt.COMMITTED:
            raise ValueError("is used with `start: committed` only")
        return group
