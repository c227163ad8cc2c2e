"""The login's rights on topics, as brokers report them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum

from kafka.protocol.metadata import MetadataRequest

from towpath.cluster.connect.control import Control
from towpath.model.nouns import TopicName

_NEWEST = 12
"""Later versions answer by topic id alone where a topic is unknown."""


class Right(IntEnum):
    """An operation that an ACL allows, numbered as in Kafka.

    Each of these but AlterConfigs implies Describe.
    """

    READ = 3
    WRITE = 4
    DELETE = 6
    ALTER_CONFIGS = 11

    @property
    def kafka_name(self) -> str:
        """Kafka's own name, such as `AlterConfigs`."""
        return "".join(word.capitalize() for word in self.name.split("_"))


def missing_rights(
    control: Control, needed: Mapping[TopicName, Sequence[Right]]
) -> dict[TopicName, tuple[Right, ...]]:
    """Return the rights that the login lacks on each existing topic.

    Brokers before Kafka 2.3 report no rights, and neither do topics that do not exist; those count
    as complete.

    Raises:
        ClusterError: The cluster cannot be asked.
    """
    if not needed:
        return {}
    answer = control.retried(
        lambda deadline: control.ask_any(
            _request(needed), deadline, "asking for the rights on topics", newest=_NEWEST
        )
    )
    lacking = {
        TopicName(topic.name): _without(needed[TopicName(topic.name)], topic.authorized_operations)
        for topic in answer.topics
        if topic.error_code == 0 and topic.authorized_operations is not None
    }
    return {name: rights for name, rights in lacking.items() if rights}


def lacks(side: str, topic: str, rights: Iterable[Right]) -> str:
    """Return a sentence about the rights that are missing on a topic."""
    names = " and ".join(right.kafka_name for right in rights)
    return f"{side}: the login lacks the ACL {names} on topic {topic}; add it there"


def _without(needed: Sequence[Right], allowed: Collection[int]) -> tuple[Right, ...]:
    return tuple(right for right in needed if right not in allowed)


def _request(names: Iterable[TopicName]) -> MetadataRequest:
    kind = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[kind(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
