"""The moment of decision: the record of a promotion is written, or it is known that it is not."""

from __future__ import annotations

import threading

from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.ledger.entries import Promoted
from towpath.model.errors import TowpathError

_AGAIN = 1.0


class UndecidedError(Exception):
    """The error of a gateway that is stopped while it does not know whether topics have moved.

    Nothing may be released: its clients end with it, and the next gateway finds out.
    """


def decide(book: GatewayBook, record: Promoted, stop: threading.Event) -> None:
    """Write the record; where no answer comes, find out what became of it.

    Everything stays held until that is known: nobody may decide it by time alone.

    Args:
        book: The entries of gateways.
        record: What moves.
        stop: Set when the gateway shall end.

    Raises:
        TowpathError: It is not written, and nothing has moved.
        UndecidedError: The gateway shall end, and it is not known.
    """
    try:
        book.promote(record)
    except TowpathError:
        while True:
            try:
                book.settle()
            except TowpathError as error:
                if stop.wait(_AGAIN):
                    raise UndecidedError from error
            else:
                break
        if record.name not in book.promoted:
            raise
