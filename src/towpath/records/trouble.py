"""What the answers of brokers mean for a partition. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from towpath.cluster.codes import (
    OFFSET_OUT_OF_RANGE,
    SASL_AUTHENTICATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from towpath.cluster.data.fetch import Fetched
from towpath.model.backoff import BackOff
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import Side, SourceOffset, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

CORRUPT, MESSAGE_TOO_LARGE = 2, 10
UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID = 100, 103
NOT_ENOUGH_REPLICAS = 19
"""Answered before anything is appended, unlike NOT_ENOUGH_REPLICAS_AFTER_APPEND (20)."""
UNKNOWN_PRODUCER_ID = 59
FENCED = 47
"""INVALID_PRODUCER_EPOCH. Outside of transactions a Kafka broker answers it only where the id was
used with a higher epoch: we use none but 0, and another copier fences us with 1."""
REFUSES_IDS = frozenset({FENCED, 49, 90})
"""INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED. Outside of transactions a
Kafka broker never answers the others. Inside of a transaction each says that another writer took
over."""
_GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID})
_FORBIDDEN = frozenset({29, 31})
"""TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: no leader elsewhere helps."""
_FOR_GOOD = frozenset({32, 42, 43, 87})
"""INVALID_TIMESTAMP, INVALID_REQUEST, UNSUPPORTED_FOR_MESSAGE_FORMAT, INVALID_RECORD."""


class SourceTrouble(Enum):
    """What a fetch answer asks for."""

    NONE = auto()
    RANGE = auto()
    """The offset is not in the log: retention overtook us, or the log was cut."""
    CUT = auto()
    """The log was cut below what we have read: unclean leader election."""
    GONE = auto()
    """The topic is not the one we knew, or is no more."""
    FORBIDDEN = auto()
    """The login lacks a right: ask the same leader again later."""
    DAMAGED = auto()
    """The broker cannot read the records."""
    RETRY = auto()
    """Another leader, or a passing fault."""


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


_AT_SOURCE = {
    0: SourceTrouble.NONE,
    OFFSET_OUT_OF_RANGE: SourceTrouble.RANGE,
    CORRUPT: SourceTrouble.DAMAGED,
    **dict.fromkeys(_GONE, SourceTrouble.GONE),
    **dict.fromkeys(_FORBIDDEN, SourceTrouble.FORBIDDEN),
}
_AT_TARGET = {
    CORRUPT: TargetTrouble.DAMAGED,
    MESSAGE_TOO_LARGE: TargetTrouble.SPLIT,
    **dict.fromkeys(_GONE, TargetTrouble.GONE),
    **dict.fromkeys(_FORBIDDEN, TargetTrouble.FORBIDDEN),
    **dict.fromkeys(_FOR_GOOD, TargetTrouble.STOP),
    NOT_ENOUGH_REPLICAS: TargetTrouble.RETRY,
}
"""What is not listed means REOPEN. Kafka answers even NOT_LEADER_OR_FOLLOWER for a batch that it
has appended, where leadership moves while it waits for replicas (`DelayedProduce.tryComplete`)."""


def source_trouble(said: Fetched) -> SourceTrouble:
    """Classify a fetch answer."""
    if said.diverging is not None:
        return SourceTrouble.CUT
    return _AT_SOURCE.get(said.error, SourceTrouble.RETRY)


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


def passes(error: ClusterError) -> bool:
    """Whether trying again may help: another writer goes by, and a right may be granted.

    A password may be changing: the broker has the new one, and our file has it soon.
    """
    if isinstance(error, RefusedError):
        return error.retriable or _kept_out(error) or error.error in REFUSES_IDS
    return isinstance(error, UnreachableError)


TOLD = 10.0
"""Seconds of throttling that are worth telling of; shorter ones are how quotas work."""


def throttled(side: Side, node: int, seconds: float) -> UnreachableError:
    """Return the error for partitions led by a broker that throttles us for long."""
    rate = "consumer_byte_rate" if side is Side.SOURCE else "producer_byte_rate"
    return UnreachableError(
        side, f"waiting for broker {node}", f"it throttles us for {seconds:.0f} s",
        f"raise the quotas of our user and client id there ({rate}, request_percentage)",
    )  # fmt: skip


AGAIN = BackOff(first=0.1, longest=10.0)
"""Pauses of one partition after errors in a row."""


LOOKS = 5
"""Looks at a batch that comes damaged from the source, about three seconds in all: the fault may be
in memory, on the way, or in a replica that is not the leader."""


def damage(tp: TopicPartition, offset: SourceOffset, why: str) -> Reason:
    """Return the reason that a batch is damaged at the source, as far as we can see."""
    return Reason.of(ReasonCode.BATCH_DAMAGED, partition=str(tp), offset=offset, why=why)


_PATIENCE = 6
"""With the back-off between them about three seconds: what was just granted or made arrives."""


def is_gone(error: BaseException | None) -> bool:
    """Whether an error says that the target has no such topic."""
    return isinstance(error, RefusedError) and error.side == Side.TARGET and error.error in _GONE


def hopeless(error: BaseException | None, failures: int, *, has_end: bool) -> bool:
    """Whether a partition is left out after `failures` in a row.

    Its mirror topic is no more; or the login is refused or lacks a right, and the run has an end,
    which it
    would never reach else; it says so then.
    """
    if not isinstance(error, RefusedError) or failures < _PATIENCE:
        return False
    return is_gone(error) or (_kept_out(error) and has_end)


def _kept_out(error: RefusedError) -> bool:
    """Whether the login is refused, or lacks a right."""
    return error.forbidden or error.error == SASL_AUTHENTICATION_FAILED


@dataclass(frozen=True, slots=True)
class SourceLoss:
    """Source offsets [first, end) that cannot be copied, and where copying goes on."""

    first: SourceOffset
    end: SourceOffset
    go_on: SourceOffset
    why: Reason


def source_loss(
    expected: SourceOffset, earliest: SourceOffset, latest: SourceOffset
) -> SourceLoss | None:
    """Tell what an offset out of range means, or `None` when it is in range after all."""
    if expected < earliest:
        return SourceLoss(expected, earliest, earliest, Reason.of(ReasonCode.RETENTION))
    return cut(latest, expected) if expected > latest else None


def cut(end: SourceOffset, expected: SourceOffset) -> SourceLoss:
    """Tell what it means that the source log was cut to `end`, below what was read."""
    return SourceLoss(end, expected, end, Reason.of(ReasonCode.SOURCE_CUT, end=end))


RECREATED = Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
DELETED = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)
