"""Records in mirror topics that the link did not write."""

from __future__ import annotations

from typing import Any

from towpath.compare.written_rows import WrittenRows
from towpath.ledger.transformed import TransformedPosition
from towpath.mirror.transform.proof_others import foreign, mirrors_of, others_of, producers_of
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicId, TopicName, TopicPartition

SOURCE = TopicPartition(TopicName("a"), 0)
THERE = TopicPartition(TopicName("b"), 1)


def rows(others: Any = (), later: Any = ()) -> WrittenRows:
    return WrittenRows(THERE, dict(others), dict(later), 0, untimed=False)


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
    assert others_of(parts, at) == ({}, 3)
    at = Positions(position(8, 6))
    assert others_of(parts, at) == ({(THERE, 77): 2}, 0)


def test_other_mirror_topics_matter_only_where_a_query_may_send_records_there() -> None:
    one, other = TopicName("b"), TopicName("c")
    mirrors = frozenset({one, other})
    assert mirrors_of(one, mirrors, routed=False) == {one}
    assert mirrors_of(one, mirrors, routed=True) == mirrors
