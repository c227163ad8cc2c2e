"""The whole file of a link from a source to a target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
)

from towpath.model.changes import Framing, RecordChange
from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName, TopicName
from towpath.model.target_kinds import TargetKind, refusal, refused_overrides
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
from towpath.settings.shape import Place, Placed, Section, contradictions
from towpath.settings.units import Duration, Size, between

_LINK = re.compile(r"[A-Za-z0-9._-]{1,100}")
_WRONG = object()
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

    @contradictions
    def _records_beside_twin(self) -> Iterator[Placed]:
        if self.topics.twin is None:
            return
        records = self.records
        if getattr(records, "offsets", None) is OffsetsPolicy.IDENTICAL:
            text = "offsets cannot stay identical where both sides are written; see topics.twin"
            yield Placed(("records", "offsets"), text)
        if getattr(records, "archive", None) is not None:
            text = (
                "cannot be used with topics.twin: an archive of the source has the records of the"
                " twin too, and does not tell them apart"
            )
            yield Placed(("records", "archive"), text)

    @contradictions
    def _groups_beside_twin(self) -> Iterator[Placed]:
        if self.topics.twin is not None and self.groups is not None:
            text = (
                "cannot be used with topics.twin yet: a place of a group would have to be"
                " translated by both links, as each side has records that the other has elsewhere"
            )
            yield Placed(("groups",), text)

    @contradictions
    def _dropped(self) -> Iterator[Placed]:
        for index, change in enumerate(self.changes):
            if getattr(change, "drop", ()) and self.records.offsets is OffsetsPolicy.IDENTICAL:
                text = "offsets cannot stay identical where records are dropped"
                yield Placed(("changes", index, "drop"), f"{text}; see records.offsets")

    @contradictions
    def _new_ids(self) -> Iterator[Placed]:
        for index, change in enumerate(self.changes):
            framing = getattr(getattr(change, "ids", None), "framing", None)
            if framing is Framing.CONFLUENT and not self._translates:
                text = "needs `schemas.ids: translate`, which makes new ids"
                yield Placed(("changes", index, "ids"), text)

    @contradictions
    def _one_answer(self) -> Iterator[Placed]:
        for place, text, _ in two_answers(self.changes):
            yield Placed(("changes", *place), text)

    @contradictions
    def _query(self) -> Iterator[Placed]:
        given = self.transform
        if given is not None and not (given.sql or given.python or self.topics.partitions):
            yield Placed(("transform", "sql"), "give `sql`, a query, or `python`, a function")

    @contradictions
    def _alone(self) -> Iterator[Placed]:
        what, place = self._by_query()
        for text in _beside_transform(self, what) if what else ():
            yield Placed(place, text)

    @contradictions
    def _without_rates(self) -> Iterator[Placed]:
        what, _ = self._by_query()
        if what and self.run.max_rate.model_fields_set:
            text = f"cannot be used with {what}, which keeps no rates; `transform.max_offsets`"
            yield Placed(("run", "max_rate"), f"{text} bounds what one transaction copies")

    def _by_query(self) -> tuple[str, Place]:
        """Return what sends records through Spark, "" for nothing, and where it stands."""
        if getattr(self, "transform", _WRONG) is not None:
            return "transform", ("transform",)
        by_count = self.topics.partitions is not None
        return "topics.partitions" if by_count else "", ("topics", "partitions")

    @contradictions
    def _another_twin(self) -> Iterator[Placed]:
        twin = self.topics.twin
        if twin is not None and not _LINK.fullmatch(twin):
            yield Placed(("topics", "twin"), _LEGAL)
        elif twin is not None and twin == self.link:
            text = "is this link itself; name the link that copies in the other direction"
            yield Placed(("topics", "twin"), text)

    @contradictions
    def _taken(self) -> Iterator[Placed]:
        kind = self.target.said_kind
        for key in refused_overrides(kind, self.topics.configs.override):
            assert kind  # noqa: S101, only a known kind refuses
            yield Placed(("topics", "configs", "override", key), refusal(kind, key))

    @contradictions
    def _not_onto_itself(self) -> Iterator[Placed]:
        shared = set(self.source.bootstrap) & set(self.target.bootstrap)
        if shared and self.topics.keeps_names:
            text = f"source and target are one cluster ({min(shared)}); give the mirror topics"
            yield Placed(("topics", "rename"), f"{text} another name, such as copy.{{topic}}")


def _beside_transform(link: LinkConfig, what: str) -> Iterator[str]:
    """Yield why parts of a file cannot be used where records go through Spark.

    Args:
        link: The file, in which values may be wrong.
        what: The part of the file that asks for it.
    """
    records = getattr(link, "records", None)
    asked = {
        "changes": bool(getattr(link, "changes", ())),
        "schemas": getattr(link, "schemas", None) is not None,
        "topics.twin": getattr(getattr(link, "topics", None), "twin", None) is not None,
        "records.offsets: identical": getattr(records, "offsets", None) is OffsetsPolicy.IDENTICAL,
        "records.archive": getattr(records, "archive", None) is not None,
        "records.commit": getattr(records, "commit", None) is not None,
    }
    whys = {
        "changes": "the query can do all that they do",
        "schemas": "a link of its own can bring them over",
    }
    for name, is_there in asked.items():
        if is_there:
            why = whys.get(name, "offsets of source and target mean nothing to each other then")
            yield f"{what} cannot be used with {name}: {why}"
    groups = getattr(link, "groups", None)
    for key in ("interval", "deletions", "rewinds", "foreign", "mm2"):
        if groups is not None and key in groups.model_fields_set:
            why = "`towpath cutover` places groups once, at the end of the mirror topics"
            yield f"{what} cannot be used with groups.{key}: {why}"
