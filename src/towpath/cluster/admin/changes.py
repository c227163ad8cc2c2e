"""What all parts of the control plane that change something need."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from towpath.cluster.codes import refused
from towpath.cluster.connect.control import Control
from towpath.model.deadline import Deadline
from towpath.model.errors import ClusterError, RefusedError

T = TypeVar("T")

_PATIENCE, _PAUSE = 5.0, 0.02
"""Seconds in which brokers should have heard of a change, and between two looks."""


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """What a cluster listed.

    Attributes:
        known: What this program has words for.
        strange: Kinds of other entries, each in a few words.
    """

    known: T
    strange: tuple[str, ...] = ()


def check(side: str, said: Any, what: str, acl: str = "") -> None:
    """Raise the error that an answer, or one result in it, tells."""
    if said.error_code:
        raise refusal(side, said, what, acl)


def refusal(side: str, said: Any, what: str, acl: str) -> RefusedError:
    """Return the error that an answer tells.

    The broker's own message about a missing right is left out: it describes our connection.
    """
    error = refused(side, what, said.error_code, acl=acl)
    if error.forbidden:
        return error
    return refused(side, what, said.error_code, said.error_message, acl)


def tell_controller(control: Control, what: str, request: Any, read: Callable[[Any], T]) -> T:
    """Send a change to the controller; it must do no harm when it comes twice."""

    def once(deadline: Deadline) -> T:
        controller = control.controller(deadline)
        return read(control.ask(controller, request, deadline, what))

    return control.retried(once)


def wait_for_brokers(
    control: Control, what: str, request: Any, is_told: Callable[[Any], bool]
) -> None:
    """Wait until each broker that can be reached tells of a change, or a few seconds are over.

    Brokers hear of changes one after the other, in the order in which they were made.
    """
    deadline = Deadline.after(_PATIENCE)
    for broker in control.found().brokers.values():
        with suppress(ClusterError):  # the change is made, whoever knows
            while not is_told(control.ask(broker, request, deadline, what)):
                if deadline.left() < _PAUSE:
                    return
                time.sleep(_PAUSE)
