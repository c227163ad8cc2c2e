"""What the login of one side may do with topics, as its brokers tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.metadata import MetadataRequest

from towpath.cluster.control import Control
from towpath.config import ClusterConfig
from towpath.model.nouns import Side, TopicName

_BITS = {"Read": 3, "Write": 4, "Delete": 6, "Alter": 7, "Describe": 8, "DescribeConfigs": 10}
_NOT_TOLD = -(1 << 31)
_NEWEST = 12
"""Later versions answer by topic id alone where a topic is unknown."""


def missing_rights(
    config: ClusterConfig, side: Side, needed: Mapping[TopicName, Sequence[str]]
) -> dict[TopicName, tuple[str, ...]]:
    """Return which of the operations needed on each existing topic the login lacks.

    Brokers before Kafka 2.3, and topics that do not exist, are silent: nothing is said to be
    missing there.

    Raises:
        ClusterError: The cluster cannot be asked.
    """
    control = Control(config, side)
    try:
        answer = control.retried(
            lambda deadline: control.ask_any(
                _request(needed), deadline, "asking for the rights on topics", newest=_NEWEST
            )
        )
    finally:
        control.close()
    allowed = {topic.name: topic.authorized_operations for topic in answer.topics}
    found = {
        name: tuple(each for each in wanted if not _may(allowed.get(name, _NOT_TOLD), each))
        for name, wanted in needed.items()
    }
    return {name: lacking for name, lacking in found.items() if lacking}


def _request(names: Iterable[TopicName]) -> MetadataRequest:
    kind = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[kind(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )


def _may(allowed: int, operation: str) -> bool:
    return allowed == _NOT_TOLD or bool(allowed >> _BITS[operation] & 1)
