"""The classification of the target's error codes for a partition. Pure."""

from __future__ import annotations

from enum import Enum, auto

from towpath.cluster.codes import INVALID_RECORD, TOO_LARGE
from towpath.records.trouble import CORRUPT, FORBIDDEN, GONE, REFUSES_IDS

NOT_ENOUGH_REPLICAS = 19
"""Nothing was appended, unlike with NOT_ENOUGH_REPLICAS_AFTER_APPEND (20)."""
UNKNOWN_PRODUCER_ID = 59
_FOR_GOOD = frozenset({42, 43})
"""INVALID_REQUEST, UNSUPPORTED_FOR_MESSAGE_FORMAT."""
BAD_RECORDS = frozenset({32, INVALID_RECORD})
"""INVALID_TIMESTAMP: a timestamp is too far from the broker's clock for the topic configs.
INVALID_RECORD: a record of a compacted topic has no key. Other records of the batch may be good."""


class TargetTrouble(Enum):
    """The possible reactions to an error in a produce response."""

    REOPEN = auto()
    """The batch may have been appended, or our sequence is not the next one: find out where the
    partition stands."""
    GONE = auto()
    """The mirror topic was replaced or deleted."""
    SPLIT = auto()
    """The batch is too large."""
    STOP = auto()
    """The target will never accept this batch."""
    REFUSED = auto()
    """The target will never accept some records of this batch."""
    FENCED = auto()
    """Another copier took over the partition: find out whether this one may continue."""
    FOREIGN_ID = auto()
    """The target accepts only producer ids that it has allocated itself."""
    DAMAGED = auto()
    """The batch is damaged: on its way to the target, or before."""
    FORBIDDEN = auto()
    """The login lacks a right: send the same batches to the same leader later."""
    RETRY = auto()
    """The batch was not appended because of a passing fault: send the same batches again."""


_AT_TARGET = {
    CORRUPT: TargetTrouble.DAMAGED,
    **dict.fromkeys(TOO_LARGE, TargetTrouble.SPLIT),
    **dict.fromkeys(GONE, TargetTrouble.GONE),
    **dict.fromkeys(FORBIDDEN, TargetTrouble.FORBIDDEN),
    **dict.fromkeys(_FOR_GOOD, TargetTrouble.STOP),
    **dict.fromkeys(BAD_RECORDS, TargetTrouble.REFUSED),
    NOT_ENOUGH_REPLICAS: TargetTrouble.RETRY,
}
"""Any other code means REOPEN. Kafka answers even NOT_LEADER_OR_FOLLOWER for a batch that it has
appended, if leadership moves while it waits for replicas (`DelayedProduce.tryComplete`)."""


def target_trouble(error: int, *, fresh: bool = False) -> TargetTrouble:
    """Classify the error code of a produce response.

    Args:
        error: The code.
        fresh: No batch of this partition was accepted yet, so no producer state can have expired.
    """
    if refuses_ids(error, fresh=fresh):
        return TargetTrouble.FOREIGN_ID
    return _AT_TARGET.get(error, TargetTrouble.REOPEN)


def refuses_ids(error: int, *, fresh: bool) -> bool:
    """Return whether an error code means that the target refuses derived producer ids."""
    return error in REFUSES_IDS or (fresh and error == UNKNOWN_PRODUCER_ID)
