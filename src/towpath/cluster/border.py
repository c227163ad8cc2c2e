"""The one place where exceptions of kafka-python, and of the sockets below it, become ours.

It silences kafka-python's loggers too: at debug level some of them write what they send, logins
included, and our own errors say the rest.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from kafka import errors

from towpath.cluster.codes import refused
from towpath.model.errors import ClusterError, UnreachableError

_ALIVE = "look whether the broker runs and the network to it is open"
_FAULT = "this is a fault in Towpath or a broker that differs from Kafka"

# By class; of several that fit the first counts.
_CLIENT_ERRORS: tuple[tuple[type[errors.KafkaError], str, str], ...] = (
    (errors.KafkaTimeoutError, "no answer in time", f"{_ALIVE}, or raise `request_timeout`"),
    (errors.KafkaConnectionError, "the connection broke", _ALIVE),
    (errors.NodeNotReadyError, "the broker is not ready", _ALIVE),
    (errors.MetadataEmptyBrokerList, "no broker is known", _ALIVE),
    (errors.KafkaProtocolError, "the answer is none of Kafka's protocol", "check the port"),
    (errors.UnrecognizedBrokerVersion, "the broker is too old", "use Kafka 2.8 or newer"),
    (errors.KafkaConfigurationError, "the settings do not fit", "check the `sasl` block"),
    (errors.UnsupportedCodecError, "the compression is unknown", _FAULT),
    (errors.LogTruncationError, "the log was truncated", "see `records.on_gap`"),
    (errors.NoOffsetForPartitionError, "the group has no offset", "commit one first"),
    (errors.QuotaViolationError, "a quota is used up", "wait, or raise the quota"),
    (errors.RetriableError, "the request was cut short", _ALIVE),
    (errors.UnknownBrokerIdError, "the broker left the cluster", _ALIVE),
    (errors.CommitFailedError, "the group was rebalanced", "stop its consumers first"),
    (errors.TransactionAbortedError, "the transaction was aborted", _FAULT),
    (errors.IllegalArgumentError, "the request is wrong", _FAULT),
    (errors.IllegalStateError, "the request came at the wrong time", _FAULT),
)


def silence() -> None:
    """Keep kafka-python's loggers from writing anything, whatever the level of the root is."""
    logger = logging.getLogger("kafka")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


@contextmanager
def broker_errors(side: str, what: str) -> Iterator[None]:
    """Translate what goes wrong inside into errors of ours.

    Args:
        side: `source` or `target`.
        what: What is being done, with its values.

    Raises:
        RefusedError: A broker answered with an error code.
        UnreachableError: There was no answer, or none that can be read.
    """
    try:
        yield
    except (errors.KafkaError, OSError, struct.error) as error:
        raise translated(side, what, error) from error


def translated(side: str, what: str, error: Exception) -> ClusterError:
    """Return the error of ours that says the same as a foreign one."""
    if isinstance(error, errors.BrokerResponseError) and error.errno is not None:
        return refused(side, what, error.errno, str(error.args[0]) if error.args else "")
    for kind, why, advice in _CLIENT_ERRORS:
        if isinstance(error, kind):
            text = ", ".join(str(argument) for argument in error.args)
            return UnreachableError(side, what, f"{why} ({text})" if text else why, advice)
    if isinstance(error, TimeoutError):
        return UnreachableError(
            side, what, "no answer in time", f"{_ALIVE}, or raise `request_timeout`"
        )
    if isinstance(error, OSError):
        return UnreachableError(side, what, error.strerror or str(error), _ALIVE)
    return UnreachableError(side, what, f"the answer cannot be read ({error})", _FAULT)


silence()
