"""What the source has from before `records.start` is told with its number. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.ledger.books import opened
from tests.support.ledger.standings import ROW
from towpath.cluster.metadata import Answers
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.mirror.show.status_picture import remarks
from towpath.mirror.status.before_start import note, with_before_start
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.errors import UnreachableError
from towpath.model.nouns import LinkName, Side, SourceOffset, TopicPartition
from towpath.settings import StartAt

BOOKS = LinkBooks(LinkName("l"))
BOOKS.partitions[ROW.tp] = PartitionBooks(opened(source_start=SourceOffset(40)))


class Source:
    """A source whose logs begin at an offset; `None` if it does not answer."""

    def __init__(self, first: int | None) -> None:
        self.offsets, self.asked = SimpleNamespace(earliest=self.earliest), 0
        self.first = first

    def earliest(self, tps: Any, *, patience: float | None = None) -> Answers[TopicPartition, int]:
        del patience
        self.asked += 1
        if self.first is None:
            raise UnreachableError(Side.SOURCE, "asking", "nobody answers")
        return Answers(dict.fromkeys(tps, self.first), {})


def told(
    source: Source, start: StartAt | int = StartAt.LATEST, row: PartitionStatus = ROW
) -> PartitionStatus:
    [found] = with_before_start([row], start, BOOKS, source)  # type: ignore[arg-type]
    return found


def test_status_says_how_many_offsets_lie_before_the_start() -> None:
    found = told(Source(7))
    assert found.before == (7, 40)
    assert list(remarks(found)) == [
        f"{ROW.tp}: source offsets 7 to 39 (33) are from before `records.start`: this link neither"
        " copies nor compares them"
    ]


@pytest.mark.parametrize(
    ("first", "start", "row", "asked"),
    [
        (40, StartAt.LATEST, ROW, 1),
        (None, StartAt.COMMITTED, ROW, 1),
        (0, StartAt.EARLIEST, ROW, 0),
        (0, 1_700_000_000_000, replace(ROW, state=State.EXCLUDED), 0),
        (0, StartAt.LATEST, replace(ROW, error="away"), 0),
        (0, StartAt.LATEST, replace(ROW, partition=1), 0),
    ],
)
def test_where_nothing_lies_there_or_nobody_knows_nothing_is_told(
    first: int | None, start: StartAt | int, row: PartitionStatus, asked: int
) -> None:
    source = Source(first)
    assert (told(source, start, row), source.asked) == (row, asked)


def test_a_plan_tells_all_in_one_note() -> None:
    assert note({}) is None
    lies = {replace(ROW, partition=n).tp: (SourceOffset(7), SourceOffset(40)) for n in range(3)}
    found = note(lies)
    assert found is not None
    assert str(found) == (
        "records.start: 99 source offsets in 3 partitions (such as 7 to 39 of orders-0) from before"
        " `records.start` will not be copied; neither does `verify` compare them"
    )
