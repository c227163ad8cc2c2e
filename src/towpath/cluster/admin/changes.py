"""Helpers for the parts of the control plane that change something."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.cluster.connect.retrying import polled
from towpath.model.errors import ClusterError, RefusedError
from towpath.runtime.backoff import BackOff
from towpath.runtime.deadline import Deadline

T = TypeVar("T")

_PATIENCE = 5.0
"""Seconds to wait until all brokers know of a change."""
_AGAIN = BackOff(first=0.02, longest=0.1)


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Function that lists items of a cluster.

    Attributes:
        known: Entries that this program understands.
        strange: Kinds of entries that it does not, each in a few words.
    """

    known: T
    strange: tuple[str, ...] = ()


def check(side: str, said: Any, what: str, acl: str = "") -> None:
    """Raise if an answer, or one result in it, has an error code."""
    if said.error_code:
        raise refusal(side, said, what, acl)


def refusal(side: str, said: Any, what: str, acl: str) -> RefusedError:
    """Return the error for the error code of an answer.

    The broker's own message about a missing right is left out: it describes our connection.
    """
    error = refused(side, what, said.error_code, acl=acl)
    if error.forbidden:
        return error
    return refused(side, what, said.error_code, said.error_message, acl)


def tell_controller(control: Control, what: str, request: Any, read: Callable[[Any], T]) -> T:
    """Send a change to the controller; the change must be harmless if repeated."""

    def once(deadline: Deadline) -> T:
        controller = control.controller(deadline)
        return read(control.ask(controller, request, deadline, what))

    return control.retried(once)


def wait_for_brokers(
    control: Control, what: str, request: Any, is_told: Callable[[Any], bool]
) -> None:
    """Wait a few seconds at most until each reachable broker shows a change.

    Brokers apply changes in the order in which they were made.
    """
    deadline = Deadline.after(_PATIENCE)
    for broker in control.found().brokers.values():
        with suppress(ClusterError):  # the change is made, whether or not this broker shows it
            polled(partial(control.ask, broker, request, deadline, what), deadline, _AGAIN, is_told)
