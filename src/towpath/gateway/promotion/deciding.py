"""The moment of decision: the record of a promotion is written, or it is known that it is not."""

from __future__ import annotations

import time

from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.ledger.entries import Promoted
from towpath.model.errors import TowpathError

_AGAIN = 1.0


def decide(book: GatewayBook, record: Promoted) -> None:
    """Write the record; where no answer comes, find out what became of it.

    Everything stays held until that is known: nobody may decide it by time alone.

    Raises:
        TowpathError: It is not written, and nothing has moved.
    """
    try:
        book.promote(record)
    except TowpathError:
        while True:
            try:
                book.settle()
            except TowpathError:
                time.sleep(_AGAIN)
            else:
                break
        if record.name not in book.promoted:
            raise
