"""Whoever asks for a promotion follows it, also while the target is silent for a moment."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from towpath.gateway.promotion import promotion_requests
from towpath.gateway.promotion.promotion_requests import ask, withdraw
from towpath.ledger.entries import Promotion, PromotionStage, PromotionStep
from towpath.ledger.link import OpenLink
from towpath.model.errors import ClusterError
from towpath.model.nouns import LinkName
from towpath.runtime.deadline import Deadline

LINK = LinkName("l")
AWAY = ClusterError("target: away")


@dataclass
class Ledger:
    """A ledger whose gateway takes a request, reaches a step, and is done; it fails now and then.

    Attributes:
        answers: What each look finds: a state, or an error.
    """

    answers: list[PromotionStage | ClusterError]
    asked: Promotion | None = None
    looked: int = field(default=0)
    throttled: float = 0.0
    patience: Deadline | None = None

    def wait_until(self, patience: Deadline | None) -> None:
        self.patience = patience

    def usable(self) -> bool:
        return True

    def append(self, entries: list[Promotion]) -> None:
        (self.asked,) = entries

    def read(self, *_: Any, **__: Any) -> list[Promotion]:
        assert self.patience is not None, "a target that throttles is not waited for without end"
        found = self.answers[min(self.looked, len(self.answers) - 1)]
        self.looked += 1
        if isinstance(found, ClusterError):
            raise found
        assert self.asked is not None
        return [replace(self.asked, state=found.value, gateway="g").reached(PromotionStep.NEAR, 1)]


@dataclass
class Link:
    """A link with such a ledger."""

    ledger: Ledger
    name: LinkName = LINK

    def look(self) -> None:
        """Find nothing new."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_requests, "_AGAIN", 0.01)


def asked(answers: list[PromotionStage | ClusterError]) -> tuple[Promotion, list[str]]:
    told: list[str] = []
    link = cast("OpenLink", Link(Ledger(answers)))
    return ask(link, (), threading.Event(), dry_run=False, told=told.append), told


def test_a_target_that_is_silent_while_a_gateway_works_is_waited_for() -> None:
    done, told = asked([PromotionStage.RUNNING, AWAY, AWAY, PromotionStage.PROMOTED])
    assert (done.state, told) == (PromotionStage.PROMOTED, [PromotionStep.NEAR])


def test_what_comes_after_the_request_has_more_time() -> None:
    ledger = Ledger([PromotionStage.RUNNING, PromotionStage.PROMOTED])
    ask(cast("OpenLink", Link(ledger)), (), threading.Event(), dry_run=False)
    assert ledger.patience is None


@pytest.mark.parametrize("before", [[], [PromotionStage.RUNNING]])
def test_one_that_stays_away_is_told_with_where_to_look(
    before: list[PromotionStage | ClusterError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promotion_requests, "_TROUBLE", 0.05)
    told: list[str] = []
    link = cast("OpenLink", Link(Ledger([*before, AWAY])))
    with pytest.raises(ClusterError, match="away"):
        ask(link, (), threading.Event(), dry_run=False, told=told.append)
    assert "`towpath history FILE` tells it once the target answers" in told[-1]


def test_a_request_that_nobody_took_tells_whether_the_target_throttles() -> None:
    for throttled, told in ((0.2, ""), (41.3, "The target throttled this command for 41 s")):
        ledger = Ledger([PromotionStage.ASKED], throttled=throttled)
        link = cast("OpenLink", Link(ledger))
        stop = threading.Event()
        stop.set()
        done = withdraw(link, ask(link, (), stop, dry_run=False), stop)
        assert ("throttled" in str(done.reason)) is bool(told)
        assert told in done.reason
