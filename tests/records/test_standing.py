"""Where a partition stands by the ledger."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ledger.books import TP, opened, receipt
from tests.support.ledger.reasons import told
from towpath.ledger.books import PartitionBooks
from towpath.ledger.entries import RefusedRecords
from towpath.model.changes import Undeliverable
from towpath.model.nouns import LinkName, Mode, ProducerId, SourceOffset
from towpath.records.standing import known_standing


def books(**last: Any) -> PartitionBooks:
    made = PartitionBooks()
    made.take(opened())
    made.take(receipt(**last))
    return made


def left_out(offset: int, generation: int = 0) -> RefusedRecords:
    return RefusedRecords(
        link=LinkName("l"),
        topic=TP.topic,
        partition=TP.partition,
        producer_id=ProducerId(1),
        first=SourceOffset(offset),
        end=SourceOffset(offset + 1),
        why=told("it is too large"),
        policy=Undeliverable.SKIP,
        generation=generation,
        name=f"{offset}",
        at=1,
    )


@pytest.mark.parametrize(("mode", "source"), [(Mode.IDENTICAL, 7), (Mode.MAPPED, 5)])
def test_identical_offsets_stand_where_they_reach_on_either_side(mode: Mode, source: int) -> None:
    """Earlier versions told of the beginning of a batch of which the target holds a part."""
    known = books(mode=mode, source_end=5, target_end=7, sequence=7, records=7)
    position = known_standing(known, 1).position
    assert (position.source, position.target, position.sequence) == (source, 7, 7)


def test_it_agrees_with_the_ledger_until_that_tells_by_what_else_records_are_written() -> None:
    known = books(source_end=5, target_end=5)
    known.take(left_out(9))
    known.take(receipt(source_end=5, target_end=5, generation=1, copier="a"))
    standing = known_standing(known, 1)
    assert standing.refused == {9}
    known.take(receipt(source_end=7, target_end=7, records=2, generation=1, copier="b"))
    known.take(left_out(8, generation=1))
    assert standing.agrees(known)
    known.take(left_out(6, generation=-1))
    assert not standing.agrees(known)


@pytest.mark.parametrize("what", [{"generation": 1}, {"change": "digest", "records": 1}])
def test_it_does_not_agree_with_another_generation_or_change(what: dict[str, Any]) -> None:
    known = books()
    standing = known_standing(known, 1)
    assert standing.agrees(known)
    known.take(receipt(copier="b", **what))
    assert not standing.agrees(known)
