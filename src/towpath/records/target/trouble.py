"""What the answers of the target mean for a partition. Pure."""

from __future__ import annotations

from enum import Enum, auto

from towpath.records.trouble import CORRUPT, FORBIDDEN, GONE, REFUSES_IDS

MESSAGE_TOO_LARGE = 10
NOT_ENOUGH_REPLICAS = 19
"""Answered before anything is appended, unlike NOT_ENOUGH_REPLICAS_AFTER_APPEND (20)."""
UNKNOWN_PRODUCER_ID = 59
_FOR_GOOD = frozenset({32, 42, 43, 87})
"""INVALID_TIMESTAMP, INVALID_REQUEST, UNSUPPORTED_FOR_MESSAGE_FORMAT, INVALID_RECORD."""


class TargetTrouble(Enum):
    """What a produce answer asks for."""

    REOPEN = auto()
    """The batch may have been appended, or our sequence is not the next one: find out where we
    stand."""
    GONE = auto()
    """The topic is not the one we knew, or is no more."""
    SPLIT = auto()
    """The batch is too large."""
    STOP = auto()
    """The target will never take this batch."""
    FENCED = auto()
    """Another copier took the partition over: find out whether this one still goes on."""
    FOREIGN_ID = auto()
    """The target takes no producer id but those that it gave out."""
    DAMAGED = auto()
    """The batch is damaged: on its way, or since it came from the source."""
    FORBIDDEN = auto()
    """The login lacks a right: send the same batches to the same leader again later."""
    RETRY = auto()
    """The batch was not appended, for a passing fault: send the same batches again."""


_AT_TARGET = {
    CORRUPT: TargetTrouble.DAMAGED,
    MESSAGE_TOO_LARGE: TargetTrouble.SPLIT,
    **dict.fromkeys(GONE, TargetTrouble.GONE),
    **dict.fromkeys(FORBIDDEN, TargetTrouble.FORBIDDEN),
    **dict.fromkeys(_FOR_GOOD, TargetTrouble.STOP),
    NOT_ENOUGH_REPLICAS: TargetTrouble.RETRY,
}
"""What is not listed means REOPEN. Kafka answers even NOT_LEADER_OR_FOLLOWER for a batch that it
has appended, where leadership moves while it waits for replicas (`DelayedProduce.tryComplete`)."""


def target_trouble(error: int, *, fresh: bool = False) -> TargetTrouble:
    """Classify the error code of a produce answer.

    Args:
        error: The code.
        fresh: Nothing of this partition was accepted yet, so the broker cannot have forgotten us.
    """
    if refuses_ids(error, fresh=fresh):
        return TargetTrouble.FOREIGN_ID
    return _AT_TARGET.get(error, TargetTrouble.REOPEN)


def refuses_ids(error: int, *, fresh: bool) -> bool:
    """Whether an answer means that the target takes no producer ids of ours."""
    return error in REFUSES_IDS or (fresh and error == UNKNOWN_PRODUCER_ID)
