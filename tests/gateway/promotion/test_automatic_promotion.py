"""A gateway promotes by itself once nothing forbids it, or at a time."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from towpath.gateway.promotion.automatic_promotion import AutomaticPromotion, Readiness
from towpath.model.errors import UnreachableError
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings.sections.gateway import GatewayConfig

RUN = Reason.of(ReasonCode.PROMOTE_NO_RUN, link="l")
ABSENT = Reason.of(ReasonCode.PROMOTE_ABSENT, topic="t", side="source")
NOTHING = Reason.of(ReasonCode.PROMOTE_NOTHING)
MOMENT = 1_700_000_000_000


class Scene:
    """Two clusters, and a clock that goes on when it is told to."""

    def __init__(self, wanted: str | int) -> None:
        self.clock, self.ms, self.looks = 100.0, MOMENT - 60_000, 0
        self.reasons: list[Reason] = []
        self.has_clients, self.is_away = True, False
        self.told: list[list[Reason]] = []
        self.promotion = AutomaticPromotion(
            wanted, self.look, self.tell, lambda: self.clock, lambda: self.ms
        )

    def look(self) -> Readiness:
        self.looks += 1
        if self.is_away:
            raise UnreachableError("source", "listing groups", "it is away")
        return Readiness(self.reasons, self.has_clients)

    def tell(self, reasons: Collection[Reason]) -> None:
        self.told.append([*reasons])

    def within(self, seconds: int) -> int | None:
        """Return after how many seconds it is due, `None` if it is not within a time."""
        for passed in range(seconds):
            if self.promotion.due():
                return passed
            self.clock += 1
            self.ms += 1000
        return None


def test_by_hand_nobody_looks() -> None:
    scene = Scene("hand")
    assert scene.within(1000) is None
    assert scene.looks == 0


def test_it_is_due_once_nothing_has_forbidden_it_for_a_minute() -> None:
    scene = Scene("auto")
    scene.reasons = [RUN]
    assert scene.within(200) is None
    scene.reasons = []
    assert scene.within(40) is None
    scene.reasons = [RUN]
    assert scene.within(20) is None, "a member came that does not come through the gateway"
    scene.reasons = []
    assert 60 <= (scene.within(200) or 0) <= 90


def test_without_clients_it_is_never_due() -> None:
    scene = Scene("auto")
    scene.has_clients = False
    assert scene.within(600) is None


def test_reasons_are_told_once_until_others_come() -> None:
    scene = Scene("auto")
    scene.reasons = [RUN]
    scene.within(100)
    scene.reasons = [RUN, ABSENT]
    scene.within(100)
    scene.reasons = []
    scene.within(30)
    assert scene.told == [[RUN], [RUN, ABSENT], []]


def test_where_all_is_promoted_nothing_is_told() -> None:
    scene = Scene("auto")
    scene.reasons = [NOTHING, RUN]
    assert scene.within(600) is None
    assert scene.told == []
    assert scene.looks <= 11


def test_at_a_time_it_is_due_as_soon_as_nothing_forbids_it() -> None:
    scene = Scene(MOMENT)
    scene.has_clients = False
    assert scene.within(59) is None
    assert scene.looks == 0
    scene.reasons = [RUN]
    assert scene.within(60) is None
    scene.reasons = []
    assert scene.within(20) is not None


def test_after_an_attempt_that_was_undone_the_next_one_comes_later() -> None:
    scene, waits = Scene(MOMENT - 100_000), []
    for _ in range(6):
        waits.append(scene.within(2000))
        scene.promotion.undone()
    assert waits == [0, 60, 120, 240, 480, 900]


def test_a_cluster_that_is_away_is_asked_again_later() -> None:
    scene = Scene("auto")
    scene.is_away = True
    with pytest.raises(UnreachableError):
        scene.promotion.due()
    assert not scene.promotion.due(), "not at once"
    scene.is_away = False
    assert scene.within(200) is not None


@pytest.mark.parametrize(
    ("said", "wanted"),
    [("hand", "hand"), ("auto", "auto"), ("2023-11-14T22:13:20Z", MOMENT)],
)
def test_the_file_says_when(said: str, wanted: str | int) -> None:
    assert GatewayConfig(listen="h:9092", promote=said).promote_at == wanted


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("soon", "'soon' is neither hand nor auto nor a time such as"),
        ("2025-01-31T08:00:00", "has no time zone"),
    ],
)
def test_another_word_is_refused(said: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        GatewayConfig(listen="h:9092", promote=said)
