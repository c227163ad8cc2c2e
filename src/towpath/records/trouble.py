"""Which trouble passes, and for how long it is waited for, on either side. Pure."""

from __future__ import annotations

from towpath.cluster.codes import SASL_AUTHENTICATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from towpath.model.backoff import BackOff
from towpath.model.errors import ClusterError, RefusedError, UnreachableError
from towpath.model.nouns import Side
from towpath.model.reasons import Reason, ReasonCode

CORRUPT = 2
UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID = 100, 103
FENCED = 47
"""INVALID_PRODUCER_EPOCH. Outside of transactions a Kafka broker answers it only where the id was
used with a higher epoch: we use none but 0, and another copier fences us with 1."""
REFUSES_IDS = frozenset({FENCED, 49, 90})
"""INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED. Outside of transactions a
Kafka broker never answers the others. Inside of a transaction each says that another writer took
over."""
GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID})
FORBIDDEN = frozenset({29, 31})
"""TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: no leader elsewhere helps."""
AGAIN = BackOff(first=0.1, longest=10.0)
"""Pauses of one partition after errors in a row."""
TOLD = 10.0
"""Seconds of throttling that are worth telling of; shorter ones are how quotas work."""
_PATIENCE = 6
"""With the back-off between them about three seconds: what was just granted or made arrives."""
RECREATED = Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
DELETED = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)


def throttled(side: Side, node: int, seconds: float) -> UnreachableError:
    """Return the error for partitions led by a broker that throttles us for long."""
    rate = "consumer_byte_rate" if side is Side.SOURCE else "producer_byte_rate"
    return UnreachableError(
        side,
        f"waiting for broker {node}",
        f"it throttles us for {seconds:.0f} s",
        f"raise the quotas of our user and client id there ({rate}, request_percentage)",
    )


def passes(error: ClusterError) -> bool:
    """Whether trying again may help: another writer goes by, and a right may be granted.

    A password may be changing: the broker has the new one, and our file has it soon.
    """
    if isinstance(error, RefusedError):
        return error.retriable or _kept_out(error) or error.error in REFUSES_IDS
    return isinstance(error, UnreachableError)


def is_gone(error: BaseException | None) -> bool:
    """Whether an error says that the target has no such topic."""
    return isinstance(error, RefusedError) and error.side == Side.TARGET and error.error in GONE


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
