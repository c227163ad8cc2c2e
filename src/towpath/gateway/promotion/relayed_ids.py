"""Transactional ids that came through gateways, kept in the ledger for later gateways. Blocking.

A gateway that was started anew has heard of none. Without this, one that wrote shortly before would
count as a producer that does not use the gateway.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.ledger.entries import Entry, RelayedId, Removed
from towpath.runtime.clock import now_ms

_ANEW = 6 * 3600.0
"""Seconds after which those that went on are written again, and old ones removed."""
_PIECE = 500
"""Entries that are written at once."""


class RelayedIds:
    """Reads and writes these ids.

    Args:
        at: What promotions work with.
    """

    def __init__(self, at: PromotionResources) -> None:
        self._at = at
        self._written = time.monotonic()
        self._clean_at = self._written

    def learn(self) -> None:
        """Take in what gateways before this one saw."""
        seen = {
            each.id: SeenTransactional({*each.producers}, {*each.topics}, {*each.groups})
            for each in self._at.book.relayed_lately()
        }
        self._at.call(lambda: self._at.gateway.routes.transactions.learn(seen))

    def note(self, *, every: bool = False) -> None:
        """Write what this one saw since the last time, and remove what counts no longer.

        Args:
            every: Also ids that did nothing new: at the end, and from time to time.

        Raises:
            TowpathError: The ledger does not take it; that is tried again later.
        """
        every = every or time.monotonic() - self._written > _ANEW
        ids = self._at.gateway.routes.transactions
        found = self._at.call(lambda: ids.unnoted(every=every))
        try:
            self._tell([self._entry(name, each) for name, each in sorted(found.items())])
        except BaseException:
            self._at.call(lambda: ids.note_again(found))
            raise
        if every:
            self._written = time.monotonic()
        self._clean()

    def _entry(self, name: str, seen: SeenTransactional) -> RelayedId:
        return RelayedId(
            link=self._at.link.name,
            id=name,
            producers=tuple(sorted(seen.producers)),
            topics=tuple(sorted(seen.topics)),
            groups=tuple(sorted(seen.groups)),
            at=now_ms(),
        )

    def _clean(self) -> None:
        """Remove old entries; of several gateways, that is for the one that began first."""
        now, book = time.monotonic(), self._at.book
        if now < self._clean_at or book.rank:
            return
        self._tell(
            [Removed(RelayedId.kind, each.link, each.about()) for each in book.relayed_old()]
        )
        self._clean_at = now + _ANEW

    def _tell(self, entries: Sequence[Entry]) -> None:
        for first in range(0, len(entries), _PIECE):
            self._at.book.tell(entries[first : first + _PIECE])
