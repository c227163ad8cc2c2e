"""Records in mirror topics that the link did not write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.ledger.standings import ROW as SOME_ROW
from towpath.compare.written_rows import WrittenRows
from towpath.ledger.books import LinkBooks
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.cutover.cuts import cuts_through_query
from towpath.mirror.transform.proof.others import (
    FoundOthers,
    borders_of,
    foreign,
    mirrors_of,
    others_of,
    producers_of,
)
from towpath.model.errors import LedgerError
from towpath.model.nouns import LinkName, TopicId, TopicName, TopicPartition
from towpath.topics.owned import cut_over

SOURCE = TopicPartition(TopicName("a"), 0)
THERE = TopicPartition(TopicName("b"), 1)
ELSEWHERE = TopicPartition(TopicName("b"), 0)
ROW = replace(SOME_ROW, topic=SOURCE.topic, target_topic=THERE.topic)


def rows(others: Any = (), later: Any = (), first: int = 0) -> WrittenRows:
    return WrittenRows(THERE, first, dict(others), dict(later), 0, untimed=False)


def position(producer: int, epoch: int, *earlier: int) -> TransformedPosition:
    return TransformedPosition(
        TopicId("id"), 4, producer_id=producer, producer_epoch=epoch, earlier=earlier
    )


class Positions:
    def __init__(self, at: TransformedPosition, *, opened: bool = False) -> None:
        self._at, self._opened = at, opened

    def seen(self) -> dict[TopicPartition, TransformedPosition]:
        return {SOURCE: self._at}

    def read(self) -> dict[TopicPartition, TransformedPosition]:
        if self._opened:
            raise LedgerError("a transaction stays open")
        return self.seen()


def test_what_a_run_wrote_meanwhile_is_explained_by_its_position() -> None:
    known = producers_of({SOURCE: position(8, 6, 7)})
    assert foreign([rows({7: 1, 8: 2}, {(8, 5): 3, (8, 6): 1})], known) == {}


def test_what_no_position_explains_is_foreign_also_under_the_producer_of_the_link() -> None:
    known = producers_of({SOURCE: position(8, 5)})
    found = foreign([rows({77: 2}, {(8, 5): 3, (8, 6): 1})], known)
    assert found == {(THERE, 77): 2, (THERE, 8): 1}


def test_positions_that_an_open_transaction_hides_leave_open_whose_records_are() -> None:
    parts = [rows({77: 2}, {(8, 6): 1})]
    at: Any = Positions(position(8, 5), opened=True)
    assert others_of(parts, at, {}) == FoundOthers(unsure=3)
    at = Positions(position(8, 6))
    assert others_of(parts, at, {}) == FoundOthers({(THERE, 77): 2})


def test_what_others_write_behind_a_cutover_is_the_clients_own() -> None:
    parts = [rows({77: 2}), rows({77: 1, 78: 4}, {(8, 7): 5}, first=9)]
    at: Any = Positions(position(8, 6))
    found = others_of(parts, at, {THERE: 9})
    assert found == FoundOthers({(THERE, 77): 2}, {(THERE, 77): 1, (THERE, 78): 4, (THERE, 8): 5})
    assert others_of(parts, at, {THERE: 10}).clients == {}
    books = LinkBooks(LinkName("l"))
    for entry in cuts_through_query(books, [ROW], {THERE: 9, ELSEWHERE: 0}, ()):
        books.of(entry.tp).take(entry)
    later = TopicPartition(THERE.topic, 7)
    mirrors = {SOURCE.topic: THERE.topic}
    assert borders_of(books, mirrors, [ELSEWHERE, THERE, later]) == {
        ELSEWHERE: 0, THERE: 9, later: 0,
    }  # fmt: skip
    # Behind clients' records the border of the cutover before holds; else that of the last one.
    for clients, border in (({THERE.topic}, 9), ((), 30)):
        again = cuts_through_query(books, [ROW], {THERE: 30, ELSEWHERE: 0}, clients)
        ends = {each.partition: each.target_end for each in again}
        assert ends == {0: 0, 1: border}
    assert cut_over(books) == {SOURCE.topic}
    assert borders_of(LinkBooks(LinkName("l")), mirrors, [THERE]) == {}


def test_other_mirror_topics_matter_only_where_a_query_may_send_records_there() -> None:
    one, other = TopicName("b"), TopicName("c")
    mirrors = frozenset({one, other})
    assert mirrors_of(one, mirrors, routed=False) == {one}
    assert mirrors_of(one, mirrors, routed=True) == mirrors
