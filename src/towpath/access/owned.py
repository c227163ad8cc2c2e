"""The access rules that earlier steps of the link have made on the target. Pure."""

from __future__ import annotations

from towpath.access.steps import ACLS, KINDS, QUOTAS, USERS
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Phase

OwnedAccess = frozenset[tuple[str, str]]
"""Subject and name of everything that steps of this link have created and not removed."""

_REMOVALS = frozenset(kind.name for kind in KINDS if kind.removes)


def ours_of(books: LinkBooks) -> OwnedAccess:
    """Return the access rules that the link has created and not removed, by its journal.

    What was only begun counts: nothing on the target tells whether the step was done.
    """
    ours: set[tuple[str, str]] = set()
    # The order is that of the journal, as the clocks of machines differ.
    for entry in books.journal.values():
        if entry.subject not in {ACLS, USERS, QUOTAS}:
            continue
        if entry.owned:
            ours.add((entry.subject, entry.name))
        elif entry.do in _REMOVALS and entry.phase is Phase.DONE:
            ours.discard((entry.subject, entry.name))
    return frozenset(ours)
