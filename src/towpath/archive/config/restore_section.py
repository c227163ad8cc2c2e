"""The section `restore` of an archive's file: what is restored, under which names, and how."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
)

from towpath.archive.config.archived_schemas import RestoredSchemas
from towpath.archive.config.portions import RestoredFilter, RestoredPartitions, RestoredRange
from towpath.settings.naming import Expression, Renaming, fits
from towpath.settings.problems import not_empty
from towpath.settings.sections.access import AccessConfig
from towpath.settings.sections.changes import Codec
from towpath.settings.sections.notify import NotifyConfig
from towpath.settings.sections.records import MOST_FILL, OffsetsPolicy
from towpath.settings.sections.region import region_name
from towpath.settings.sections.store import StoreConfig
from towpath.settings.sections.topics import (
    ConfigRules,
    Count,
    Replicas,
    ReplicationFactor,
    TopicsConfig,
    template,
)
from towpath.settings.shape import Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between

_MOST_LOOKS = 50
"""Upper bound on the looks for a late part, so that the first pause is not rounded to nothing."""


_NAME = r"^[A-Za-z0-9._-]{1,80}$"


class LostParts(StrEnum):
    """What a restore does where a part of the archive is lost."""

    HALT = "halt"
    SKIP = "skip"


class FilteredOffsets(StrEnum):
    """How a restore reports offsets that the archive left out by its filters."""

    PROBLEM = "problem"
    ACCEPT = "accept"


class RestoredRetention(StrEnum):
    """The retention of a topic after its restore."""

    ARCHIVED = "archived"
    UNLIMITED = "unlimited"


class RestoredTopics(TopicsConfig):
    """The archived topics to restore, with their names and configs on the target."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Python regular expressions; an archived topic whose whole name matches one is"
        " restored.",
    )
    exclude: tuple[Expression, ...] = Field(
        (),
        description="Regular expressions; a topic whose whole name matches one is not restored.",
    )
    rename: Annotated[str, AfterValidator(template)] = Field(
        "{topic}",
        description="Name on the target; `{topic}` stands for the archived name, `{1}` and `{name}`"
        " for groups of the first expression of `include` that matches it.",
    )
    replication_factor: ReplicationFactor = Field(
        Replicas.SOURCE,
        description="Replication factor of new topics: that of the `source` when it was archived,"
        " the target's `broker_default`, or a number; never more than the target has brokers.",
    )
    configs: ConfigRules = Field(
        ConfigRules.model_construct(), description="The archived topic configs that new topics get."
    )
    shared: StrictBool = Field(
        False, description="Whether others may write to the restored topics meanwhile."
    )


_GROUP_NAME = "restore.groups.rename"


class RestoredGroups(Section):
    """The consumer groups whose committed offsets are restored, and their names on the target."""

    include: Annotated[tuple[Expression, ...], AfterValidator(not_empty)] = Field(
        (".*",),
        description="Python regular expressions; an archived group whose whole name matches one"
        " gets its positions in restored topics.",
    )
    exclude: tuple[Expression, ...] = Field(
        (), description="Regular expressions; a group whose whole name matches one is left alone."
    )
    rename: Annotated[str, Field(min_length=1)] = Field(
        "{group}",
        description="Name on the target; `{group}` stands for the archived name, `{1}` and `{name}`"
        " for groups of the first expression of `include` that matches it.",
    )

    @contradictions
    def _groups(self) -> Iterator[Placed]:
        yield from Renaming("group", _GROUP_NAME, self.rename, self.include).faults()

    def matches(self, group: str) -> bool:
        """Return whether the committed offsets of an archived group are restored."""
        return fits(group, self.include) and not fits(group, self.exclude)

    def target_name(self, group: str) -> str:
        """Return the name that an archived group gets on the target.

        Raises:
            ConfigError: The group would have no name.
        """
        return Renaming("group", _GROUP_NAME, self.rename, self.include).name(group)


class LateConfig(Section):
    """How long a restore waits for a missing part of the archive."""

    looks: Annotated[Count, Field(ge=1, le=_MOST_LOOKS, strict=True)] = Field(
        Count(16), description="How often a missing object is looked for again."
    )
    timeout: Annotated[Duration, between("1ms", "30d")] = Field(
        Duration.parse("1d"),
        description="Time after which a missing object counts as lost. The pauses between the"
        " looks double, and take this time together.",
    )


class RestoreSource(Section):
    """One of several regions whose archives are restored, each independently."""

    region: Annotated[str, AfterValidator(region_name)] = Field(
        description="The region whose archive is restored; the own one is allowed."
    )
    name: Annotated[str, Field(pattern=_NAME)] | None = Field(
        None,
        description="What its name in the target's ledger ends with; by default the region. Two"
        " sources of one region need two names.",
    )
    store: StoreConfig | None = Field(
        None, description="Where its archive is, by default in the `store` of this file."
    )
    topics: RestoredTopics | None = Field(
        None,
        description="Which of its topics come back, and under which names; by default as"
        " `restore.topics` says.",
    )
    late: LateConfig | None = Field(
        None, description="How long a missing object is waited for; by default `restore.late`."
    )
    lost: LostParts | None = Field(
        None, description="What happens where an object is lost; by default `restore.lost`."
    )
    schemas: RestoredSchemas | None = Field(
        None,
        description="The schema registry that gets its subjects; by default as `restore.schemas`"
        " says.",
    )
    first_delay: Annotated[Duration, between("0s", "30d")] = Field(
        Duration.parse("0s"),
        description="How old the first segment of a partition must be before the restore of the"
        " partition begins. The commit log says what there is before it, so none is needed.",
    )


class FollowConfig(Section):
    """How `towpath restore run --follow` continues with records that are archived meanwhile."""

    look: Annotated[Duration, between("100ms", "1h")] = Field(
        Duration.parse("5s"),
        description="How often to ask the store for the next version of an archive.",
    )
    silence: Annotated[Duration, between("1s", "30d")] = Field(
        Duration.parse("5m"),
        description="Time without a new version after which an archive counts as silent: nobody"
        " archives there, or nobody copies it here. Longer than its `run.heartbeat`.",
    )


class RestoreCosts(Section):
    """Throughput and prices for the cost estimate in a restore plan."""

    rate: Annotated[Size, between("1KiB", "1024GiB")] = Field(
        Size.parse("100MiB"),
        description="Bytes of records per second that the restore is taken to bring, for its time."
        " Two cores brought about twice as much into a broker beside them.",
    )
    thousand_gets: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Price of 1,000 requests that read objects."
    )
    egress_gib: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Price of 1 GiB that leaves the store, and is read from its class."
    )
    currency: Annotated[str, Field(min_length=1, max_length=10)] = Field(
        "USD", description="The currency of both prices."
    )


class RestoreConfig(Section):
    """How archived topics are restored to the target."""

    name: Annotated[str, Field(pattern=_NAME)] | None = Field(
        None,
        description="Name of the restore in the target's ledger, by which it goes on where it"
        " stood; by default `restore.` and the name of the archive. Two restores at a time need two"
        " names.",
    )
    region: Annotated[str, AfterValidator(region_name)] | None = Field(
        None,
        description="The region whose archive is restored; by default that of this file. All"
        " regions of a store can be restored.",
    )
    sources: tuple[RestoreSource, ...] = Field(
        (),
        description="Several regions whose archives are restored to the same target, each by"
        " itself; by default only `restore.region`.",
    )
    follow: FollowConfig = Field(
        FollowConfig.model_construct(), description="How a restore follows archives that grow."
    )
    notify: NotifyConfig | None = Field(
        None,
        description="A queue that tells of new objects, so that a restore which follows looks at"
        " once.",
    )
    topics: RestoredTopics = Field(
        RestoredTopics.model_construct(),
        description="Which topics come back, and under which names.",
    )
    groups: RestoredGroups = Field(
        RestoredGroups.model_construct(),
        description="Which groups of consumers go on where they stood. Nothing is ever written"
        " under members, or backwards.",
    )
    costs: RestoreCosts = Field(
        RestoreCosts.model_construct(),
        description="What the plan reckons its time and its price with.",
    )
    range: RestoredRange = Field(
        default_factory=RestoredRange,
        description="Which offsets of each partition come back; by default all. `--from` and `--to`"
        " of the command take its place.",
    )
    filter: tuple[RestoredFilter, ...] = Field(
        (),
        description="Which records of some topics come back. Offsets of these topics are mapped.",
    )
    partitions: tuple[RestoredPartitions, ...] = Field(
        (),
        description="Topics that get another number of partitions than they had.",
    )
    access: AccessConfig = Field(
        AccessConfig.model_construct(),
        description="Which archived ACLs, users and quotas come back once all topics are restored.",
    )
    schemas: RestoredSchemas | None = Field(
        None,
        description="The schema registry that gets the archived subjects before the first record"
        " comes back. Default: no registry is touched.",
    )
    offsets: OffsetsPolicy = Field(
        OffsetsPolicy.AUTO,
        description="`identical` demands that records keep their offsets, `mapped` keeps a map of"
        " them, `auto` is identical wherever it can be.",
    )
    fill: Annotated[Count, Field(ge=0, le=MOST_FILL, strict=True)] = Field(
        Count(10_000_000),
        description="How many offsets of one partition without a record are filled to keep offsets"
        " identical, beside those of transactions; beyond it, the partition is mapped.",
    )
    late: LateConfig = Field(
        LateConfig.model_construct(), description="How long a missing object is waited for."
    )
    lost: LostParts = Field(
        LostParts.HALT,
        description="What happens where an object is lost or damaged: `halt` stops its partition,"
        " `skip` goes on behind it and keeps a gap in the ledger.",
    )
    filtered: FilteredOffsets | None = Field(
        None,
        description="What offsets are that the archive left out, as a restore had written them"
        " (`restored: leave_out`): a `problem` (exit code 3), or meant (`accept`). Default:"
        " `problem` in the archive of the file's own region, `accept` in that of another one.",
    )
    retention: RestoredRetention | None = Field(
        None,
        description="Retention of a restored topic, which is held back until all of it is there:"
        " `archived`, even if that deletes old records at once, or `unlimited`. It must be named"
        " only where the archived one would delete records.",
    )
    compression: Codec = Field(
        Codec.LZ4,
        description="Compression of restored batches of Parquet segments, unless the topic has a"
        " `compression.type` of its own.",
    )
    memory: Annotated[Size, between("8MiB", "4GiB")] = Field(
        Size.parse("96MiB"), description="Memory for record bytes in one slice."
    )
    receipts: Annotated[Duration, between("10ms", "1m")] = Field(
        Duration.parse("1s"),
        description="How often the progress of a partition is written to the ledger.",
    )

    @contradictions
    def _offsets(self) -> Iterator[Placed]:
        if self.filter and self.offsets is OffsetsPolicy.IDENTICAL:
            text = "cannot be `identical` where `filter` leaves records out; use `auto`"
            yield Placed(("offsets",), text)

    @contradictions
    def _sources_apart(self) -> Iterator[Placed]:
        names = [each.name or each.region for each in self.sources]
        for name in dict.fromkeys(each for each in names if names.count(each) > 1):
            yield Placed(("sources",), f"has two sources {name}; give them a `name` each")

    @contradictions
    def _region_of_sources(self) -> Iterator[Placed]:
        if self.region is not None and self.sources:
            yield Placed(("region",), "is not used with `restore.sources`; name it there")
