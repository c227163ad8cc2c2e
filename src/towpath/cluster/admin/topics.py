"""Topics of a cluster: lookup, creation, growth and deletion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka.protocol.admin import DeleteTopicsRequest

from towpath.cluster.admin.changes import tell_controller
from towpath.cluster.admin.rights import Right, missing_rights
from towpath.cluster.admin.topic_changes import (
    Change,
    NewTopic,
    change_all,
    check_all,
    creation,
    growth,
)
from towpath.cluster.codes import (
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.control import Control
from towpath.cluster.metadata import Answers, ConfigEntry, Metadata, TopicInfo, read_configs
from towpath.model.errors import ClusterError, LedgerGoneError, RefusedError
from towpath.model.nouns import LEDGER, NO_TOPIC_ID, TopicId, TopicName, TopicPartition
from towpath.runtime.deadline import Deadline

_DELETE_TOPICS, _DELETE_BY_ID = 20, 6
"""The first DeleteTopics version that can name topics by id (KIP-516)."""
_UNKNOWN_TOPIC_ID = 100
_SMALL_REPLICAS = 3


class TopicAdmin:
    """Describes, creates, grows and deletes topics."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def describe(self, names: Iterable[TopicName] | None = None) -> dict[TopicName, TopicInfo]:
        """Return the topics of these names that exist; by default all topics."""
        return dict(self.with_brokers(names).topics)

    def find(self, name: TopicName) -> TopicInfo | None:
        """Return a topic, `None` if it does not exist.

        Raises:
            ClusterError: The cluster cannot be asked, or refuses to describe the topic.
        """
        info = self.describe([name]).get(name)
        if info is not None and info.error is not None:
            raise info.error
        return info

    def with_brokers(self, names: Iterable[TopicName] | None = None) -> Metadata:
        """Return the topics of these names that exist, and the live brokers, in one request."""
        return self._control.found(None if names is None else sorted(set(names)))

    def nowhere(self, names: Iterable[TopicName]) -> frozenset[TopicName]:
        """Return the topics that no broker knows; empty if a broker does not answer."""
        wanted = sorted(set(names))

        def once(deadline: Deadline) -> frozenset[TopicName]:
            answers = list(self._control.metadata_of_all(deadline, wanted))
            if not answers or any(len(each.brokers) != len(answers) for each in answers):
                return frozenset()
            return frozenset(wanted).difference(*(each.topics for each in answers))

        return self._control.retried(once)

    def require_ledger(self) -> None:
        """Raise if the ledger topic is gone or was recreated.

        Raises:
            LedgerGoneError: It was deleted, or another topic has its name.
            ClusterError: The cluster cannot be asked.
        """
        identity = self._control.identity
        if identity.ledger == NO_TOPIC_ID:
            return
        found = self.describe([LEDGER]).get(LEDGER)
        if found is None and LEDGER in self.nowhere([LEDGER]):
            raise LedgerGoneError(again=False)

    def everywhere(self, names: Iterable[TopicName]) -> frozenset[TopicName]:
        """Return the topics that every broker knows; empty if a broker does not answer."""
        wanted = sorted(set(names))

        def once(deadline: Deadline) -> frozenset[TopicName]:
            answers = list(self._control.metadata_of_all(deadline, wanted))
            if not answers or any(len(each.brokers) != len(answers) for each in answers):
                return frozenset()
            return frozenset(wanted).intersection(*(each.topics for each in answers))

        return self._control.retried(once)

    def lacking(
        self, needed: Mapping[TopicName, Sequence[Right]]
    ) -> dict[TopicName, tuple[Right, ...]]:
        """Return the rights that the login lacks on each topic, as far as brokers report them."""
        return missing_rights(self._control, needed)

    def create_all(self, topics: Iterable[NewTopic]) -> Answers[TopicName, float]:
        """Create topics, without waiting for their leaders.

        Returns:
            The seconds that each creation took: its share of the time of its request.
        """
        change = creation(self._control.timeout_ms)
        return change_all(self._control, change, {topic.name: topic for topic in topics})

    def create(
        self,
        name: TopicName,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        *,
        validate_only: bool = False,
    ) -> None:
        """Create a topic and wait until it has leaders, or only let the cluster validate it."""
        topic = NewTopic(name, partitions, replication_factor, configs)
        if validate_only:
            for error in self.check_creations([topic]).values():
                raise error
            return
        self.create_all([topic]).sure(name)
        self.wait_for_leaders({name: partitions}).sure(name)

    def create_small(self, name: TopicName, configs: Mapping[str, str]) -> None:
        """Create a topic of one partition, unless it exists.

        It gets three replicas, or as many as there are brokers.
        """
        brokers = len(self._control.found().brokers)
        try:
            self.create(name, 1, min(_SMALL_REPLICAS, brokers), configs)
        except RefusedError as error:
            if error.error != TOPIC_ALREADY_EXISTS:
                raise

    def grow(self, name: TopicName, count: int) -> None:
        """Grow a topic to `count` partitions, and wait until they have leaders."""
        self.grow_all({name: count}).sure(name)

    def grow_all(self, counts: Mapping[TopicName, int]) -> Answers[TopicName, float]:
        """Grow topics to these partition counts, and wait until the partitions have leaders.

        Returns:
            The seconds that each change took: its share of the time of its request.
        """
        grown = change_all(self._control, growth(self._control.timeout_ms), counts)
        led = self.wait_for_leaders({name: counts[name] for name in grown})
        return Answers({name: grown[name] for name in led}, {**grown.failed, **led.failed})

    def check_creations(self, topics: Iterable[NewTopic]) -> dict[TopicName, RefusedError]:
        """Return why topics could not be created, by topic."""
        change = creation(self._control.timeout_ms, validate_only=True)
        return check_all(self._control, change, {topic.name: topic for topic in topics})

    def configs_of_new(self, name: TopicName) -> dict[str, ConfigEntry]:
        """Return all configs that a new topic of this name would have (KIP-525).

        Empty if the cluster does not tell: it would not create the topic, the login may not see its
        configs, or the brokers are older than Kafka 2.4.
        """
        change = creation(self._control.timeout_ms, validate_only=True)
        topic = NewTopic(name, 1, 1)

        def read(answer: Any) -> dict[str, ConfigEntry]:
            said = answer.topics[0]
            told = not said.error_code and not said.topic_config_error_code and said.configs
            return read_configs(said) if told else {}

        what = change.what(name, topic)
        return tell_controller(self._control, what, change.request({name: topic}), read)

    def check_growth(self, counts: Mapping[TopicName, int]) -> dict[TopicName, RefusedError]:
        """Return why topics could not grow to these partition counts, by topic."""
        change = growth(self._control.timeout_ms, validate_only=True)
        return check_all(self._control, change, counts)

    def wait_for_leaders(self, counts: Mapping[TopicName, int]) -> Answers[TopicName, None]:
        """Wait until topics have leaders for these partition counts.

        The controller acknowledges a change before all brokers know of it.
        """
        left = dict(counts)
        missing: dict[TopicName, ClusterError] = {}

        def once(deadline: Deadline) -> None:
            found = list(self._control.metadata_of_all(deadline, sorted(left)))
            missing.clear()
            for name in list(left):
                if not all(_led(each, name, left[name]) for each in found):
                    what = f"waiting for the leaders of topic {name}"
                    missing[name] = refused(self._control.side, what, LEADER_NOT_AVAILABLE)
                else:
                    del left[name]
            for error in missing.values():
                raise error

        try:
            self._control.retried(once)
        except ClusterError as error:
            failed = {name: missing.get(name, error) for name in left}
            return Answers(dict.fromkeys(counts.keys() - left.keys()), failed)
        return Answers(dict.fromkeys(counts), {})

    def delete(self, name: TopicName, number: TopicId) -> None:
        """Delete a topic and wait until it is gone; by id if brokers support that."""
        versions = self._control.retried(self._control.versions)
        by_id = versions.get(_DELETE_TOPICS, (0, -1))[1] >= _DELETE_BY_ID and number
        kind = DeleteTopicsRequest.DeleteTopicState
        state = kind(name=None, topic_id=UUID(number)) if by_id else kind(name=name)
        deletion: Change[TopicId] = Change(
            lambda *_: f"deleting topic {name}",
            lambda _: f"Delete on topic {name}",
            lambda _: DeleteTopicsRequest(topics=[state], timeout_ms=self._control.timeout_ms),
            lambda answer: [(name, answer.responses[0])],
            done_already=_UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC_OR_PARTITION,
        )
        change_all(self._control, deletion, {name: number}).sure(name)
        self._wait_until_gone(name, number)

    def _wait_until_gone(self, name: TopicName, number: TopicId) -> None:
        def once(deadline: Deadline) -> None:
            for found in self._control.metadata_of_all(deadline, [name]):
                if name in found.topics and found.topics[name].id == number:
                    what = f"waiting until topic {name} is gone"
                    raise refused(self._control.side, what, REQUEST_TIMED_OUT)

        self._control.retried(once)


def _led(found: Metadata, name: TopicName, count: int) -> bool:
    tps = (TopicPartition(name, number) for number in range(count))
    return all(found.leader(tp) is not None for tp in tps)
