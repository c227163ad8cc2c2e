"""Moves of a link, or of its topics, from one state to the next, written before their effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from towpath.ledger.alive import this_host
from towpath.ledger.entries import WHOLE_LINK
from towpath.ledger.ledger import SESSIONS
from towpath.ledger.link import OpenLink
from towpath.ledger.states import (
    AnyState,
    Draining,
    FailedOver,
    Mirroring,
    Mover,
    OneWay,
    Sealed,
    begun,
    state_of,
)
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicName
from towpath.runtime.clock import now_ms
from towpath.runtime.user import this_user

MINUTES = 10 * 60_000
"""Milliseconds after which somebody has to look at a move that did not end."""


def write_states(link: OpenLink, states: Sequence[AnyState]) -> None:
    """Write states to the ledger, and to runs that listen.

    Raises:
        ClusterError: The ledger could not be written.
    """
    entries = [each.entry for each in states]
    link.ledger.append(entries)
    link.ledger.append(entries, SESSIONS)  # where runs listen
    for entry in entries:
        link.books.take(entry)


def undone(state: AnyState, by: Mover) -> AnyState:
    """Return the state before a failover that has written nothing yet that stays.

    Raises:
        LedgerError: There is nothing to take back, or it is too late.
    """
    if isinstance(state, Sealed):
        return state.undo(by)
    if isinstance(state, Draining):
        return state.give_up(by)
    name = state.entry.state.replace("_", " ")
    why = (
        "fences or offsets of groups are written, which stay; `towpath failover FILE` goes on"
        if isinstance(state, OneWay)
        else "there is no failover to take back"
    )
    raise LedgerError(f"link {state.entry.link} is {name}: {why}")


class Moves:
    """The states of a link, or of some of its topics, and the moves between them.

    Attributes:
        by: Who moves it.
        now: The state of each thing that moves.
    """

    def __init__(self, link: OpenLink, topics: Sequence[TopicName] = ()) -> None:
        self._link = link
        self.by = Mover(this_user(), this_host(), now_ms())
        self.now: list[AnyState] = []
        for topic in topics or [WHOLE_LINK]:
            entry = link.books.state_of(topic)
            self.now.append(state_of(entry) if entry is not None else begun(link.name, topic))

    def write(self, states: Sequence[AnyState]) -> None:
        """Write states to the ledger, and to runs that listen."""
        write_states(self._link, states)
        self.now = [*states]

    def later(self) -> int:
        """Return when somebody has to look."""
        self.by = replace(self.by, at=now_ms())
        return self.by.at + MINUTES


def sealed(state: AnyState, by: Mover, until: int) -> AnyState:
    """Return the state in which nothing is copied, whatever an earlier attempt came to."""
    if isinstance(state, Mirroring | Draining):
        return state.seal(by, until)
    return state.again(by, until) if isinstance(state, FailedOver) else state
