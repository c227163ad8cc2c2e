"""Which link copies back what clients write on the target."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from towpath.gateway.promotion.link_back import link_back
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import LinkStage
from towpath.ledger.states import begun
from towpath.model.nouns import LinkName, TopicName

LINK = LinkName("l")
FIRST, SECOND = TopicName("first"), TopicName("second")


def link(**states: LinkStage) -> Any:
    """Return a link of which topics, or all of it by the name `whole`, are in a state."""
    books = LinkBooks(LINK)
    for name, state in states.items():
        topic = TopicName("" if name == "whole" else name)
        back = "l-back" if state is LinkStage.REVERSED else ""
        books.take(replace(begun(LINK, topic).entry, state=state.value, back=back))
    return SimpleNamespace(books=books)


@pytest.mark.parametrize("wanted", [(), (FIRST,), (FIRST, SECOND)])
def test_the_link_back_of_a_whole_link_copies_all_its_topics(wanted: tuple[TopicName]) -> None:
    assert link_back(link(whole=LinkStage.REVERSED), wanted) == "l-back"


def test_a_link_back_of_some_topics_copies_these_alone() -> None:
    some = link(first=LinkStage.REVERSED, second=LinkStage.FAILED_OVER)
    assert link_back(some, ()) == "l-back"
    assert link_back(some, (FIRST,)) == "l-back"
    assert link_back(some, (FIRST, SECOND)) is None


def test_without_a_failback_there_is_none() -> None:
    assert link_back(link(), ()) is None
    assert link_back(link(first=LinkStage.FAILED_OVER), ()) is None
    assert link_back(link(whole=LinkStage.FAILED_OVER), ()) is None
