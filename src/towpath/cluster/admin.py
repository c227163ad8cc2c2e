"""The control plane of one cluster: what is there, and changes to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DescribeConfigsRequest,
    DescribeProducersRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest

from towpath.cluster.codes import (
    INVALID_PARTITIONS,
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    refused,
)
from towpath.cluster.control import Control
from towpath.cluster.exchange import Versions
from towpath.cluster.leaders import Question, ask_leaders
from towpath.cluster.metadata import (
    Answers,
    Broker,
    ConfigEntry,
    Metadata,
    ProducerState,
    TopicInfo,
    read_configs,
)
from towpath.cluster.rights import Right, missing_rights
from towpath.config import ClusterConfig
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import ClusterId, ProducerId, Side, TopicName, TopicPartition

T = TypeVar("T")

_LATEST, _EARLIEST = -1, -2
_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_TOPICS_AT_ONCE = 500
_GROUP_BY_NAME = 7
"""The last OffsetFetch version with one group and topics by name."""


class Admin:
    """Asks and changes one cluster. Threads may share it; nothing is opened before the first call.

    Every call takes at most the file's `request_timeout`, within which it is tried again as long as
    time may heal what goes wrong. A cluster that was never reached gets five seconds. All raise
    `RefusedError` or `UnreachableError`.

    Calls about many partitions answer for those they can (`Answers`, a dict) and name the
    others in `failed`; they raise when no partition has an answer.
    """

    def __init__(self, config: ClusterConfig, side: Side) -> None:
        self._side = side
        self._timeout_ms = int(config.request_timeout * 1000)
        self._control = Control(config, side)

    def __enter__(self) -> Admin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._control.close()

    def cluster_id(self) -> ClusterId:
        """Return the id that the cluster got when it was made."""
        return self._metadata().cluster_id

    def brokers(self) -> tuple[Broker, ...]:
        """Return the brokers that are there now, by id."""
        return tuple(sorted(self._metadata().brokers.values(), key=lambda broker: broker.id))

    def topics(self, names: Iterable[TopicName] | None = None) -> dict[TopicName, TopicInfo]:
        """Return the topics of these names, without those that do not exist; by default all."""
        wanted = None if names is None else sorted(set(names))
        return dict(self._metadata(wanted).topics)

    def lacking(
        self, needed: Mapping[TopicName, Sequence[Right]]
    ) -> dict[TopicName, tuple[Right, ...]]:
        """Return which of the rights needed on each topic the login lacks, as far as told."""
        return missing_rights(self._control, needed)

    def configs(self, topics: Iterable[TopicName]) -> Answers[TopicName, dict[str, ConfigEntry]]:
        """Return all settings of each topic, those it inherits included."""
        found: dict[TopicName, dict[str, ConfigEntry]] = {}
        failed: dict[TopicName, ClusterError] = {}
        names = sorted(set(topics))
        for start in range(0, len(names), _TOPICS_AT_ONCE):
            part = names[start : start + _TOPICS_AT_ONCE]
            for said in self._control.retried(partial(self._configs, part)):
                name = TopicName(said.resource_name)
                if said.error_code:
                    what = f"asking for the settings of topic {name}"
                    acl = f"DescribeConfigs on topic {name}"
                    failed[name] = refused(
                        self._side, what, said.error_code, said.error_message, acl
                    )
                else:
                    found[name] = read_configs(said)
        if failed and not found:
            raise next(iter(failed.values()))
        return Answers(found, failed)

    def broker_config(self, name: str) -> str | None:
        """Return one setting of one broker, or `None` if it has none of this name."""
        return self._control.retried(lambda deadline: self._broker_config(name, deadline))

    def earliest(self, tps: Iterable[TopicPartition]) -> Answers[TopicPartition, int]:
        """Return the first offset that is still there."""
        return self._list_offsets(tps, lambda _: _EARLIEST)

    def latest(
        self, tps: Iterable[TopicPartition], *, committed: bool = False
    ) -> Answers[TopicPartition, int]:
        """Return the offset behind the last record that all in-sync replicas have.

        Args:
            tps: The partitions.
            committed: Stop before the first transaction that is still open.
        """
        return self._list_offsets(tps, lambda _: _LATEST, committed=committed)

    def at_time(self, tps: Iterable[TopicPartition], ms: int) -> Answers[TopicPartition, int]:
        """Return the offset of the first record of this time or later, else the log's end."""
        found = self._list_offsets(tps, lambda _: ms)
        younger = [tp for tp, offset in found.items() if offset < 0]
        if not younger:
            return found
        ends = self.latest(younger)
        sure = {tp: offset for tp, offset in found.items() if offset >= 0}
        return Answers({**sure, **ends}, {**found.failed, **ends.failed})

    def committed(self, group: str, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets that a consumer group has committed; partitions without are absent."""
        wanted = tuple(tps)
        return self._control.retried(lambda deadline: self._committed(group, wanted, deadline))

    def producers(
        self, tps: Iterable[TopicPartition]
    ) -> Answers[TopicPartition, dict[ProducerId, ProducerState]]:
        """Return which producer ids the leader remembers, and how far each came."""
        kind = DescribeProducersRequest.TopicRequest
        question = Question(
            "asking for the producers of",
            lambda theirs: DescribeProducersRequest(
                topics=_by_topic(theirs, lambda name, p: kind(name=name, partition_indexes=p))
            ),
            lambda answer: _each(answer, _producers), acl="Read",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps)

    def delete_records(self, before: Mapping[TopicPartition, int]) -> Answers[TopicPartition, int]:
        """Delete all records before these offsets; return where each log begins now."""
        topic = DeleteRecordsRequest.DeleteRecordsTopic
        partition = topic.DeleteRecordsPartition

        def one(name: TopicName, numbers: Sequence[int]) -> Any:
            rows = [
                partition(partition_index=number, offset=before[TopicPartition(name, number)])
                for number in numbers
            ]
            return topic(name=name, partitions=rows)

        question = Question(
            "deleting records of",
            lambda theirs: DeleteRecordsRequest(
                topics=_by_topic(theirs, one), timeout_ms=self._timeout_ms
            ),
            lambda answer: _each(answer, lambda said: int(said.low_watermark)), acl="Delete",
        )  # fmt: skip
        return ask_leaders(self._control, question, before)

    def create_topic(
        self,
        name: TopicName,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        validate_only: bool = False,
    ) -> None:
        """Create a topic, and wait until it has leaders; or only let the cluster check all this."""
        kind = CreateTopicsRequest.CreatableTopic
        settings = [kind.CreatableTopicConfig(name=k, value=v) for k, v in configs.items()]
        topic = kind(
            name=name, num_partitions=partitions, replication_factor=replication_factor,
            assignments=[], configs=settings,
        )  # fmt: skip
        self._change(
            f"creating topic {name} with {partitions} partitions and replication factor"
            f" {replication_factor}",
            lambda: CreateTopicsRequest(
                topics=[topic], timeout_ms=self._timeout_ms, validate_only=validate_only
            ),
            lambda answer: answer.topics[0],
            f"Create on topic {name} or on the cluster",
            TOPIC_ALREADY_EXISTS,
        )
        if not validate_only:
            self._wait_for_leaders(name, partitions)

    def add_partitions(self, name: TopicName, count: int, *, validate_only: bool = False) -> None:
        """Let a topic grow to `count` partitions, and wait until they have leaders.

        With `validate_only` the cluster only checks all this.
        """
        kind = CreatePartitionsRequest.CreatePartitionsTopic
        topic = kind(name=name, count=count, assignments=None)
        self._change(
            f"growing topic {name} to {count} partitions",
            lambda: CreatePartitionsRequest(
                topics=[topic], timeout_ms=self._timeout_ms, validate_only=validate_only
            ),
            lambda answer: answer.results[0],
            f"Alter on topic {name}",
            INVALID_PARTITIONS,
        )
        if not validate_only:
            self._wait_for_leaders(name, count)

    def set_configs(self, topic: TopicName, configs: Mapping[str, str | None]) -> None:
        """Change these settings of a topic and no others; `None` takes one back to the default."""
        kind = IncrementalAlterConfigsRequest.AlterConfigsResource
        entries = [
            kind.AlterableConfig(
                name=name, config_operation=_DELETE if value is None else _SET, value=value
            )
            for name, value in configs.items()
        ]
        resource = kind(resource_type=_TOPIC, resource_name=topic, configs=entries)
        self._change(
            f"changing {', '.join(configs)} of topic {topic}",
            lambda: IncrementalAlterConfigsRequest(resources=[resource], validate_only=False),
            lambda answer: answer.responses[0],
            f"AlterConfigs on topic {topic}",
        )

    def api_versions(self) -> Versions:
        """Return which requests, in which versions, one broker takes."""
        return self._control.retried(self._control.versions)

    @property
    def broker_version(self) -> tuple[int, ...]:
        """The Kafka version that one broker's requests show; the newest known one, if newer."""
        version: tuple[int, ...] = BrokerVersionData(
            api_versions=dict(self.api_versions())
        ).broker_version
        return version

    def _metadata(self, topics: Sequence[TopicName] | None = ()) -> Metadata:
        return self._control.retried(lambda deadline: self._control.metadata(deadline, topics))

    def _list_offsets(
        self,
        tps: Iterable[TopicPartition],
        when: Callable[[TopicPartition], int],
        *,
        committed: bool = False,
    ) -> Answers[TopicPartition, int]:
        topic = ListOffsetsRequest.ListOffsetsTopic
        partition = topic.ListOffsetsPartition

        def one(name: TopicName, numbers: Sequence[int]) -> Any:
            rows = [
                partition(partition_index=n, timestamp=when(TopicPartition(name, n)))
                for n in numbers
            ]
            return topic(name=name, partitions=rows)

        question = Question(
            "asking for offsets of",
            lambda theirs: ListOffsetsRequest(
                replica_id=-1, isolation_level=int(committed), topics=_by_topic(theirs, one),
                timeout_ms=self._timeout_ms,
            ),
            lambda answer: _each(answer, lambda said: int(said.offset)), acl="Describe",
        )  # fmt: skip
        return ask_leaders(self._control, question, tps)

    def _configs(self, names: Sequence[TopicName], deadline: Deadline) -> Sequence[Any]:
        what = "asking for the settings of topics"
        results: Sequence[Any] = self._control.ask_any(
            _describe(_TOPIC, names), deadline, what
        ).results
        return results

    def _broker_config(self, name: str, deadline: Deadline) -> str | None:
        what = f"asking for the broker setting {name}"
        broker = next(iter(self._control.metadata(deadline).brokers.values()))
        request = _describe(_BROKER, [str(broker.id)], [name])
        said = self._control.ask(broker, request, deadline, what).results[0]
        if said.error_code:
            acl = "DescribeConfigs on the cluster"
            raise refused(self._side, what, said.error_code, said.error_message, acl)
        entry = read_configs(said).get(name)
        return entry.value if entry else None

    def _committed(
        self, group: str, tps: Sequence[TopicPartition], deadline: Deadline
    ) -> dict[TopicPartition, int]:
        what = f"asking for the offsets of group {group}"
        acl = f"Describe on group {group} and on its topics"
        kind = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = _by_topic(tps, lambda name, p: kind(name=name, partition_indexes=p))
        request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=True)
        coordinator = self._control.coordinator(group, deadline)
        answer = self._control.ask(coordinator, request, deadline, what, newest=_GROUP_BY_NAME)
        if answer.error_code:
            raise refused(self._side, what, answer.error_code, acl=acl)
        found = {}
        for tp, number, offset in _each(answer, lambda said: int(said.committed_offset)):
            if number:
                raise refused(self._side, f"{what} in {tp}", number, acl=acl)
            if offset >= 0:
                found[tp] = offset
        return found

    def _change(
        self,
        what: str,
        request: Callable[[], Any],
        result: Callable[[Any], Any],
        acl: str,
        done_already: int | None = None,
    ) -> None:
        """Send a change to the controller; an attempt without answer may have done it."""
        unsure = False

        def once(deadline: Deadline) -> None:
            nonlocal unsure
            controller = self._control.controller(deadline)
            try:
                said = result(self._control.ask(controller, request(), deadline, what))
                if said.error_code and not (unsure and said.error_code == done_already):
                    raise refused(self._side, what, said.error_code, said.error_message, acl)
            except ClusterError as error:
                silent = isinstance(error, UnreachableError)
                unsure |= silent or getattr(error, "error", None) == REQUEST_TIMED_OUT
                raise

        self._control.retried(once)

    def _wait_for_leaders(self, name: TopicName, count: int) -> None:
        """A change is acknowledged before all brokers have heard of it."""

        def once(deadline: Deadline) -> None:
            wanted = [TopicPartition(name, number) for number in range(count)]
            for found in self._control.metadata_of_all(deadline, [name]):
                for tp in wanted:
                    if found.leader(tp) is None:
                        what = f"waiting for the leader of {tp}"
                        raise refused(self._side, what, LEADER_NOT_AVAILABLE)

        self._control.retried(once)


def _describe(kind: int, names: Sequence[str], keys: Sequence[str] | None = None) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=name, configuration_keys=keys)
            for name in names
        ]
    )


def _by_topic(
    tps: Iterable[TopicPartition], make: Callable[[TopicName, Sequence[int]], T]
) -> list[T]:
    grouped: dict[TopicName, list[int]] = defaultdict(list)
    for tp in tps:
        grouped[tp.topic].append(tp.partition)
    return [make(name, numbers) for name, numbers in grouped.items()]


def _each(answer: Any, read: Callable[[Any], T]) -> Iterator[tuple[TopicPartition, int, T]]:
    for topic in answer.topics:
        for said in topic.partitions:
            tp = TopicPartition(TopicName(topic.name), said.partition_index)
            yield tp, said.error_code, read(said)


def _producers(said: Any) -> dict[ProducerId, ProducerState]:
    return {
        ProducerId(state.producer_id): ProducerState(
            state.last_sequence, state.last_timestamp, state.producer_epoch
        )
        for state in said.active_producers
    }
