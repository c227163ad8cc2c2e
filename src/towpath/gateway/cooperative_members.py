"""Members of classic groups that keep partitions while their group rebalances (KIP-429). Pure.

Such a member reads on while its JoinGroup is held, and commits nothing more of it. So it is told
before that it has no partitions: it commits, gives them back, and asks to join anew. That is what
the leader of its group would tell it, and the assignor of Kafka needs no more than that.
"""

from __future__ import annotations

import struct
from typing import Any

from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

ASSIGNOR = "cooperative-sticky"
NOTHING = bytes(ConsumerProtocolAssignment(assigned_partitions=[], version=0).encode())
"""The assignment of a member that has no partitions."""


def keeps_partitions(asked: Any) -> bool:
    """Whether a member names partitions in its JoinGroup that it goes on reading."""
    for each in asked.protocols:
        if each.name == ASSIGNOR:
            return any(topic.partitions for topic in _owned(bytes(each.metadata)))
    return False


def _owned(metadata: bytes) -> list[Any]:
    try:
        found = ConsumerProtocolSubscription.decode(metadata)
    except (ValueError, IndexError, struct.error, UnicodeDecodeError):
        return []  # what it has is unknown, so it is no other than members of other assignors
    return [*(found.owned_partitions or ())]
