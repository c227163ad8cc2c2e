"""Temporary errors of source and target, and the retry policy for them. Pure."""

from __future__ import annotations

from typing import TypeVar

from towpath.cluster.codes import SASL_AUTHENTICATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from towpath.model.errors import ClusterError, NotSetAsideError, RefusedError, UnreachableError
from towpath.model.nouns import Side, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.backoff import BackOff

E = TypeVar("E")
CORRUPT = 2
UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID = 100, 103
FENCED = 47
"""INVALID_PRODUCER_EPOCH. Outside transactions a Kafka broker answers it only if the producer id
was used with a higher epoch. We use epoch 0, and another copier fences us with 1."""
REFUSES_IDS = frozenset({FENCED, 49, 90})
"""INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED. A Kafka broker answers the
last two only in transactions. In a transaction each of the three says that another writer has taken
over."""
GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID})
FORBIDDEN = frozenset({29, 31})
"""TOPIC_AUTHORIZATION_FAILED, CLUSTER_AUTHORIZATION_FAILED: another leader would not help."""
AGAIN = BackOff(first=0.1, longest=10.0)
"""Pauses of a partition after errors in a row."""
TOLD = 10.0
"""Seconds of throttling that are reported. Shorter ones are how quotas normally work."""
_PATIENCE = 6
"""Failures in a row after which a partition is given up. With the back-off between them about three
seconds, in which a new right or a new topic reaches all brokers."""
RECREATED = Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
DELETED = Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)


def recreated_topic_message(topic: TopicName) -> str:
    """Return the message about a recreated source topic, with advice."""
    return f"source: {RECREATED}; `towpath restart FILE --topics {topic}` copies the new one"


def throttled(side: Side, node: int, seconds: float) -> UnreachableError:
    """Return the error for partitions whose leader throttles for a long time."""
    rate = "consumer_byte_rate" if side is Side.SOURCE else "producer_byte_rate"
    return UnreachableError(
        side,
        f"waiting for broker {node}",
        f"it throttles us for {seconds:.0f} s",
        f"raise the quotas of our user and client id there ({rate}, request_percentage)",
    )


def passes(error: ClusterError) -> bool:
    """Return whether a retry may help, as with another writer or a missing right.

    A refused login may pass too: while a password is being replaced, the broker may have the new
    one before our file does.
    """
    error = _cause(error)
    if isinstance(error, RefusedError):
        return error.retriable or _kept_out(error) or error.error in REFUSES_IDS
    return isinstance(error, UnreachableError)


def is_gone(error: BaseException | None) -> bool:
    """Return whether an error says that the mirror topic does not exist."""
    return isinstance(error, RefusedError) and error.side == Side.TARGET and error.error in GONE


def hopeless(error: BaseException | None, failures: int, *, has_end: bool) -> bool:
    """Return whether a partition is given up after a number of consecutive failures.

    This is so if its mirror topic no longer exists, or if the run has an end and the login is
    refused or lacks a right: the run would never end otherwise.
    """
    cause = _cause(error)
    if not isinstance(cause, RefusedError) or failures < _PATIENCE:
        return False
    return is_gone(error) or (_kept_out(cause) and has_end)


def _cause(error: E) -> E | ClusterError:
    """Return what the target answered where a record could not be set aside, else the error."""
    return error.cause if isinstance(error, NotSetAsideError) else error


def _kept_out(error: RefusedError) -> bool:
    """Whether the login is refused or lacks a right."""
    return error.forbidden or error.error == SASL_AUTHENTICATION_FAILED
