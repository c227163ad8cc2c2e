"""The control plane of one cluster: topics, their settings, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)

from towpath.cluster.admin_brokers import TOPIC, BrokerAdmin, describe_configs
from towpath.cluster.codes import (
    INVALID_PARTITIONS,
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    refused,
)
from towpath.cluster.metadata import Answers, ConfigEntry, TopicInfo, read_configs
from towpath.cluster.rights import Right, missing_rights
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import TopicName, TopicPartition

_SET, _DELETE = 0, 1
_TOPICS_AT_ONCE = 500


class TopicAdmin(BrokerAdmin):
    """Asks about topics and changes them; see `towpath.cluster.admin.Admin`."""

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
        """Return all settings of each topic, those it inherits included.

        Where no topic's settings may be seen, all of them are in `failed`; that is no error.
        """
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
        return Answers(found, failed)

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
        resource = kind(resource_type=TOPIC, resource_name=topic, configs=entries)
        self._change(
            f"changing {', '.join(configs)} of topic {topic}",
            lambda: IncrementalAlterConfigsRequest(resources=[resource], validate_only=False),
            lambda answer: answer.responses[0],
            f"AlterConfigs on topic {topic}",
        )

    def _configs(self, names: Sequence[TopicName], deadline: Deadline) -> Sequence[Any]:
        what = "asking for the settings of topics"
        results: Sequence[Any] = self._control.ask_any(
            describe_configs(TOPIC, names), deadline, what
        ).results
        return results

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
