"""What is written of deletions that are foretold, and when nothing new is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from tests.support.subjects.topic_models import observed, topic
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Entry, Foretold
from towpath.ledger.link import OpenLink
from towpath.model.nouns import LinkName, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.topics.foresight import NOTHING, Foresight
from towpath.topics.foretelling import foretell

NAME = TopicName("orders")
AHEAD = Foresight((Reason.of(ReasonCode.CLOCK_AHEAD, seconds=90),), {0: (5, 9)})
SEEN = replace(observed(topic(), target=(topic(),)), foresights={NAME: AHEAD})


class _Link:
    """Keeps what is appended to the ledger."""

    def __init__(self) -> None:
        self.name = LinkName("link")
        self.books = LinkBooks(self.name)
        self.ledger = self
        self.entries: list[Foretold] = []

    def append(self, entries: Iterable[Entry]) -> None:
        self.entries += cast("Iterable[Foretold]", entries)

    def told(self, seen: Any = SEEN, *reached: TopicName) -> list[Foretold]:
        """Return what is written now."""
        before = len(self.entries)
        foretell(cast("OpenLink", self), seen, reached or (NAME,))
        return self.entries[before:]


def test_a_hold_is_written_once_and_its_end_too() -> None:
    link = _Link()
    (entry,) = link.told()
    assert (entry.kept, entry.ranges, entry.offsets) == (True, ((0, 5, 9),), 4)
    assert entry.covers(0, 20)  # a target that keeps less goes on deleting
    assert not link.told()
    released = replace(SEEN, foresights={NAME: replace(AHEAD, meant=True)})
    (entry,) = link.told(released)
    assert (entry.kept, entry.meant) == (False, True)


def test_nothing_is_written_of_topics_that_have_not_caught_up_or_lose_nothing() -> None:
    link = _Link()
    assert not link.told(SEEN, TopicName("another"))
    assert not link.told(replace(SEEN, foresights={NAME: NOTHING}))
    past_both = Foresight((), {0: (5, 9)})
    (entry,) = link.told(replace(SEEN, foresights={NAME: past_both}))
    assert (entry.kept, entry.reason) == (False, "")
    assert [entry.covers(0, at) for at in (4, 5, 8, 9)] == [False, True, True, False]
    assert not entry.covers(1, 5)


def test_a_hold_that_somebody_ended_is_over() -> None:
    link = _Link()
    link.told()
    (entry,) = link.told(replace(SEEN, foresights={}))
    assert not entry.kept
    assert not link.told(replace(SEEN, foresights={}))
