"""The moment of decision: the record of a promotion is written, or it is known that it is not."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from towpath.ledger.entries import Promoted
from towpath.model.errors import TowpathError
from towpath.runtime import log

_AGAIN = 1.0


class UndecidedError(Exception):
    """The error of a gateway that is stopped while it does not know whether topics have moved.

    Nothing may be released: its clients end with it, and the next gateway finds out.
    """


class DecidingBook(Protocol):
    """Protocol of the entries of gateways, as a decision uses them."""

    @property
    def promoted(self) -> Mapping[str, Promoted]:
        """What moved, by the name of the request."""

    @property
    def may_arrive(self) -> bool:
        """Whether what was written last may be in the ledger although that failed."""

    def promote(self, record: Promoted) -> None:
        """Write the record."""

    def settle(self) -> None:
        """Make sure that nothing can arrive any more, and read what did."""


def decide(book: DecidingBook, record: Promoted, stop: threading.Event) -> None:
    """Write the record; where no answer comes, find out what became of it.

    Everything stays held until that is known: nobody may decide it by time alone. The log says so.

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
    except TowpathError as failed:
        if not book.may_arrive:
            raise
        _tell(record, failed)
        said = str(failed)
        while True:
            try:
                book.settle()
            except TowpathError as error:
                if str(error) != said:
                    said = str(error)
                    _tell(record, error)
                if stop.wait(_AGAIN):
                    raise UndecidedError from error
            else:
                break
        if record.name not in book.promoted:
            raise


def _tell(record: Promoted, why: TowpathError) -> None:
    facts = {"request": record.name, "why": str(why)}
    log.event("promotion.undecided", record.link, "", facts, trouble=True)
