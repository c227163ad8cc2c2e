"""Changes of topics that a cluster only checks, many in one request, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    IncrementalAlterConfigsRequest,
)

from towpath.cluster.admin_brokers import TOPIC, BrokerAdmin
from towpath.cluster.codes import refused
from towpath.model.deadline import Deadline
from towpath.model.errors import RefusedError
from towpath.model.nouns import TopicName

T = TypeVar("T")
Changes = Mapping[str, str | None]
"""Settings with their new values, `None` for the default."""

_SET, _DELETE = 0, 1
_TOPICS_AT_ONCE = 500
_PARTITIONS_AT_ONCE = 5000
"""A KRaft controller refuses requests about more than 10,000 partitions, each of their topics."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic that is to be created; a replication factor of -1 is the cluster's default."""

    name: TopicName
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def creating(self) -> str:
        """What is done with it, for errors."""
        factor = self.replication_factor if self.replication_factor > 0 else "of the cluster"
        return (
            f"creating topic {self.name} with {self.partitions} partitions and replication factor"
            f" {factor}"
        )

    @property
    def acl(self) -> str:
        """The right that this needs."""
        return f"Create on topic {self.name} or on the cluster"


class TopicChecks(BrokerAdmin):
    """Lets the cluster check changes of topics without making them.

    Each call returns the refusals alone, by topic, and raises where nothing could be checked.
    """

    def refused_topics(self, topics: Iterable[NewTopic]) -> dict[TopicName, RefusedError]:
        """Return why topics could not be created."""
        found: dict[TopicName, RefusedError] = {}
        for part in _parts(topics, lambda topic: topic.partitions):
            found |= self._refusals(
                create_topics(part, self._timeout_ms, validate_only=True),
                lambda answer: [(said.name, said) for said in answer.topics],
                {topic.name: (topic.creating, topic.acl) for topic in part},
            )
        return found

    def refused_growth(self, counts: Mapping[TopicName, int]) -> dict[TopicName, RefusedError]:
        """Return why topics could not grow to these numbers of partitions."""
        found: dict[TopicName, RefusedError] = {}
        for part in _parts(counts.items(), lambda each: each[1]):
            found |= self._refusals(
                create_partitions(dict(part), self._timeout_ms, validate_only=True),
                lambda answer: [(said.name, said) for said in answer.results],
                {name: (growing(name, count), f"Alter on topic {name}") for name, count in part},
            )
        return found

    def refused_configs(
        self, changes: Mapping[TopicName, Changes]
    ) -> dict[TopicName, RefusedError]:
        """Return why settings of topics could not be changed."""
        found: dict[TopicName, RefusedError] = {}
        for part in _parts(changes.items(), lambda _: 1):
            found |= self._refusals(
                alter_configs(dict(part), validate_only=True),
                lambda answer: [(said.resource_name, said) for said in answer.responses],
                {
                    name: (changing(name, keys), f"AlterConfigs on topic {name}")
                    for name, keys in part
                },
            )
        return found

    def _refusals(
        self,
        request: Any,
        answers: Callable[[Any], Sequence[tuple[str, Any]]],
        told: Mapping[TopicName, tuple[str, str]],
    ) -> dict[TopicName, RefusedError]:
        """Ask the controller, again while one of the refusals may heal.

        Args:
            request: What it is asked.
            answers: How its answer tells of each topic.
            told: What is done with each topic, and the right that this needs.
        """
        found: dict[TopicName, RefusedError] = {}

        def once(deadline: Deadline) -> None:
            found.clear()
            controller = self._control.controller(deadline)
            answer = self._control.ask(controller, request, deadline, "checking changes of topics")
            for text, said in answers(answer):
                name = TopicName(text)
                if said.error_code:
                    what, acl = told[name]
                    found[name] = refused(
                        self._side, what, said.error_code, said.error_message, acl
                    )
            for error in found.values():
                if error.retriable:
                    raise error

        try:
            self._control.retried(once)
        except RefusedError:
            if not found:
                raise
        return found


def create_topics(topics: Iterable[NewTopic], timeout_ms: int, *, validate_only: bool) -> Any:
    """Return the request that creates topics, or lets this be checked."""
    kind = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        topics=[
            kind(
                name=topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=[],
                configs=[
                    kind.CreatableTopicConfig(name=key, value=value)
                    for key, value in topic.configs.items()
                ],
            )
            for topic in topics
        ],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def create_partitions(
    counts: Mapping[TopicName, int], timeout_ms: int, *, validate_only: bool
) -> Any:
    """Return the request that lets topics grow, or lets this be checked."""
    kind = CreatePartitionsRequest.CreatePartitionsTopic
    return CreatePartitionsRequest(
        topics=[kind(name=name, count=count, assignments=None) for name, count in counts.items()],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def alter_configs(changes: Mapping[TopicName, Changes], *, validate_only: bool) -> Any:
    """Return the request that changes these settings of topics and no others (KIP-339)."""
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            kind(
                resource_type=TOPIC,
                resource_name=name,
                configs=[
                    kind.AlterableConfig(
                        name=key, config_operation=_DELETE if value is None else _SET, value=value
                    )
                    for key, value in configs.items()
                ],
            )
            for name, configs in changes.items()
        ],
        validate_only=validate_only,
    )


def growing(name: TopicName, count: int) -> str:
    """Return what letting a topic grow is called in errors."""
    return f"growing topic {name} to {count} partitions"


def changing(name: TopicName, configs: Iterable[str]) -> str:
    """Return what changing settings is called in errors."""
    return f"changing {', '.join(configs)} of topic {name}"


def _parts(things: Iterable[T], partitions: Callable[[T], int]) -> Iterator[list[T]]:
    """Cut into as many as one request may be about."""
    part: list[T] = []
    total = 0
    for thing in things:
        count = partitions(thing)
        if part and (len(part) == _TOPICS_AT_ONCE or total + count > _PARTITIONS_AT_ONCE):
            yield part
            part, total = [], 0
        part.append(thing)
        total += count
    if part:
        yield part
