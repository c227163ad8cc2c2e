"""How far a restore is, by the ledger and by the logs that are on the target now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.archive.log import ArchivedTo
from towpath.archive.model import PartitionId
from towpath.archive.restore.following import TopicGenerations
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic, SegmentMarks
from towpath.archive.restore.progress import PartState, RestoreRow, restored, rows_of
from towpath.archive.restore.target_logs import TargetLogs
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Opened
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.records.standing import Position, Standing, receipt_of
from towpath.records.work import Assignment
from towpath.topics.observed import Topic

NAME, HERE = TopicName("orders"), TopicName("back")
THERE, OTHER = TopicId("there"), TopicId("other")
LINK, PRODUCER = LinkName("restore.shop"), ProducerId(1 << 41)
TP, TARGET = TopicPartition(NAME, 0), TopicPartition(HERE, 0)
PART = RestorePart(
    id=PartitionId(ClusterId("c"), TopicId("id"), 0), start=SourceOffset(0), end=SourceOffset(50)
)
SCOPE = RestoreScope(
    region="eu",
    version=1,
    at=0,
    topics={
        NAME: RestoreTopic(
            topic=Topic(NAME, TopicId("id"), 1, 1),
            cluster=ClusterId("c"),
            target=HERE,
            parts=(PART,),
        )
    },
)


@pytest.fixture
def books() -> LinkBooks:
    """Return the books of a restore that is complete."""
    opened = Opened(
        link=LINK,
        topic=NAME,
        partition=0,
        source_topic_id=TopicId("id"),
        target_topic=HERE,
        target_topic_id=THERE,
        producer_id=PRODUCER,
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=SourceOffset(0),
        target_start=TargetOffset(0),
        run_id="r",
        at=1,
    )
    work = Assignment(
        source=TP,
        target=TARGET,
        source_id=TopicId("id"),
        target_id=THERE,
        producer_id=PRODUCER,
        filler_id=ProducerId(7),
        start=SourceOffset(0),
    )
    standing = Standing(
        position=Position(SourceOffset(50), TargetOffset(50), 50),
        mode=Mode.IDENTICAL,
        reasons=(),
        run=(SourceOffset(0), TargetOffset(0), 50),
        records=50,
    )
    made = LinkBooks(LINK)
    made.take(opened)
    made.take(receipt_of(work, LINK, standing, copier="c", packed=""))
    return made


def row(books: LinkBooks, logs: TargetLogs | None) -> RestoreRow:
    [found] = rows_of(SCOPE, books, logs)
    assert (NAME in restored([found])) is found.done
    return found


@pytest.mark.parametrize("end", [50, 51])
def test_a_log_that_is_whole_is_restored(books: LinkBooks, end: int) -> None:
    assert row(books, None).done
    assert row(books, TargetLogs({HERE: THERE}, {TARGET: end})).done


def test_a_log_that_is_shorter_than_what_was_acknowledged_is_lost(books: LinkBooks) -> None:
    found = row(books, TargetLogs({HERE: THERE}, {TARGET: 20}))
    assert (found.state, found.codes[0]) == (PartState.STOPPED, "TARGET_LOST")
    assert "delete topic back there, and start the restore again" in found.error


@pytest.mark.parametrize("ids", [{}, {HERE: OTHER}])
def test_a_topic_that_is_gone_is_restored_anew(
    books: LinkBooks, ids: dict[TopicName, TopicId]
) -> None:
    found = row(books, TargetLogs(ids, {TARGET: 0} if ids else {}))
    assert (found.state, found.at) == (PartState.WAITING, 0)


def test_a_log_whose_leader_does_not_answer_counts_as_it_was(books: LinkBooks) -> None:
    found = row(books, TargetLogs({HERE: THERE}))
    assert found.done
    assert not replace(found, is_lost=True).done


@pytest.mark.parametrize(("archived", "goes_on"), [(60, (0, 0)), (50, (1, 30))])
def test_the_rest_of_a_history_comes_before_the_next_one(
    books: LinkBooks, archived: int, goes_on: tuple[int, int]
) -> None:
    """Up to offset 50 it is restored; the source's log was cut to offset 30."""
    place = ArchivedTo(
        topic=NAME,
        begin=SourceOffset(0),
        archived_to=SourceOffset(archived),
        log_start=SourceOffset(0),
        stable_end=SourceOffset(90),
        seen=1,
    )
    later = replace(
        place, begin=SourceOffset(30), archived_to=SourceOffset(90), fork=SourceOffset(30)
    )
    known = {PART.id: place, PART.id.later: later}
    number, start = goes_on
    found = TopicGenerations(books).goes_on(NAME, PART.id.later, known.get)
    assert found == (PART.id.of_history(number), start)
    empty = TopicGenerations(LinkBooks(LINK))
    assert empty.goes_on(NAME, PART.id.later, known.get) is None


def test_segments_are_counted_by_where_they_end() -> None:
    marks = SegmentMarks([10, 20], [1_000, 2_000]).and_then(SegmentMarks([50], [5_000]))
    assert [marks.waiting(at) for at in (0, 9, 10, 20, 50, 99)] == [3, 3, 2, 1, 0, 0]
    assert [marks.oldest(at) for at in (0, 10, 50)] == [1_000, 2_000, None]
    assert SegmentMarks().waiting(0) == 0
