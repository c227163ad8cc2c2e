"""The empty cleanup policy, which keeps all records, and targets that reject it. Pure.

Kafka 4.2 made an empty `cleanup.policy` legal for a topic and as the default of brokers (KIP-1161).
Older brokers store it, too, but refuse DeleteRecords on such a topic (`POLICY_VIOLATION`, tried on
Kafka 3.9.2 and 4.1.2), so a mirror topic could not begin at the source's first offset there.
"""

from __future__ import annotations

from dataclasses import replace

from towpath.topics.configs import POLICY, RETENTIONS
from towpath.topics.observed import ObservedTopics, Topic
from towpath.topics.owned import UNLIMITED

FIRST = (4, 2)
"""The first Kafka version that takes an empty cleanup policy."""
NOTE = (
    "cleanup.policy is empty on the source, which keeps all records; the target does not take that,"
    " so the mirror topic gets cleanup.policy=delete with retention.ms=-1 and retention.bytes=-1"
)
_KEPT = {POLICY: "delete", **dict.fromkeys(RETENTIONS, UNLIMITED)}


def keeps_all(topic: Topic) -> bool:
    """Return whether the cleanup policy of a topic is known and empty."""
    return topic.configs.get(POLICY, POLICY).strip() == ""


def as_taken(topic: Topic, seen: ObservedTopics) -> Topic:
    """Return a source topic with an equivalent cleanup policy that the target accepts."""
    if seen.takes_empty_policy or not keeps_all(topic):
        return topic
    own = {key: _KEPT.get(key, value) for key, value in topic.own.items()}
    return replace(topic, own=own, configs={**topic.configs, **_KEPT})
