"""What a run concludes from how the run before it ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from towpath.ledger.entries import Session
from towpath.model.nouns import LinkName
from towpath.records import session as sessions
from towpath.records.permit import TAKEOVER
from towpath.records.session import LinkSession
from towpath.runtime.clock import now_ms

LINK = LinkName("orders")


class StandInLedger:
    """Holds the signs of life, and when each of ours was written."""

    def __init__(self, *entries: Session) -> None:
        self._new = list(entries)
        self.told: list[float] = []

    def read(self, _tp: object, *, wait: float) -> Sequence[Session]:
        del wait
        new, self._new = self._new, []
        return new

    def append(self, entries: Iterable[Session], _tp: object) -> None:
        self._new += entries
        self.told.append(time.monotonic())


def started(
    monkeypatch: pytest.MonkeyPatch, last: Session | None
) -> tuple[LinkSession, StandInLedger]:
    """Return a session that began behind `last`, and its ledger."""
    ledger = StandInLedger(*([last] if last is not None else []))
    monkeypatch.setattr(sessions, "Client", lambda *_: _Closed())
    monkeypatch.setattr(sessions, "Ledger", lambda *_: ledger)
    monkeypatch.setattr(sessions, "_SILENCE", 0.01)
    config: Any = type("Config", (), {"link": LINK, "target": None})
    made = LinkSession(config.link, config.target, None)  # type: ignore[arg-type]  # it is not asked
    made.start()
    return made, ledger


class _Closed:
    def close(self) -> None:
        pass


def sign(*, over: bool, rested: bool) -> Session:
    at = now_ms()
    made = Session(
        link=LINK,
        run_id="before",
        host="elsewhere",
        pid=1,
        started=at - 9000,
        beat=at,
        ended_round=1,
        over=over,
    )
    return replace(made, rested=rested)


@pytest.mark.parametrize("over", [False, True], ids=["killed", "records under way"])
def test_slices_of_an_earlier_run_have_time_to_hear_of_ours(
    monkeypatch: pytest.MonkeyPatch, *, over: bool
) -> None:
    made, ledger = started(monkeypatch, sign(over=over, rested=False))
    made.close()
    assert made._alone.at >= ledger.told[0] + TAKEOVER
    assert made.dead == (None if over else ("elsewhere", 1, "", 0))


def test_a_run_that_ends_while_it_is_waited_for_is_not_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, goodbye = sign(over=False, rested=False), sign(over=True, rested=True)
    read = StandInLedger.read

    def one_by_one(ledger: StandInLedger, tp: object, *, wait: float) -> Sequence[Session]:
        found = read(ledger, tp, wait=wait)
        if first in found:
            ledger.append([goodbye], tp)
        return found

    monkeypatch.setattr(StandInLedger, "read", one_by_one)
    made, _ = started(monkeypatch, first)
    made.close()
    assert (made.dead, made.settled.before) == (None, True)


@pytest.mark.parametrize("last", [None, sign(over=True, rested=True)], ids=["first", "rested"])
def test_behind_a_run_that_left_nothing_nobody_waits(
    monkeypatch: pytest.MonkeyPatch, last: Session | None
) -> None:
    made, _ = started(monkeypatch, last)
    made.close()
    assert (made._alone.over, made.settled.before, made.settled.now) == (True, True, True)


def test_a_run_that_ends_before_its_first_round_leaves_what_it_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the run behind it would take for settled what the one before it sent."""
    made, ledger = started(monkeypatch, sign(over=False, rested=False))
    made.close()
    *_, goodbye = ledger.read(None, wait=0)
    assert (goodbye.over, goodbye.rested) == (True, False)
