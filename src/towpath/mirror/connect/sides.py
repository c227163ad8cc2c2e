"""The two sides of `redpanda_migrator`: its input and its output."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, field_validator, model_validator

from towpath.mirror.connect.clusters import ConnectCluster, ConnectRegistry, over
from towpath.mirror.connect.values import (
    ByteSize,
    GoDuration,
    Interpolated,
    Listed,
    Pattern,
)
from towpath.settings.problems import placed_error
from towpath.settings.shape import Placed, Section, require_none

_LARGEST_BATCH = 2**31 - 1
_LARGEST_REQUEST = 2**30
_PARTITIONS = re.compile(r"[^:]*:\d+(-\d+)?(:\d+)?")
_OF_RECORDS = ("partitioner", "partition", "key", "timestamp", "timestamp_ms")
"""Fields of other Kafka outputs, which the migrator's linter refuses."""
_PATTERNS = (("regexp_topics_include",),)
_IDEMPOTENT = (("idempotent_write",),)


class MigratorInput(ConnectCluster):
    """The input: the topics to read, and the offsets to begin at."""

    topics: Listed = ()
    regexp_topics: StrictBool = False
    regexp_topics_include: tuple[Pattern, ...] = ()
    regexp_topics_exclude: tuple[Pattern, ...] = ()
    rack_id: str = ""
    instance_id: str = ""
    rebalance_timeout: GoDuration = 45.0
    session_timeout: GoDuration = 60.0
    heartbeat_interval: GoDuration = 3.0
    start_from_oldest: StrictBool = True
    start_offset: Literal["earliest", "latest", "committed"] = "earliest"
    fetch_max_bytes: ByteSize = 50 << 20
    fetch_max_wait: GoDuration = 5.0
    fetch_min_bytes: ByteSize = 1
    fetch_max_partition_bytes: ByteSize = 1 << 20
    transaction_isolation_level: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    consumer_group: str | None = None
    commit_period: GoDuration = 5.0
    partition_buffer_bytes: ByteSize = 1_000_000
    max_yield_batch_bytes: ByteSize = 32_000
    topic_lag_refresh_period: GoDuration = 5.0
    schema_registry: ConnectRegistry | None = None
    auto_replay_nacks: StrictBool = True

    @model_validator(mode="after")
    def _agree(self) -> Self:
        require_none(self._contradictions())
        return self

    @property
    def by_pattern(self) -> bool:
        """Whether topics are named by regular expressions."""
        return self.regexp_topics or bool(self.regexp_topics_include)

    def _contradictions(self) -> list[Placed]:
        found = []
        if self.topics and self.regexp_topics_include:
            found.append(
                Placed(("topics",), "is not used with regexp_topics_include; give one", _PATTERNS)
            )
        if not (self.topics or self.regexp_topics_include):
            found.append(
                Placed(("topics",), "is required, or else regexp_topics_include", _PATTERNS)
            )
        if self.regexp_topics_exclude and not self.by_pattern:
            text = "is used where topics are named by regular expressions (regexp_topics_include)"
            found.append(Placed(("regexp_topics_exclude",), text, (("regexp_topics",), *_PATTERNS)))
        if self.start_offset == "earliest" and not self.start_from_oldest:
            text = "contradicts `start_offset: earliest`, the default; write `start_offset: latest`"
            found.append(Placed(("start_from_oldest",), text, (("start_offset",),)))
        if self.start_offset == "committed" and self.consumer_group == "":
            text = "`committed` needs a consumer_group, at whose commits copying begins"
            found.append(Placed(("start_offset",), text, (("consumer_group",),)))
        return [*found, *self._partitions()]

    def _partitions(self) -> list[Placed]:
        parts = [each for each in self.topics if not self.by_pattern and _PARTITIONS.match(each)]
        if parts:
            text = f"{parts[0]} names partitions; Towpath mirrors whole topics: name the topic"
            return [Placed(("topics",), text, (("regexp_topics",), *_PATTERNS))]
        if self.consumer_group is None:
            text = 'is required where whole topics are read; write "" to begin without a group'
            return [Placed(("consumer_group",), text)]
        return []


class OutputRegistry(ConnectRegistry):
    """The schema registry of the target, and the subjects that are copied."""

    enabled: StrictBool = True
    interval: GoDuration = 300.0
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    subject: Interpolated | None = None
    versions: Literal["all", "latest"] = "all"
    include_deleted: StrictBool = False
    translate_ids: StrictBool = False
    normalize: StrictBool = False
    strict: StrictBool = False
    max_parallel_http_requests: Annotated[StrictInt, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _strict_about_new_ids(self) -> Self:
        if self.strict and not self.translate_ids:
            raise placed_error("needs `translate_ids: true`", "strict", about=("translate_ids",))
        return self


class ConsumerGroups(Section):
    """The filter of groups whose offsets are copied."""

    enabled: StrictBool = True
    interval: GoDuration = 60.0
    fetch_timeout: GoDuration = 10.0
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    only_empty: StrictBool = False


class MigratorOutput(ConnectCluster):
    """The output: the names of topics, and what is copied beside records."""

    idempotent_write: StrictBool = True
    acks: Literal["all", "leader", "none"] = "all"
    compression: Literal["lz4", "snappy", "gzip", "none", "zstd"] | None = None
    allow_auto_topic_creation: StrictBool = True
    timeout: GoDuration = 10.0
    max_message_bytes: ByteSize = 1 << 20
    broker_write_max_bytes: ByteSize = 100 << 20
    max_buffered_records: Annotated[StrictInt, Field(ge=1)] = 10_000
    max_buffered_bytes: ByteSize = 0
    max_in_flight_requests: Annotated[StrictInt, Field(ge=1)] = 1
    record_retries: StrictInt = 0
    record_delivery_timeout: GoDuration = 0.0
    partitioner: object = None
    partition: object = None
    key: object = None
    timestamp: object = None
    timestamp_ms: object = None
    schema_registry: OutputRegistry | None = None
    consumer_groups: ConsumerGroups = ConsumerGroups.model_construct()
    topic: Interpolated = "${! @kafka_topic }"
    topic_replication_factor: StrictInt | None = None
    sync_topic_interval: GoDuration = 300.0
    sync_topic_acls: StrictBool = False
    serverless: StrictBool = False
    headers: dict[str, Interpolated] = Field(default_factory=dict)
    provenance_header: str = "redpanda-migrator-provenance"
    offset_header: str = "redpanda-migrator-offset"
    max_in_flight: StrictInt = 10

    @field_validator("max_message_bytes")
    @classmethod
    def _batch(cls, size: int) -> int:
        return over(size, _LARGEST_BATCH, "is above 2147483647, which a batch cannot have")

    @field_validator("broker_write_max_bytes")
    @classmethod
    def _request(cls, size: int) -> int:
        return over(size, _LARGEST_REQUEST, "is above 1 GiB, which a request may not have")

    @field_validator("topic")
    @classmethod
    def _named(cls, topic: str) -> str:
        if not topic:
            raise ValueError("must not be empty")
        return topic

    @model_validator(mode="after")
    def _agree(self) -> Self:
        require_none(self._contradictions())
        return self

    def _contradictions(self) -> list[Placed]:
        found = [
            Placed((name,), "is set by the migrator itself, which keeps it as at the source")
            for name in _OF_RECORDS
            if name in self.model_fields_set
        ]
        if self.idempotent_write and self.acks != "all":
            text = "must be all with `idempotent_write: true`"
            found.append(Placed(("acks",), text, _IDEMPOTENT))
        if self.idempotent_write and self.max_in_flight_requests != 1:
            text = "must be 1 with `idempotent_write: true`"
            found.append(Placed(("max_in_flight_requests",), text, _IDEMPOTENT))
        return found
