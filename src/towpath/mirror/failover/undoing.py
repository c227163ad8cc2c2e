"""The undoing of a failover that has not yet made permanent changes."""

from __future__ import annotations

from collections.abc import Sequence

from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, LinkStage, LinkState
from towpath.ledger.events import What
from towpath.ledger.link import open_link
from towpath.ledger.moves import Moves, halfway, undone
from towpath.ledger.wishes import read_begun
from towpath.model.nouns import TopicName
from towpath.settings import LinkConfig


def undo(config: LinkConfig, topics: Sequence[TopicName] = ()) -> tuple[LinkState, ...]:
    """Undo a failover that has not made permanent changes; return the new states.

    Raises:
        ClusterError: The target could not be reached, or refused.
        LedgerError: There is nothing to take back, or it is too late.
    """
    with open_link(config) as link:
        read_begun(link)
        states = Moves(link, topics or (WHOLE_LINK, *sorted(_taken_along(link.books))))
        moved = [undone(each, states.by) for each in states.now]
        states.write(moved)
        link.events.tell(What.FAILOVER_UNDONE, topics=[*topics])
        return tuple(each.entry for each in moved)


def _taken_along(books: LinkBooks) -> frozenset[TopicName]:
    """Return the topics whose own failover, which did not end, that of the whole link goes on."""
    whole = books.state_of()
    return halfway(books) if whole is not None and whole.state == LinkStage.SEALED else frozenset()
