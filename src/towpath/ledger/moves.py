"""Moves of a link, or of its topics, from one state to the next, written before their effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from towpath.ledger.alive import this_host
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, LinkStage, LinkState
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
from towpath.runtime.clock import now_ms, readable
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
        self._link, self._topics = link, tuple(topics) or (WHOLE_LINK,)
        self.by = Mover(this_user(), this_host(), now_ms())
        self.now: list[AnyState] = [self._found(each) for each in self._topics]

    def write(self, states: Sequence[AnyState]) -> None:
        """Write states to the ledger, and to runs that listen.

        Raises:
            ClusterError: The ledger could not be read or written.
            LedgerError: Another command moved the link since its state was read.
        """
        self._link.read()
        for topic, known in zip(self._topics, self.now, strict=True):
            found = self._found(topic)
            if found != known:
                raise moved_meanwhile(found.entry)
        write_states(self._link, states)
        self.now = [*states]

    def later(self) -> int:
        """Return when somebody has to look."""
        self.by = replace(self.by, at=now_ms())
        return self.by.at + MINUTES

    def _found(self, topic: TopicName) -> AnyState:
        books = self._link.books
        entry = books.states[topic] if topic in halfway(books) else books.state_of(topic)
        return state_of(entry) if entry is not None else begun(self._link.name, topic)


def halfway(books: LinkBooks) -> frozenset[TopicName]:
    """Return the topics that are to fail over alone, and have not yet."""
    stages = {LinkStage.DRAINING, LinkStage.SEALED}
    own = books.states.items()
    return frozenset(topic for topic, each in own if topic != WHOLE_LINK and each.state in stages)


def moved_meanwhile(found: LinkState) -> LedgerError:
    """Return the error of a command that another one overtook."""
    what = f"topic {found.topic} of link {found.link}" if found.topic else f"link {found.link}"
    return LedgerError(
        f"{what} is {found.state.replace('_', ' ')} since {readable(found.since)}, by {found.user}"
        f" on {found.host}: another command moved it since this one looked, which changes nothing"
        " more; give the command again to see what holds now"
    )


def sealed(state: AnyState, by: Mover, until: int) -> AnyState:
    """Return the sealed state, in which nothing is copied, also after a failed attempt."""
    if isinstance(state, Mirroring | Draining):
        return state.seal(by, until)
    return state.again(by, until) if isinstance(state, FailedOver) else state
