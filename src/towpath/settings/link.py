"""The whole file of a link from a source to a target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    Strict,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)

from towpath.model.changes import RecordChange
from towpath.model.nouns import LinkName
from towpath.settings.naming import Expression, fits
from towpath.settings.problems import Placed, not_one_of, placed_error, require_none
from towpath.settings.sections.access import AccessConfig
from towpath.settings.sections.changes import ChangesConfig, change_of
from towpath.settings.sections.clusters import ClusterConfig
from towpath.settings.sections.glue import two_answers
from towpath.settings.sections.groups import GroupsConfig
from towpath.settings.sections.metrics import MetricsConfig
from towpath.settings.sections.rates import MaxRates, RateConfig
from towpath.settings.sections.region import region_name
from towpath.settings.sections.schemas import SchemaIds, SchemasConfig
from towpath.settings.sections.store import StoreConfig, StoreLayout
from towpath.settings.sections.topics import Count, TopicsConfig
from towpath.settings.shape import Section
from towpath.settings.times import milliseconds, parse_time
from towpath.settings.units import Duration, Size, between

_LINK = re.compile(r"[A-Za-z0-9._-]{1,100}")
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

    @field_validator("group")
    @classmethod
    def _group_of_committed(cls, group: str | None, info: ValidationInfo) -> str | None:
        start = info.data.get("start")
        if start is StartAt.COMMITTED and not group:
            raise ValueError("is required by `start: committed`: the group whose offsets to take")
        if group and start is not None and start is not StartAt.COMMITTED:
            raise ValueError("is used with `start: committed` only")
        return group


class RunConfig(Section):
    """Limits and intervals of a run; the defaults suit nearly everyone."""

    round: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("4h"), description="Longest duration of a round."
    )
    discover: Annotated[Duration, between("100ms", "1h")] = Field(
        Duration.parse("5s"), description="How often to look for new topics and partitions."
    )
    sync_interval: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("5m"),
        description="How often to compare everything else that the file asks for: configs, ACLs,"
        " users, quotas.",
    )
    balance: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"),
        description="How long partitions of one slice must lag, while another slice has room,"
        " before all partitions are spread over the slices anew by their load; within five times as"
        " long that is not done again.",
    )
    receipts: Annotated[Duration, between("10ms", "1m")] = Field(
        Duration.parse("1s"),
        description="How often the progress of a partition is written to the ledger.",
    )
    memory: Annotated[Size, between("8MiB", "4GiB")] = Field(
        Size.parse("96MiB"), description="Memory for record bytes in one slice."
    )
    max_rate: MaxRates = Field(
        RateConfig.model_construct(),
        description="The most bytes per second to copy, such as `50MB` for the link as a whole, or"
        " a mapping. `towpath rate` changes it while the link runs (docs/rate.md).",
    )


def _link_name(text: str) -> str:
    if not _LINK.fullmatch(text):
        raise ValueError("must be 1 to 100 letters, digits, '.', '_' or '-'")
    return text


class LinkConfig(Section):
    """The complete configuration of a link."""

    kind: Literal["link"] = Field("link", description="What the file describes: `link`.")
    source: ClusterConfig = Field(description="The cluster to mirror from.")
    target: ClusterConfig = Field(description="The cluster to mirror to.")
    link: Annotated[LinkName, AfterValidator(_link_name)] = Field(
        description="Name of this link in the ledger on the target; never change it later."
    )
    topics: TopicsConfig = Field(description="Which topics, and their names on the target.")
    records: RecordsConfig = Field(
        RecordsConfig.model_construct(),
        description="Where copying begins, and which offsets the copies get.",
    )
    groups: GroupsConfig | None = Field(
        None,
        description="Groups of consumers that go on on the target (docs/groups.md); `{}` for all of"
        " them. Without it, `run` and `cutover` touch no group.",
    )
    schemas: SchemasConfig | None = Field(
        None,
        description="Subjects of a schema registry that the target's registry gets"
        " (docs/schemas.md). Without it, no registry is touched.",
    )
    changes: tuple[ChangesConfig, ...] = Field(
        (),
        description="What happens to records on their way (docs/changes.md): a list; for each topic"
        " the first entry counts that names it. Topics that none names are copied as they are, but"
        " for schema ids with `schemas.ids: translate`.",
    )
    access: AccessConfig = Field(
        AccessConfig.model_construct(), description="Who may do what on the target."
    )
    prune: StrictBool = Field(
        False,
        description="Whether what this link made on the target is removed when the source no longer"
        " has it, or the file no longer asks for it; without it, such things are named. What it"
        " made of a subject that is switched off under `access` stays in any case, as does a user"
        " that is not listed any more while the source has it: how many, is told.",
    )
    run: RunConfig = Field(
        RunConfig.model_construct(), description="Limits and intervals of a run."
    )
    metrics: MetricsConfig = Field(
        MetricsConfig.model_construct(), description="Metrics for Prometheus (docs/metrics.md)."
    )

    @property
    def holds_credentials(self) -> bool:
        """Whether the slices sent to Spark carry credentials that others could log in with."""
        registries = (self.schemas.source, self.schemas.target) if self.schemas else ()
        stores = (self.records.archive.store,) if self.records.archive else ()
        places = (self.source, self.target, *registries, *stores)
        return any(each.holds_credentials for each in places)

    @property
    def changes_records(self) -> bool:
        """Whether records of any topic may be changed."""
        return bool(self.changes) or self._translates

    @property
    def _translates(self) -> bool:
        return self.schemas is not None and self.schemas.ids is SchemaIds.TRANSLATE

    def change_of(self, topic: str) -> RecordChange:
        """Return the change of a source topic's records."""
        strict = self.schemas is not None and self.schemas.strict
        return change_of(self.changes, topic, translated=self._translates, strict=strict)

    @field_validator("changes")
    @classmethod
    def _possible(
        cls, changes: tuple[ChangesConfig, ...], info: ValidationInfo
    ) -> tuple[ChangesConfig, ...]:
        require_none([*_impossible(changes, info.data), *two_answers(changes)])
        return changes

    @field_validator("topics")
    @classmethod
    def _not_onto_itself(cls, topics: TopicsConfig, info: ValidationInfo) -> TopicsConfig:
        source, target = info.data.get("source"), info.data.get("target")
        if source and target and topics.keeps_names:
            shared = set(source.bootstrap) & set(target.bootstrap)
            if shared:
                text = f"source and target are one cluster ({min(shared)}); give the mirror topics"
                raise placed_error(f"{text} another name, such as copy.{{topic}}", "rename")
        return topics


def _impossible(changes: Iterable[ChangesConfig], read: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield changes that the sections `records` and `schemas` leave no room for.

    Args:
        changes: The section `changes`.
        read: The sections before it that are without problems.
    """
    records, schemas = read.get("records"), read.get("schemas")
    keeps_offsets = records is not None and records.offsets is OffsetsPolicy.IDENTICAL
    translates = schemas is not None and schemas.ids is SchemaIds.TRANSLATE
    for index, change in enumerate(changes):
        if change.drop and keeps_offsets:
            text = "offsets cannot stay identical where records are dropped; see records.offsets"
            yield Placed((index, "drop"), text)
        if change.ids and not (change.ids.by_file or translates) and "schemas" in read:
            text = "needs `schemas.ids: translate`, which makes new ids"
            yield Placed((index, "ids"), text)
