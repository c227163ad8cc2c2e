"""The whole file of a link from a source to a target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    ValidationInfo,
    field_validator,
)

from towpath.model.changes import RecordChange
from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName, TopicName
from towpath.model.target_kinds import TargetKind, refusal, refused_overrides
from towpath.settings.problems import Placed, placed_error, require_none
from towpath.settings.sections.access import AccessConfig
from towpath.settings.sections.changes import ChangesConfig, change_of
from towpath.settings.sections.clusters import LinkCluster
from towpath.settings.sections.gateway import GatewayConfig
from towpath.settings.sections.glue import two_answers
from towpath.settings.sections.groups import GroupsConfig
from towpath.settings.sections.metrics import MetricsConfig
from towpath.settings.sections.rates import MaxRates, RateConfig
from towpath.settings.sections.records import OffsetsPolicy, RecordsConfig
from towpath.settings.sections.registries import RegistryKind
from towpath.settings.sections.schemas import SchemaIds, SchemasConfig
from towpath.settings.sections.topics import LinkTopics, Replicas
from towpath.settings.sections.transform import TransformConfig
from towpath.settings.shape import Section
from towpath.settings.units import Duration, Size, between

_LINK = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LEGAL = "must be 1 to 100 letters, digits, '.', '_' or '-'"


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
        raise ValueError(_LEGAL)
    return text


class LinkConfig(Section):
    """The complete configuration of a link."""

    kind: Literal["link"] = Field("link", description="What the file describes: `link`.")
    source: LinkCluster = Field(description="The cluster to mirror from.")
    target: LinkCluster = Field(description="The cluster to mirror to.")
    link: Annotated[LinkName, AfterValidator(_link_name)] = Field(
        description="Name of this link in the ledger on the target; never change it later."
    )
    topics: LinkTopics = Field(description="Which topics, and their names on the target.")
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
    transform: TransformConfig | None = Field(
        None,
        validate_default=True,
        description="A query of Spark that the records go through, exactly once"
        " (docs/howto/transform.md). No offset on the target then belongs to one at the source;"
        " `verify` sends the records through the query again, and compares.",
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
    gateway: GatewayConfig | None = Field(
        None,
        description="Where `towpath gateway` listens for clients (docs/gateway.md). Without it,"
        " clients connect to the clusters themselves.",
    )

    @property
    def holds_credentials(self) -> bool:
        """Whether the slices sent to Spark carry credentials that others could log in with."""
        registries = (self.schemas.source, self.schemas.target) if self.schemas else ()
        stores = (self.records.archive.store,) if self.records.archive else ()
        places = (self.source, self.target, *registries, *stores)
        return any(each.holds_credentials for each in places)

    @property
    def transforms(self) -> TransformConfig | None:
        """How records go through Spark, `None` if they are copied in whole batches."""
        if self.transform is None and self.topics.partitions is not None:
            return TransformConfig()
        return self.transform

    @property
    def changes_records(self) -> bool:
        """Whether records of any topic may be changed."""
        return bool(self.changes) or self._translates

    @property
    def _translates(self) -> bool:
        return self.schemas is not None and self.schemas.ids is SchemaIds.TRANSLATE

    def notes(self) -> Iterator[str]:
        """Return notes about a whole file without problems."""
        if self.target.said_kind is not TargetKind.SERVERLESS:
            return
        if not isinstance(self.topics.replication_factor, Replicas):
            yield (
                "topics.replication_factor has no effect: the replication factor is left to"
                f" {TargetKind.SERVERLESS}"
            )
        if self.schemas is not None and self.schemas.target.kind is RegistryKind.AUTO:
            yield (
                "schemas.target.kind is auto, which takes a registry for one that holds metadata"
                f" and rules; if it is that of {TargetKind.SERVERLESS}, write `serverless` there"
            )

    def change_of(self, topic: str) -> RecordChange:
        """Return the change of a source topic's records.

        Raises:
            ConfigError: A header that it gets has no value for this topic.
        """
        strict = self.schemas is not None and self.schemas.strict
        return change_of(self.changes, topic, translated=self._translates, strict=strict)

    def unchangeable(self, topics: Iterable[TopicName]) -> dict[TopicName, str]:
        """Return the source topics whose records cannot be changed as the file says, with why."""
        found: dict[TopicName, str] = {}
        for topic in topics:
            try:
                self.change_of(topic)
            except ConfigError as error:
                found[topic] = str(error)
        return found

    @field_validator("records")
    @classmethod
    def _beside_twin(cls, records: RecordsConfig, info: ValidationInfo) -> RecordsConfig:
        topics = info.data.get("topics")
        if topics is None or topics.twin is None:
            return records
        if records.offsets is OffsetsPolicy.IDENTICAL:
            text = "offsets cannot stay identical where both sides are written; see topics.twin"
            raise placed_error(text, "offsets")
        if records.archive is not None:
            text = (
                "cannot be used with topics.twin: an archive of the source has the records of the"
                " twin too, and does not tell them apart"
            )
            raise placed_error(text, "archive")
        return records

    @field_validator("groups")
    @classmethod
    def _groups_beside_twin(
        cls, groups: GroupsConfig | None, info: ValidationInfo
    ) -> GroupsConfig | None:
        topics = info.data.get("topics")
        if groups is not None and topics is not None and topics.twin is not None:
            raise ValueError(
                "cannot be used with topics.twin yet: a place of a group would have to be"
                " translated by both links, as each side has records that the other has elsewhere"
            )
        return groups

    @field_validator("changes")
    @classmethod
    def _possible(
        cls, changes: tuple[ChangesConfig, ...], info: ValidationInfo
    ) -> tuple[ChangesConfig, ...]:
        require_none([*_impossible(changes, info.data), *two_answers(changes)])
        return changes

    @field_validator("transform")
    @classmethod
    def _alone(
        cls, transform: TransformConfig | None, info: ValidationInfo
    ) -> TransformConfig | None:
        topics = info.data.get("topics")
        by_count = topics is not None and topics.partitions is not None
        if transform is not None and not (transform.sql or transform.python or by_count):
            raise placed_error("give `sql`, a query, or `python`, a function", "sql")
        if transform is not None or by_count:
            what = "topics.partitions" if transform is None else "transform"
            require_none(_beside_transform(info.data, what))
        return transform

    @field_validator("run")
    @classmethod
    def _without_rates(cls, run: RunConfig, info: ValidationInfo) -> RunConfig:
        topics = info.data.get("topics")
        by_count = topics is not None and topics.partitions is not None
        if run.max_rate.model_fields_set and (info.data.get("transform") or by_count):
            what = "transform" if info.data.get("transform") else "topics.partitions"
            text = f"cannot be used with {what}, which keeps no rates; `transform.max_offsets`"
            raise placed_error(f"{text} bounds what one transaction copies", "max_rate")
        return run

    @field_validator("topics")
    @classmethod
    def _not_onto_itself(cls, topics: LinkTopics, info: ValidationInfo) -> LinkTopics:
        source, target = info.data.get("source"), info.data.get("target")
        if topics.twin is not None and not _LINK.fullmatch(topics.twin):
            raise placed_error(_LEGAL, "twin")
        if topics.twin is not None and topics.twin == info.data.get("link"):
            text = "is this link itself; name the link that copies in the other direction"
            raise placed_error(text, "twin")
        require_none(_refused(target, topics))
        if source and target and topics.keeps_names:
            shared = set(source.bootstrap) & set(target.bootstrap)
            if shared:
                text = f"source and target are one cluster ({min(shared)}); give the mirror topics"
                raise placed_error(f"{text} another name, such as copy.{{topic}}", "rename")
        return topics


def _refused(target: LinkCluster | None, topics: LinkTopics) -> Iterator[Placed]:
    """Yield configs that the file asks for and that the kind of the target refuses."""
    kind = target.said_kind if target else None
    for key in refused_overrides(kind, topics.configs.override):
        assert kind  # noqa: S101, only a known kind refuses
        yield Placed(("configs", "override", key), refusal(kind, key))


def _beside_transform(read: Mapping[str, Any], what: str) -> Iterator[Placed]:
    """Yield what cannot be used where records go through Spark.

    Args:
        read: The sections before `transform` that are without problems.
        what: The part of the file that asks for it.
    """
    records, topics = read.get("records"), read.get("topics")
    asked = {
        "changes": bool(read.get("changes")),
        "schemas": read.get("schemas") is not None,
        "topics.twin": topics is not None and topics.twin is not None,
        "records.offsets: identical": records is not None
        and records.offsets is OffsetsPolicy.IDENTICAL,
        "records.archive": records is not None and records.archive is not None,
        "records.commit": records is not None and records.commit is not None,
    }
    whys = {
        "changes": "the query can do all that they do",
        "schemas": "a link of its own can bring them over",
    }
    for name, is_there in asked.items():
        if is_there:
            why = whys.get(name, "offsets of source and target mean nothing to each other then")
            yield Placed((), f"{what} cannot be used with {name}: {why}")
    groups = read.get("groups")
    for key in ("interval", "deletions", "rewinds", "foreign", "mm2"):
        if groups is not None and key in groups.model_fields_set:
            why = "`towpath cutover` places groups once, at the end of the mirror topics"
            yield Placed((), f"{what} cannot be used with groups.{key}: {why}")


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
