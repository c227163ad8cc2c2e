"""What members of classic groups tell of themselves when they join. Pure.

Some keep their partitions while their group rebalances (KIP-429). Such a member reads on while its
JoinGroup is held, and commits nothing more of it. So it is told before that it has no partitions:
it commits, gives them back, and asks to join anew. That is what the leader of its group would tell
it. The assignor `cooperative-sticky` needs no more than that, Kafka Streams an assignment of no
tasks in a form of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription


class Nothing(NamedTuple):
    """An assignment without partitions, as the leader of a group would give it.

    Attributes:
        assignor: The name of the assignor.
        assignment: The encoded assignment.
    """

    assignor: str
    assignment: bytes


STICKY, STREAM = "cooperative-sticky", "stream"


def nothing_for(asked: Any) -> Nothing | None:
    """Return how a member that goes on reading while it joins is told that it has nothing.

    `None` for a member that keeps nothing meanwhile, and where its assignor is not known.
    """
    for assignor, found in _subscriptions(asked):
        if any(topic.partitions for topic in found.owned_partitions or ()):
            data = _told(assignor, bytes(found.user_data or b""))
            if data is not None:
                made = ConsumerProtocolAssignment(
                    assigned_partitions=[], user_data=data or None, version=0
                )
                return Nothing(assignor, bytes(made.encode()))
    return None


def _told(assignor: str, user_data: bytes) -> bytes | None:
    """Return what an assignor tells a member without partitions besides, `None` if unknown."""
    if assignor == STICKY:
        return b""
    if assignor == STREAM and len(user_data) >= _INT.size:
        return no_tasks(*_INT.unpack_from(user_data))
    return None


def no_tasks(version: int) -> bytes | None:
    """Return the assignment of no tasks, for a Streams application (classic protocol).

    The form is that of `AssignmentInfo` of Kafka Streams. Each version has what the one before has:
    active and standby tasks; hosts; the version that all members know; an error code; topics of
    hosts; standby partitions of hosts; when to rebalance next.

    Args:
        version: The version of the member's subscription.
    """
    if not 1 <= version <= _NEWEST:
        return None
    known = [version, version] if version >= _WITH_KNOWN else [version]
    counts = min(version + _COUNTS, _MOST_COUNTS) - len(known)
    next_one = struct.pack(">q", _NEVER) if version >= _WITH_NEXT else b""
    return struct.pack(f">{len(known) + counts}i", *known, *[0] * counts) + next_one


_INT = struct.Struct(">i")
_NEWEST, _WITH_KNOWN, _WITH_NEXT = 11, 3, 7
_COUNTS, _MOST_COUNTS = 2, 8
"""Numbers of four bytes in version 0, were there one, and at most."""
_NEVER = 2**63 - 1


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
