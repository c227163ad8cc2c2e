"""What earlier steps of the link made of the access to the target. Pure."""

from __future__ import annotations

from towpath.access.steps import ACLS, KINDS, QUOTAS, USERS
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase

OwnedAccess = frozenset[tuple[str, str]]
"""Subject and `about` of everything that steps of this link created and none of them removed."""

_REMOVALS = frozenset(kind.name for kind in KINDS if kind.removes)


def ours_of(books: LinkBooks) -> OwnedAccess:
    """Return what the link created and has not removed since, as its journal tells.

    What was begun counts as ours: there is nothing to tell by whether it was done.
    """
    ours: set[tuple[str, str]] = set()
    # In the order of the journal. No clock is asked: those of machines differ.
    for entry in books.journal.values():
        if entry.subject not in {ACLS, USERS, QUOTAS}:
            continue
        if entry.owned:
            ours.add((entry.subject, entry.name))
        elif entry.do in _REMOVALS and entry.phase is Phase.DONE:
            ours.discard((entry.subject, entry.name))
    return frozenset(ours)
