"""The whole file of an archive: topics of a source, the store that keeps them, and restores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool

from towpath.archive.config.archived_schemas import ArchivedSchemas
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.config.iceberg_catalog import IcebergConfig
from towpath.archive.config.locks import lock_notes
from towpath.archive.config.restore_section import RestoreConfig
from towpath.archive.config.retention import RetentionConfig
from towpath.archive.config.segments import SegmentsConfig
from towpath.model.nouns import ArchiveName, ClusterId, SegmentFormat
from towpath.settings.naming import Expression, fits
from towpath.settings.problems import not_empty
from towpath.settings.sections.clusters import ClusterConfig
from towpath.settings.sections.metrics import MetricsConfig
from towpath.settings.sections.region import region_name
from towpath.settings.sections.store import StoreConfig, StoreKind, StoreLayout
from towpath.settings.sections.topics import TopicSelection
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class ArchivedGroups(Section):
    """The consumer groups whose positions are archived with the records."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Regular expressions; the positions of a group whose whole name matches one"
        " are archived, as far as they are in archived topics.",
    )
    exclude: tuple[Expression, ...] = Field(
        (), description="Regular expressions; a group whose whole name matches one is left out."
    )
    every: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("5m"), description="How often positions are looked at."
    )

    def takes(self, group: str) -> bool:
        """Return whether the committed offsets of a group are archived."""
        return fits(group, self.include) and not fits(group, self.exclude)


class RestoredRecords(StrEnum):
    """What a restore does with records at the source that an earlier restore wrote there."""

    LEAVE_OUT = "leave_out"
    KEEP = "keep"


class ArchiveRunConfig(Section):
    """Limits and intervals of the run of an archive; the defaults suit nearly everyone."""

    discover: Annotated[Duration, between("100ms", "1h")] = Field(
        Duration.parse("5s"),
        description="How often to look for new records, topics and partitions.",
    )
    heartbeat: Annotated[Duration, between("1s", "1d")] = Field(
        Duration.parse("1m"),
        description="How often the commit log gets an entry while nothing is new, which tells"
        " `nothing new` from `broken`.",
    )
    memory: Annotated[Size, between("8MiB", "4GiB")] = Field(
        Size.parse("96MiB"), description="Memory for record bytes in one slice."
    )
    events: Annotated[Duration, between("1h", "3650d")] = Field(
        Duration.parse("90d"),
        description="How long events stay in the store, which `towpath archive events` shows.",
    )


def _archive_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be 1 to 100 letters, digits, '.', '_' or '-'")
    return text


class ArchiveConfig(Section):
    """The complete configuration of an archive."""

    kind: Literal["archive"] = Field(description="What the file describes: `archive`.")
    archive: Annotated[ArchiveName, AfterValidator(_archive_name)] = Field(
        description="Name of this archive in logs, metrics, and the ledger of a target; never"
        " change it later."
    )
    source: ClusterConfig = Field(description="The cluster whose topics are archived.")
    cluster: Annotated[ClusterId, Field(min_length=1)] | None = Field(
        None,
        description="Id of the source's cluster; a run refuses any other one. It must be given only"
        " where the region has the archive of another cluster, whose place this one has taken.",
    )
    store: StoreConfig = Field(description="Where the archive is kept.")
    region: Annotated[str, AfterValidator(region_name)] = Field(
        description="Name of this place among those that archive into the same store; part of all"
        " keys. One run writes a region; never change it later.",
    )
    topics: TopicSelection = Field(description="Which topics are archived.")
    format: SegmentFormat = Field(
        SegmentFormat.PARQUET,
        description="How objects hold records: `parquet`, which anyone can query, or whole"
        " `batches` as the source has them, which costs least.",
    )
    segments: SegmentsConfig = Field(
        SegmentsConfig.model_construct(),
        description="When a segment is complete, and which ones share an object.",
    )
    group: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="A consumer group of the source whose offsets are set to what is archived, for"
        " tools that watch its lag; nobody may consume with it. Default: none is written.",
    )
    groups: ArchivedGroups = Field(
        ArchivedGroups.model_construct(),
        description="Consumer groups whose positions are archived, so that they can be brought back"
        " with the records.",
    )
    access: StrictBool = Field(
        True,
        description="Whether ACLs, quotas, and the mechanisms of SCRAM users are archived, as far"
        " as the login may read them. Passwords never are: no cluster tells them.",
    )
    schemas: ArchivedSchemas | None = Field(
        None,
        description="A schema registry whose subjects are archived, so that they can be brought"
        " back before the records. Default: no registry is asked.",
    )
    restored: RestoredRecords | None = Field(
        None,
        description="What becomes of records that a restore of another archive wrote to the source:"
        " `leave_out`, as regions need that restore each other's archives (a restore of this"
        " archive then lacks them), or `keep`. It must be given only where there are such records."
        " What a restore of this archive wrote is always archived.",
    )
    compaction: tuple[CompactionConfig, ...] = Field(
        (),
        description="Which segments become larger ones, and when: a list of rules, each applied by"
        " itself.",
    )
    retention: tuple[RetentionConfig, ...] = Field(
        (),
        description="How much is kept, for `archive prune`: a list of rules. Nothing is removed by"
        " itself. Default: everything stays.",
    )
    grace: Annotated[Duration, between("0s", "3650d")] = Field(
        Duration.parse("1d"),
        description="How long objects stay after their segments were replaced or removed, for those"
        " who read without saying so; objects that no segment ever had stay as long.",
    )
    iceberg: IcebergConfig | None = Field(
        None, description="The catalog in which the files of the archive are Iceberg tables."
    )
    target: ClusterConfig | None = Field(None, description="The cluster that a restore writes to.")
    restore: RestoreConfig = Field(
        RestoreConfig.model_construct(), description="What a restore writes, and what it waits for."
    )
    run: ArchiveRunConfig = Field(
        ArchiveRunConfig.model_construct(), description="Limits and intervals of a run."
    )
    metrics: MetricsConfig = Field(
        MetricsConfig.model_construct(), description="Metrics for Prometheus (docs/metrics.md)."
    )

    @contradictions
    def _opens_no_foreign_batches(self) -> Iterator[Placed]:
        layout = self.store.layout
        for name in ("filter", "partitions") if layout is not StoreLayout.ARCHIVE else ():
            if getattr(self.restore, name, None):
                text = f"is not used with store.layout: {layout}, whose batches are not opened"
                yield Placed(("restore", name), text)
        if layout is not StoreLayout.ARCHIVE and self.restore.schemas is not None:
            text = f"is not used with store.layout: {layout}, which has no schemas"
            yield Placed(("restore", "schemas"), text)

    @contradictions
    def _hears_of_restored_regions(self) -> Iterator[Placed]:
        rules = self.restore
        stores = [each.store or self.store for each in rules.sources] or [self.store]
        if rules.notify is not None and all(each.kind is not StoreKind.S3 for each in stores):
            kinds = ", ".join(sorted({f"{each.kind}://" for each in stores}))
            text = "is for buckets that send events to SQS (s3://), and nothing is restored from"
            yield Placed(("restore", "notify"), f"{text} one ({kinds}); leave it out")

    @contradictions
    def _follows_the_living(self) -> Iterator[Placed]:
        if "follow" in self.restore.model_fields_set and (text := self.early_silence):
            yield Placed(("restore", "follow", "silence"), text)

    def notes(self) -> Iterator[str]:
        """Yield sentences about what the store's object locks prevent from being deleted."""
        yield from lock_notes(self.store, self.compaction, self.retention)

    @property
    def early_silence(self) -> str:
        """The problem with `restore.follow.silence` where this region is followed, or ""."""
        rules, heartbeat = self.restore, self.run.heartbeat
        regions = {each.region for each in rules.sources} or {rules.region or self.region}
        silence = rules.follow.silence
        if self.region not in regions or silence > heartbeat:
            return ""
        return (
            f"{silence} is not longer than run.heartbeat, {heartbeat}, so region {self.region}"
            " would count as silent between two signs of life; make it several times as long"
        )

    @property
    def holds_credentials(self) -> bool:
        """Whether the slices sent to Spark carry credentials that others could log in with."""
        return self.source.holds_credentials or self.store.holds_credentials
