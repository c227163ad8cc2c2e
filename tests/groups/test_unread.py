"""What groups would pass over: unread records that the source has and the target lacks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.groups.model import GroupPosition, PositionOutcome
from towpath.groups.reading import Log
from towpath.groups.unread import MOST, Found, PassedOver, count_records, group_texts, passed_over
from towpath.ledger.offsets import NOWHERE, Exactness, TranslatedOffset
from towpath.model.errors import UnreachableError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import SourceOffset, TargetOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

GROUP = ClientGroup("billing")
TP = TopicPartition(TopicName("orders"), 0)
OTHER = TopicPartition(TopicName("orders"), 1)
AWAY = UnreachableError("source", "fetching", "no answer")


def stands(at: int, resumes: int, tp: TopicPartition = TP) -> GroupPosition:
    return GroupPosition(
        group=GROUP,
        mirror_group="billing",
        tp=tp,
        mirror=tp,
        source=SourceOffset(at),
        metadata="",
        answer=TranslatedOffset(TargetOffset(resumes), Exactness.LOST, "deleted", resumes),
        outcome=PositionOutcome.CONFIRMED,
    )


def everything(tp: TopicPartition, first: int, end: int) -> Found:
    assert tp in {TP, OTHER}
    return first, end - first, True


@dataclass
class _Record:
    offset: int


def log(*offsets: int, fails: bool = False) -> Log:
    """Return a log with these records; which yields more than is asked for."""

    class _Log:
        def records(self, first: int, end: int) -> Iterator[tuple[_Record, bool]]:
            assert first < end
            yield from ((_Record(each), False) for each in offsets)
            if fails:
                raise AWAY

    return cast("Log", _Log())


def rows(*positions: GroupPosition, start: int = 0) -> list[PassedOver]:
    return list(passed_over(positions, {TP: start}, everything))


@pytest.mark.parametrize(
    ("position", "start", "records"),
    [
        (stands(10, 60), 0, 50),
        (stands(10, 60), 40, 20),  # what the source has deleted, too, nobody has
        (stands(10, 60), 60, 0),
        (stands(10, NOWHERE), 0, 0),
        (replace(stands(10, 60), outcome=PositionOutcome.UNCHANGED), 0, 50),
        (replace(stands(10, 60), outcome=PositionOutcome.NOT_ATTEMPTED), 0, 50),  # a preview
        (replace(stands(10, 60), answer=None), 0, 0),
    ],
)
def test_the_records_between_position_and_answer_count(
    position: GroupPosition, start: int, records: int
) -> None:
    assert sum(each.records for each in rows(position, start=start)) == records


def test_a_position_that_is_not_brought_over_has_its_own_reason() -> None:
    why = Reason.of(ReasonCode.GROUP_AHEAD, known=9, offset=5)
    left = replace(stands(10, 60), outcome=PositionOutcome.NOT_ATTEMPTED, reason=why)
    assert rows(left) == []


def test_where_the_source_has_no_record_nothing_is_passed_over() -> None:
    assert list(passed_over([stands(10, 60)], {}, lambda *_: (10, 0, True))) == []


@given(st.sets(st.integers(0, 99)), st.integers(0, 50), st.integers(51, 99))
def test_records_are_counted_not_offsets(offsets: set[int], first: int, end: int) -> None:
    """Markers, aborted transactions and compaction leave offsets without records."""
    within = sorted(each for each in offsets if first <= each < end)
    found, records, exact = count_records(log(*sorted(offsets)), first, end)
    assert (records, exact) == (len(within), True)
    assert not within or found == within[0]


def test_many_are_not_read_and_what_cannot_be_read_counts_as_there() -> None:
    assert count_records(log(7, 8), 0, MOST + 9) == (7, MOST + 2, False)
    assert count_records(log(7, 8), 0, MOST) == (7, 2, True)
    assert count_records(log(7, fails=True), 5, 50) == (5, 45, False)


def test_a_group_is_told_once_with_its_partitions() -> None:
    found = rows(stands(10, 60), stands(5, 6, OTHER))
    assert group_texts(found) == {
        GROUP: "the target lacks 51 records that the group has not read and the source still has"
        " (orders-0: offsets 10 to 59, orders-1: offsets 5 to 5)"
    }
    unsure = group_texts([replace(found[0], counted=False)])
    assert "lacks up to 50 records" in unsure[GROUP]
