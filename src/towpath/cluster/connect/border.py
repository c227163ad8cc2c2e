"""Translation of kafka-python's and socket errors, and silence of their logs.

Only kafka-python's messages are used, and none of them raises an error of its own. Its loggers are
silenced: at debug level some write the requests, credentials included.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from towpath.model.errors import UnreachableError
from towpath.model.foreign import foreign

_ALIVE = "look whether the broker runs and the network to it is open"


def silence() -> None:
    """Silence kafka-python's loggers, whatever the level of the root logger."""
    logger = logging.getLogger("kafka")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


@contextmanager
def broker_errors(side: str, what: str) -> Iterator[None]:
    """Translate the socket errors raised in the block into Towpath errors.

    Args:
        side: `source` or `target`.
        what: What is being done, with its values.

    Raises:
        UnreachableError: There was no response, or an unreadable one.
    """
    try:
        yield
    except OSError as error:
        raise translated(side, what, error) from error


def translated(side: str, what: str, error: OSError) -> UnreachableError:
    """Return the Towpath error for a socket error."""
    if isinstance(error, TimeoutError):
        advice = f"{_ALIVE}, or raise `request_timeout`"
        return UnreachableError(side, what, "no answer in time", advice)
    return UnreachableError(side, what, foreign(error), _ALIVE)


silence()
