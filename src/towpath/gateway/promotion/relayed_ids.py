"""Transactional ids that came through gateways, kept in the ledger for later gateways. Blocking.

A gateway that was started anew has heard of none. Without this, one that wrote shortly before would
count as a producer that does not use the gateway.
"""

from __future__ import annotations

import time

from towpath.gateway.promotion.promotion_resources import PromotionResources
from towpath.gateway.transaction_routes import SeenTransactional
from towpath.ledger.entries import RelayedId
from towpath.runtime.clock import now_ms

_ANEW = 6 * 3600.0
"""Seconds after which all are written again."""
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

    def learn(self) -> None:
        """Take in what gateways before this one saw."""
        seen = {
            each.id: SeenTransactional({*each.producers}, {*each.topics}, {*each.groups})
            for each in self._at.book.relayed_lately()
        }
        self._at.call(lambda: self._at.gateway.routes.transactions.learn(seen))

    def note(self) -> None:
        """Write what this one saw since the last time.

        Raises:
            TowpathError: The ledger does not take it; that is tried again later.
        """
        at, ids = self._at, self._at.gateway.routes.transactions
        every = time.monotonic() - self._written > _ANEW
        found, now = at.call(lambda: ids.unnoted(every=every)), now_ms()
        entries = [
            RelayedId(
                link=at.link.name,
                id=name,
                producers=tuple(sorted(each.producers)),
                topics=tuple(sorted(each.topics)),
                groups=tuple(sorted(each.groups)),
                at=now,
            )
            for name, each in sorted(found.items())
        ]
        try:
            for first in range(0, len(entries), _PIECE):
                at.book.tell(entries[first : first + _PIECE])
        except BaseException:
            at.call(lambda: ids.note_again(found))
            raise
        if every:
            self._written = time.monotonic()
