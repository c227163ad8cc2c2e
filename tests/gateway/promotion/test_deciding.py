"""Whether a promotion is decided: what is refused for sure is undone at once, else it is told."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from towpath.gateway.promotion.deciding import UndecidedError, decide
from towpath.ledger.entries import Promoted
from towpath.model.errors import RefusedError, TowpathError, UnreachableError
from towpath.model.nouns import LinkName
from towpath.runtime import log

RECORD = Promoted(link=LinkName("l"), name="one", topics=(), groups=(), at=1)
REFUSED = RefusedError("target", "producing", 29, "TOPIC_AUTHORIZATION_FAILED")
AWAY = UnreachableError("target", "producing", "no answer")


class Book:
    """The entries of gateways, whose record is not written.

    Args:
        error: Why.
        may_arrive: Whether it may be written later.
        settles: What the tries to find out end with; `None` for well.
    """

    def __init__(
        self, error: TowpathError, settles: Sequence[TowpathError | None], *, may_arrive: bool
    ) -> None:
        self._error, self.may_arrive, self._settles = error, may_arrive, [*settles]
        self.promoted: dict[str, Promoted] = {}

    def promote(self, _: Promoted) -> None:
        raise self._error

    def settle(self) -> None:
        error = self._settles.pop(0)
        if error is not None:
            raise error


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found = list[str]()

    def event(what: str, _: str, __: str, facts: dict[str, str], *, trouble: bool) -> None:
        assert (what, facts["request"], trouble) == ("promotion.undecided", "one", True)
        found.append(facts["why"])

    monkeypatch.setattr(log, "event", event)
    return found


def test_what_the_broker_refused_is_undone_at_once(told: list[str]) -> None:
    with pytest.raises(RefusedError):
        decide(Book(REFUSED, [], may_arrive=False), RECORD, threading.Event())
    assert told == []


def test_where_it_may_arrive_it_is_told_why_everything_is_held(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    monkeypatch.setattr("towpath.gateway.promotion.deciding._AGAIN", 0)
    with pytest.raises(UnreachableError):
        decide(Book(AWAY, [AWAY, REFUSED, REFUSED, None], may_arrive=True), RECORD, stop)
    assert told == [str(AWAY), str(REFUSED)], "once for each cause"
    stop.set()
    with pytest.raises(UndecidedError):
        decide(Book(AWAY, [AWAY], may_arrive=True), RECORD, stop)
