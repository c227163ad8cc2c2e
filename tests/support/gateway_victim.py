"""A gateway in a process of its own, to which a fault happens in each promotion.

`python -m tests.support.gateway_victim FILE FAULT..` serves a link as `towpath gateway` does. The
first promotion meets the first fault, and so on; later ones meet none. `kill=N` ends the process
with SIGKILL before or behind its Nth call that writes, counted from the moment that it listens, and
`stop=N` freezes it there. With `ids`, each beginning of a transactional id is such a call, too.
With `orders=PATH` that is told later: a file there says `kill N`, `stop N`, or by how many seconds
the wall clock is wrong for a while (`jump N SECONDS`), counted from when it is found. With
`ahead=SECONDS` it is wrong by so much all the time.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from tests.support.archive.steps import KillingSteps
from towpath.cli.main import main as towpath
from towpath.cluster.admin.groups.admin import GroupAdmin
from towpath.cluster.admin.transactions import Transactions
from towpath.gateway.promotion.gateway_book import GatewayBook
from towpath.gateway.promotion.promotion_attempt import PromotionAttempt
from towpath.gateway.promotion.promotion_thread import PromotionThread
from towpath.ledger.entries import Promoted
from towpath.ledger.ledger import Ledger
from towpath.model.errors import UnreachableError
from towpath.records.target.fences import Fencer
from towpath.runtime import clock

_true_promote, _true_drain = GatewayBook.promote, PromotionAttempt._drain
_true_start = PromotionThread.start
_WRONG = 10.0
"""Seconds for which a clock that has jumped is wrong."""
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


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
    numbered = [each.partition("=") for each in faults if "=" in each]
    with_ids = "ids" in faults
    faults = [each for each in faults if each in _RECORDS]
    for seconds in [what for name, _, what in numbered if name == "ahead"]:
        jump(int(seconds), math.inf)

    def start(thread: PromotionThread, *about: Any) -> None:
        for name, _, what in (each for each in numbered if each[0] != "ahead"):
            made = (
                OrderedSteps(Path(what))
                if name == "orders"
                else KillingSteps(int(what), _SIGNALS[name])
            )
            count_steps(made, with_ids=with_ids)
        _true_start(thread, *about)

    def drain(attempt: PromotionAttempt) -> None:
        if faults and faults[0] == "late":
            time.sleep(attempt._hold)
            faults.pop(0)
        _true_drain(attempt)

    def promote(book: GatewayBook, record: Promoted) -> None:
        (_RECORDS[faults.pop(0)] if faults else _true_promote)(book, record)

    setattr(PromotionAttempt, "_drain", drain)  # noqa: B010  # mypy forbids it otherwise
    setattr(GatewayBook, "promote", promote)  # noqa: B010
    setattr(PromotionThread, "start", start)  # noqa: B010
    sys.exit(towpath(["gateway", path]))


class OrderedSteps(KillingSteps):
    """Steps of a process that is told later what happens to it at which one.

    Args:
        file: Says so; it is removed once it was read.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(0)
        self._file, self._jump = file, 0

    def _next(self) -> None:
        if self._file.exists():
            word, number, *more = self._file.read_text().split()
            self._file.unlink()
            self.count, self._step = 0, int(number)
            self._number, self._jump = _SIGNALS.get(word), sum(map(int, more))
        super()._next()

    def _happens(self) -> None:
        if self._jump:
            jump(self._jump)
        super()._happens()


def jump(seconds: int, lasting: float = _WRONG) -> None:
    """Let the wall clock of this process jump, until it is set right again after a while."""
    until = time.monotonic() + lasting

    class Jumped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            wrong = seconds if time.monotonic() < until else 0
            return datetime.now(tz) + timedelta(seconds=wrong)

    setattr(clock, "datetime", Jumped)  # noqa: B010  # mypy forbids it otherwise


def count_steps(steps: KillingSteps, *, with_ids: bool) -> None:
    """Count each call that writes, from now on."""
    steps.around(GatewayBook, "_write")
    steps.around(Ledger, "append")
    steps.around(GroupAdmin, "write")
    steps.around(Fencer, "fence")
    if with_ids:
        steps.around(Transactions, "fence")


if __name__ == "__main__":
    main()
