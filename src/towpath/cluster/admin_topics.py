"""The control plane of one cluster: topics, their settings, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from kafka.protocol.admin import DeleteTopicsRequest

from towpath.cluster.admin_brokers import TOPIC, describe_configs
from towpath.cluster.admin_checks import (
    Changes,
    NewTopic,
    TopicChecks,
    alter_configs,
    changing,
    create_partitions,
    create_topics,
    growing,
)
from towpath.cluster.codes import (
    INVALID_PARTITIONS,
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.control import UNKNOWN_PATIENCE
from towpath.cluster.metadata import Answers, ConfigEntry, TopicInfo, non_default, read_configs
from towpath.cluster.rights import Right, missing_rights
from towpath.cluster.values import meaning
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import TopicId, TopicName, TopicPartition

_TOPICS_AT_ONCE = 500
_DELETE_TOPICS, _DELETE_BY_ID = 20, 6
"""From that version on a request may name topics by id (KIP-516)."""
_UNKNOWN_TOPIC_ID = 100


class TopicAdmin(TopicChecks):
    """Asks about topics and changes them; see `towpath.cluster.admin.Admin`."""

    def topics(self, names: Iterable[TopicName] | None = None) -> dict[TopicName, TopicInfo]:
        """Return the topics of these names, without those that do not exist; by default all."""
        wanted = None if names is None else sorted(set(names))
        return dict(self._metadata(wanted).topics)

    def nowhere(self, names: Iterable[TopicName]) -> frozenset[TopicName]:
        """Return which of these topics no broker knows; none where a broker does not answer."""
        wanted = sorted(set(names))

        def once(deadline: Deadline) -> frozenset[TopicName]:
            answers = list(self._control.metadata_of_all(deadline, wanted))
            if not answers or any(len(each.brokers) != len(answers) for each in answers):
                return frozenset()
            return frozenset(wanted).difference(*(each.topics for each in answers))

        return self._control.retried(once)

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
        topic = NewTopic(name, partitions, replication_factor, configs)
        self._change(
            topic.creating,
            create_topics([topic], self._timeout_ms, validate_only=validate_only),
            lambda answer: answer.topics[0],
            topic.acl,
            TOPIC_ALREADY_EXISTS,
        )
        if not validate_only:
            self._wait_for_leaders(name, partitions)

    def add_partitions(self, name: TopicName, count: int, *, validate_only: bool = False) -> None:
        """Let a topic grow to `count` partitions, and wait until they have leaders.

        With `validate_only` the cluster only checks all this.
        """
        self._change(
            growing(name, count),
            create_partitions({name: count}, self._timeout_ms, validate_only=validate_only),
            lambda answer: answer.results[0],
            f"Alter on topic {name}",
            INVALID_PARTITIONS,
        )
        if not validate_only:
            self._wait_for_leaders(name, count)

    def set_configs(self, topic: TopicName, configs: Changes) -> None:
        """Change these settings of a topic and no others, and wait until all brokers tell so.

        `None` takes a setting back to the default.
        """
        self._change(
            changing(topic, configs),
            alter_configs({topic: configs}, validate_only=False),
            lambda answer: answer.responses[0],
            f"AlterConfigs on topic {topic}",
        )
        self._wait_for_configs(topic, configs)

    def delete_topic(self, name: TopicName, number: TopicId) -> None:
        """Delete a topic, where brokers can do so only if it has this id, and wait for that."""
        by_id = self.api_versions().get(_DELETE_TOPICS, (0, -1))[1] >= _DELETE_BY_ID and number
        kind = DeleteTopicsRequest.DeleteTopicState
        state = kind(name=None, topic_id=UUID(number)) if by_id else kind(name=name)
        self._change(
            f"deleting topic {name}",
            DeleteTopicsRequest(topics=[state], timeout_ms=self._timeout_ms),
            lambda answer: answer.responses[0],
            f"Delete on topic {name}",
            _UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC_OR_PARTITION,
        )
        self._wait_until_gone(name, number)

    def _configs(self, names: Sequence[TopicName], deadline: Deadline) -> Sequence[Any]:
        what = "asking for the settings of topics"
        results: Sequence[Any] = self._control.ask_any(
            describe_configs(TOPIC, names), deadline, what
        ).results
        return results

    def _change(
        self,
        what: str,
        request: Any,
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
                said = result(self._control.ask(controller, request, deadline, what))
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

    def _wait_for_configs(self, name: TopicName, configs: Changes) -> None:
        """Nothing is wrong if a broker is late, or another hand was quicker."""
        what = f"waiting for the settings of topic {name}"

        def once(deadline: Deadline) -> None:
            brokers = self._control.metadata(deadline).brokers.values()
            for broker in brokers:
                share = Deadline.after(deadline.left() / len(brokers))
                request = describe_configs(TOPIC, [name], list(configs))
                with suppress(UnreachableError):
                    said = self._control.ask(broker, request, share, what).results[0]
                    if not said.error_code and not _holds(non_default(read_configs(said)), configs):
                        raise refused(self._side, what, REQUEST_TIMED_OUT)

        with suppress(ClusterError):
            self._control.retried(once, Deadline.after(UNKNOWN_PATIENCE))

    def _wait_until_gone(self, name: TopicName, number: TopicId) -> None:
        def once(deadline: Deadline) -> None:
            for found in self._control.metadata_of_all(deadline, [name]):
                if name in found.topics and found.topics[name].id == number:
                    what = f"waiting until topic {name} is gone"
                    raise refused(self._side, what, REQUEST_TIMED_OUT)

        self._control.retried(once)


def _holds(own: Mapping[str, str], configs: Changes) -> bool:
    return all(meaning(own.get(key)) == meaning(value) for key, value in configs.items())
