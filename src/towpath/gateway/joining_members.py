"""What members of classic groups tell of themselves when they join. Pure.

Some keep their partitions while their group rebalances (KIP-429). Such a member reads on while its
JoinGroup is held, and commits nothing more of it. So it is told before that it has no partitions:
it commits, gives them back, and asks to join anew. That is what the leader of its group would tell
it, and the assignor of Kafka needs no more than that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

ASSIGNOR = "cooperative-sticky"
NOTHING = bytes(ConsumerProtocolAssignment(assigned_partitions=[], version=0).encode())
"""The assignment of a member that has no partitions."""


def keeps_partitions(asked: Any) -> bool:
    """Whether a member names partitions in its JoinGroup that it goes on reading."""
    return any(
        topic.partitions
        for assignor, found in _subscriptions(asked)
        for topic in found.owned_partitions or ()
        if assignor == ASSIGNOR
    )


def topics_of(asked: Any) -> set[str]:
    """Return the topics to which a member subscribes in its JoinGroup."""
    return {topic for _, found in _subscriptions(asked) for topic in found.topics}


def _subscriptions(asked: Any) -> Iterator[tuple[str, Any]]:
    """Yield each assignor of a member with its metadata, where those can be read."""
    for each in asked.protocols if asked.protocol_type == "consumer" else ():
        try:
            yield each.name, ConsumerProtocolSubscription.decode(bytes(each.metadata))
        except (ValueError, IndexError, struct.error, UnicodeDecodeError):
            continue
