"""What the login of one side may do with topics, as its brokers tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafka.admin import ACLOperation
from kafka.protocol.metadata import MetadataRequest

from towpath.cluster.control import Control
from towpath.config import ClusterConfig
from towpath.model.nouns import Side, TopicName

_NEWEST = 12
"""Later versions answer by topic id alone where a topic is unknown."""


def missing_rights(
    config: ClusterConfig, side: Side, needed: Mapping[TopicName, Sequence[ACLOperation]]
) -> dict[TopicName, tuple[ACLOperation, ...]]:
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
    lacking = {}
    for topic in answer.topics:
        if topic.error_code == 0 and topic.authorized_operations is not None:
            wanted = needed[TopicName(topic.name)]
            allowed = topic.authorized_operations
            lacking[TopicName(topic.name)] = tuple(
                one for one in wanted if one.value not in allowed
            )
    return {name: operations for name, operations in lacking.items() if operations}


def _request(names: Iterable[TopicName]) -> MetadataRequest:
    kind = MetadataRequest.MetadataRequestTopic
    return MetadataRequest(
        topics=[kind(name=name) for name in names],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
