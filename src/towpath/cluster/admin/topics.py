"""The control plane of one cluster: topics, their settings, and changes to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from kafka.protocol.admin import DeleteTopicsRequest

from towpath.cluster.admin.brokers import TOPIC, describe_configs
from towpath.cluster.admin.rights import Right, missing_rights
from towpath.cluster.admin.topic_changes import TopicChangeAdmin
from towpath.cluster.admin.topic_requests import (
    Change,
    NewTopic,
    Settings,
    creation,
    growth,
    setting,
)
from towpath.cluster.admin.values import meaning
from towpath.cluster.codes import (
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
    refused,
)
from towpath.cluster.connect.control import UNKNOWN_PATIENCE
from towpath.cluster.metadata import (
    Answers,
    ConfigEntry,
    Metadata,
    TopicInfo,
    non_default,
    read_configs,
)
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import TopicId, TopicName, TopicPartition

_TOPICS_AT_ONCE = 500
_DELETE_TOPICS, _DELETE_BY_ID = 20, 6
"""From that version on a request may name topics by id (KIP-516)."""
_UNKNOWN_TOPIC_ID = 100


class TopicAdmin(TopicChangeAdmin):
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

    def create_topics(self, topics: Iterable[NewTopic]) -> Answers[TopicName, float]:
        """Create topics; each answer is the seconds that it took, its share of its request's.

        They may have no leaders yet, for which one can wait.
        """
        change = creation(self._timeout_ms)
        return self._change_all(change, {topic.name: topic for topic in topics})

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
        if validate_only:
            for error in self.refused_topics([topic]).values():
                raise error
            return
        self.create_topics([topic]).sure(name)
        self.wait_for_leaders({name: partitions}).sure(name)

    def add_partitions(self, name: TopicName, count: int) -> None:
        """Let a topic grow to `count` partitions, and wait until they have leaders."""
        self.grow_topics({name: count}).sure(name)

    def grow_topics(self, counts: Mapping[TopicName, int]) -> Answers[TopicName, float]:
        """Let topics grow to so many partitions, and wait until they have leaders.

        Each answer is the seconds that it took, its share of its request's.
        """
        grown = self._change_all(growth(self._timeout_ms), counts)
        led = self.wait_for_leaders({name: counts[name] for name in grown})
        return Answers({name: grown[name] for name in led}, {**grown.failed, **led.failed})

    def set_configs(self, topic: TopicName, configs: Settings) -> None:
        """Change these settings of a topic and no others, and wait until all brokers tell so.

        `None` takes a setting back to the default.
        """
        self.set_configs_of({topic: configs}).sure(topic)

    def set_configs_of(self, changes: Mapping[TopicName, Settings]) -> Answers[TopicName, float]:
        """Change settings of many topics; each answer is the seconds that it took.

        That is its share of its request's.
        """
        changed = self._change_all(setting(), changes)
        if changed:
            self._wait_for_configs({name: changes[name] for name in changed})
        return changed

    def wait_for_leaders(self, counts: Mapping[TopicName, int]) -> Answers[TopicName, None]:
        """Wait until topics have leaders for so many partitions each.

        A change is acknowledged before all brokers have heard of it.
        """
        left = dict(counts)
        missing: dict[TopicName, ClusterError] = {}

        def once(deadline: Deadline) -> None:
            found = list(self._control.metadata_of_all(deadline, sorted(left)))
            missing.clear()
            for name in list(left):
                if not all(_led(each, name, left[name]) for each in found):
                    what = f"waiting for the leaders of topic {name}"
                    missing[name] = refused(self._side, what, LEADER_NOT_AVAILABLE)
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

    def delete_topic(self, name: TopicName, number: TopicId) -> None:
        """Delete a topic, where brokers can do so only if it has this id, and wait for that."""
        by_id = self.api_versions().get(_DELETE_TOPICS, (0, -1))[1] >= _DELETE_BY_ID and number
        kind = DeleteTopicsRequest.DeleteTopicState
        state = kind(name=None, topic_id=UUID(number)) if by_id else kind(name=name)
        deletion: Change[TopicId] = Change(
            lambda *_: f"deleting topic {name}",
            lambda _: f"Delete on topic {name}",
            lambda _: DeleteTopicsRequest(topics=[state], timeout_ms=self._timeout_ms),
            lambda answer: [(name, answer.responses[0])],
            done_already=_UNKNOWN_TOPIC_ID if by_id else UNKNOWN_TOPIC_OR_PARTITION,
        )
        self._change_all(deletion, {name: number}).sure(name)
        self._wait_until_gone(name, number)

    def _configs(self, names: Sequence[TopicName], deadline: Deadline) -> Sequence[Any]:
        what = "asking for the settings of topics"
        results: Sequence[Any] = self._control.ask_any(
            describe_configs(TOPIC, names), deadline, what
        ).results
        return results

    def _wait_for_configs(self, changes: Mapping[TopicName, Settings]) -> None:
        """Nothing is wrong if a broker is late, or another hand was quicker."""
        what = "waiting for the settings of topics"
        keys = sorted({key for settings in changes.values() for key in settings})
        request = describe_configs(TOPIC, sorted(changes), keys)

        def once(deadline: Deadline) -> None:
            brokers = self._control.metadata(deadline).brokers.values()
            for broker in brokers:
                share = deadline.share(len(brokers))
                with suppress(UnreachableError):
                    for said in self._control.ask(broker, request, share, what).results:
                        own = non_default(read_configs(said))
                        wanted = changes[TopicName(said.resource_name)]
                        if not said.error_code and not _holds(own, wanted):
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


def _holds(own: Mapping[str, str], configs: Settings) -> bool:
    return all(meaning(own.get(key)) == meaning(value) for key, value in configs.items())


def _led(found: Metadata, name: TopicName, count: int) -> bool:
    tps = (TopicPartition(name, number) for number in range(count))
    return all(found.leader(tp) is not None for tp in tps)
