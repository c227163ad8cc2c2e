"""Which share of the limits each slice is told, and when. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tests.support.copying.deals import part, slices_of, table_of
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import WHOLE_LINK, Paced, SetRate, Share, Used
from towpath.mirror.run import pacing
from towpath.mirror.run.pacing import Pacing
from towpath.model.nouns import LinkName, TopicName
from towpath.model.rates import RateLimits
from towpath.settings import RateConfig

LINK, HOT, COLD = LinkName("shop"), TopicName("hot"), TopicName("cold")
TABLE = table_of([[part("hot"), part("cold")], [part("hot", 1)], []])


@dataclass
class StandInSession:
    """Keeps what the slices are told."""

    run_id: str = "run"
    paced: dict[tuple[int, int], Paced] = field(default_factory=dict)
    told: list[Share] = field(default_factory=list)

    def deal(self, entries: Iterable[Share]) -> None:
        self.told += entries

    def heard(self, number: int, at: int, **used: tuple[int, float]) -> None:
        topics = {TopicName(name): Used(*each) for name, each in used.items()}
        whole = topics.pop(TopicName("whole"), None)
        self.paced[7, number] = Paced(
            link=LINK, run_id="run", round=7, slice=number, at=at, whole=whole, topics=topics
        )


def made(file: dict[str, object]) -> tuple[Pacing, StandInSession, LinkBooks]:
    books, session = LinkBooks(LINK), StandInSession()
    config = SimpleNamespace(
        link=LINK, run=SimpleNamespace(max_rate=RateConfig.model_validate(file))
    )
    link = SimpleNamespace(config=config, books=books)
    return Pacing(link, session), session, books  # type: ignore[arg-type]  # stand-ins


def rates(session: StandInSession) -> dict[int, RateLimits]:
    told, session.told = session.told, []
    return {share.slice: share.rates for share in told}


def test_shares_are_even_until_slices_tell_what_they_need() -> None:
    paces, session, _ = made({"link": "1MB", "topics": {"hot": "100KB"}})
    paces.look([TABLE])
    told = rates(session)
    assert sum(each.link or 0 for each in told.values()) == pytest.approx(1_000_000)
    assert told[0].link == told[1].link == pytest.approx(491_667, abs=1)
    assert [each.topics for each in told.values()] == [{HOT: 50_000}, {HOT: 50_000}, {}]
    paces.look([TABLE])
    assert session.told == [], "nothing has changed"
    session.heard(0, 1000, whole=(0, 0.0), hot=(0, 0.0))
    session.heard(1, 1000, whole=(0, 0.0), hot=(0, 0.0))
    paces.look([TABLE])
    rates(session)
    session.heard(0, 3000, whole=(100_000, 0.0), hot=(20_000, 0.0))
    session.heard(1, 3000, whole=(900_000, 1.8), hot=(100_000, 1.0))
    paces.look([TABLE])
    told = rates(session)
    assert told[0].link == pytest.approx(71_667, abs=1)
    assert told[1].link == pytest.approx(911_667, abs=1)
    assert told[1].topics == {HOT: pytest.approx(86_500)}
    assert paces.waiting == (
        "waiting for the limit of the link 90% of the time",
        "waiting for the limit of topic hot 50% of the time",
    )
    assert paces.waited == {WHOLE_LINK: pytest.approx(1.8), HOT: pytest.approx(1.0)}
    assert paces.holds_back(COLD)


def test_a_limit_that_is_set_or_taken_back_is_told_at_once() -> None:
    paces, session, books = made({})
    paces.look([TABLE])
    assert session.told == []
    books.rates[HOT] = SetRate(link=LINK, topic=HOT, rate=1000, user="", host="", at=0)
    paces.look([TABLE])
    assert rates(session) == {0: RateLimits(None, {HOT: 500}), 1: RateLimits(None, {HOT: 500})}
    del books.rates[HOT]
    paces.look([TABLE])
    assert rates(session) == {0: RateLimits(), 1: RateLimits()}
    session.heard(0, 1000, hot=(0, 0.9))
    paces.look([TABLE])
    assert session.told == []
    assert not paces.holds_back(HOT)


def test_shares_are_told_again_in_case_a_slice_began_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paces, session, _ = made({"link": "1MB"})
    paces.look([TABLE])
    rates(session)
    monkeypatch.setattr(pacing, "_AGAIN", 0.0)
    paces.look([TABLE])
    assert len(rates(session)) == 3


def test_a_round_begins_with_its_shares_while_the_other_one_goes_on() -> None:
    paces, session, _ = made({"link": "1MB"})
    before = paces.begin(slices_of([[part("hot")], [part("hot", 1)]], 7), 7)
    assert [each.rates for each in before] == [RateLimits(500_000), RateLimits(500_000)]
    paces.look([table_of([[part("hot")], [part("hot", 1)]])])
    assert session.told == [], "they know it"
