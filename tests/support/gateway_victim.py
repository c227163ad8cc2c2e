"""A gateway in a process of its own, to which a fault happens in each promotion.

`python -m tests.support.gateway_victim FILE FAULT..` serves a link as `towpath gateway` does. The
first promotion meets the first fault, and so on; later ones meet none. `kill=N` ends the process
with SIGKILL before or behind its Nth call that writes; with `kill=0` it prints at its end how many
there were. With `ids`, each beginning of a transactional id is such a call, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tests.support.archive.steps import KillingSteps
from towpath.cli.main import main as towpath
from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.cluster.admin.transactions import Transactions
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.promotion_attempt import PromotionAttempt
from towpath.ledger.entries import Promoted
from towpath.ledger.ledger import Ledger
from towpath.model.errors import UnreachableError
from towpath.records.target.fences import Fencer

_true_promote, _true_drain = GatewayBook.promote, PromotionAttempt._drain


def _late(_: GatewayBook, __: Promoted) -> None:
    raise AssertionError("the record is not written when it is too late")


def _away(_: GatewayBook, __: Promoted) -> None:
    raise UnreachableError("target", "writing a record", "it is away")


def _lost(book: GatewayBook, record: Promoted) -> None:
    book._write([record])
    raise UnreachableError("target", "writing a record", "the answer was lost")


def _fenced(book: GatewayBook, record: Promoted) -> None:
    other = GatewayBook(book._link)
    other.renew()
    other.end()
    _true_promote(book, record)


_RECORDS: dict[str, Callable[[GatewayBook, Promoted], None]] = {
    "late": _late,
    "away": _away,
    "fenced": _fenced,
    "lost": _lost,
}


def main() -> None:
    """Do what the arguments say."""
    path, faults = sys.argv[1], sys.argv[2:]
    kill = next((int(each.partition("=")[2]) for each in faults if each.startswith("kill=")), None)
    steps = KillingSteps(kill or 0)
    if kill is not None:
        steps.around(GatewayBook, "_write")
        steps.around(Ledger, "append")
        steps.around(GroupAdmin, "write")
        steps.around(Fencer, "fence")
        if "ids" in faults:
            steps.around(Transactions, "fence")
    faults = [each for each in faults if each in _RECORDS]

    def drain(attempt: PromotionAttempt) -> None:
        if faults and faults[0] == "late":
            time.sleep(attempt._hold)
            faults.pop(0)
        _true_drain(attempt)

    def promote(book: GatewayBook, record: Promoted) -> None:
        (_RECORDS[faults.pop(0)] if faults else _true_promote)(book, record)

    setattr(PromotionAttempt, "_drain", drain)  # noqa: B010  # mypy forbids it otherwise
    setattr(GatewayBook, "promote", promote)  # noqa: B010
    code = towpath(["gateway", path])
    print(steps.count)  # noqa: T201
    sys.exit(code)


if __name__ == "__main__":
    main()
