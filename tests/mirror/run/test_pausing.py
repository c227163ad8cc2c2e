"""Paused topics are taken from all slices that may copy them. Pure."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from tests.support.copying.deals import part, slices_of
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Dealt, Pause
from towpath.mirror.run.dealer import Dealer
from towpath.mirror.run.pausing import Pausing
from towpath.mirror.run.run import _Mirror
from towpath.model.nouns import LinkName, TopicName

LINK, PAUSED = LinkName("link"), TopicName("paused")
HANDS = [[part("paused"), part("other")]]


@pytest.fixture
def books() -> LinkBooks:
    return LinkBooks(LINK)


@pytest.fixture
def session() -> MagicMock:
    return MagicMock(run_id="run")


@pytest.fixture
def dealer(books: LinkBooks, session: MagicMock) -> Dealer:
    """A dealer while round 7 hands over to round 8."""
    made = Dealer(_link(books), session, MagicMock())
    made.planned(slices_of(HANDS, 7), 7)
    made.planned(slices_of(HANDS, 8, follows=7), 8)
    return made


def _link(books: LinkBooks) -> MagicMock:
    return MagicMock(books=books, config=SimpleNamespace(link=LINK))


def pause(books: LinkBooks) -> None:
    books.take(Pause(link=LINK, topic=PAUSED, user="ana", host="ops-1", at=5))


def told(session: MagicMock) -> list[tuple[int, dict[TopicName, tuple[int, ...]]]]:
    entries: list[Dealt] = [each for call in session.deal.call_args_list for each in call.args[0]]
    return [(each.round, dict(each.withdrawn)) for each in entries]


def test_while_a_round_hands_over_the_slices_of_both_leave_a_paused_topic(
    books: LinkBooks, session: MagicMock, dealer: Dealer
) -> None:
    pausing = Pausing(_link(books), dealer)
    assert not pausing.look(dealer.tables)
    pause(books)
    assert not pausing.look(dealer.tables)
    assert told(session) == [(7, {PAUSED: (0,)}), (8, {PAUSED: (0,)})]
    pausing.look(dealer.tables)
    assert len(told(session)) == 2, "they are told once"
    books.pauses.clear()
    assert pausing.look(dealer.tables), "it is dealt to the next round later"


def test_a_round_that_was_left_is_told_no_more(
    books: LinkBooks, session: MagicMock, dealer: Dealer
) -> None:
    dealer.left(7, settled=True)
    pause(books)
    Pausing(_link(books), dealer).look(dealer.tables)
    assert told(session) == [(8, {PAUSED: (0,)})]


def test_rounds_that_follow_no_other_begin_with_one_table(
    session: MagicMock, books: LinkBooks
) -> None:
    made = Dealer(_link(books), session, MagicMock())
    assert made.tables == []
    made.planned(slices_of(HANDS, 7), 7)
    made.planned(slices_of(HANDS, 8), 8)
    assert [table.round for table in made.tables] == [8]


@pytest.mark.parametrize("hands_over", [True, False])
def test_each_turn_of_the_run_looks_for_pauses(hands_over: bool) -> None:
    mirror, relay = MagicMock(), MagicMock(hands_over=hands_over, number=7)
    relay.wait.return_value = False
    mirror._pausing.look.return_value, mirror._more = True, False
    assert not _Mirror._turn(mirror, relay, MagicMock())
    assert mirror._end_round_when_due.called is not hands_over
    assert mirror._pausing.look.called is hands_over
    assert mirror._more is hands_over
