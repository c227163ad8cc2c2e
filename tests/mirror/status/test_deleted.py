"""What the target deleted, by offsets alone: which, at most how many, by what. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import links
from tests.support.ledger.books import TP, opened, receipt
from tests.support.ledger.runs import run
from tests.support.ledger.standings import ROW
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.ledger.entries import Foretold
from towpath.ledger.packed import Packer
from towpath.mirror.show.deleted import deleted
from towpath.mirror.status.deleted import (
    WhyDeleted,
    deleted_records,
    judged,
    retention,
    stretch_deleted,
)
from towpath.mirror.status.deletions import is_meant
from towpath.mirror.status.foretold import with_foretold
from towpath.mirror.status.partition_status import State
from towpath.mirror.status.totals import ordered
from towpath.model.deleted import DeletedRecords, Deleter, Retention
from towpath.model.errors import RefusedError
from towpath.model.nouns import LinkName, Mode, SourceOffset, TargetOffset, TopicId, TopicName
from towpath.topics.cleaners import RUNS, CleanerSeen

ID = opened().producer_id
SAME = PartitionBooks(
    opened(source_start=SourceOffset(10), target_start=TargetOffset(10)),
    {
        (ID, ""): receipt(
            source_end=SourceOffset(90), target_end=TargetOffset(90), records=80,
            run=run(10, 10, 80),
        )
    },
)  # fmt: skip
MAPPED = PartitionBooks(
    opened(source_start=SourceOffset(10), target_start=TargetOffset(5), mode=Mode.MAPPED),
    {
        (ID, ""): receipt(
            source_end=SourceOffset(90), target_end=TargetOffset(45), records=40,
            run=run(70, 25, 20), mode=Mode.MAPPED,
        )
    },
    {(ID, "0"): Packer([run(10, 5, 10), run(50, 15, 10)]).text()},
)  # fmt: skip


@pytest.mark.parametrize(
    ("books", "starts", "stretch"),
    [
        (SAME, (10, 10), None),
        (SAME, (10, 30), (10, 30)),
        (SAME, (25, 30), (25, 30)),
        (SAME, (30, 30), None),
        (SAME, (40, 30), None),
        (SAME, (10, 200), (10, 90)),
        (MAPPED, (10, 5), None),
        (MAPPED, (0, 7), (10, 12)),
        (MAPPED, (0, 15), (10, 50)),
        (MAPPED, (20, 15), None),  # the map knows no record between the runs
        (MAPPED, (20, 17), (20, 52)),
        (MAPPED, (0, 45), (10, 90)),
        (PartitionBooks(opened()), (0, 7), None),
        (PartitionBooks(), (0, 7), None),
    ],
)
def test_which_source_offsets_are_gone_on_the_target_alone(
    books: PartitionBooks, starts: tuple[int, int], stretch: tuple[int, int] | None
) -> None:
    assert stretch_deleted(books, *starts) == stretch


def test_at_most_so_many_records_are_gone_also_where_the_ledger_has_forgotten_runs() -> None:
    why = WhyDeleted((Deleter.TIME,), SourceOffset(14))
    tidied = replace(MAPPED, runs={(ID, "0"): Packer([run(50, 15, 10)]).text()})
    found = deleted_records(MAPPED, (SourceOffset(10), SourceOffset(52)), why, meant=False)
    assert (found.records, found.due, found.exact) == (12, 4, False)
    found = deleted_records(tidied, (SourceOffset(10), SourceOffset(52)), why, meant=True)
    assert (found.records, found.unwanted) == (42, False)


STRETCH = SourceOffset(10), SourceOffset(30)
HOUR = Retention(ms=3_600_000, segment_ms=9, segment_bytes=9)


@pytest.mark.parametrize(
    ("here", "there", "offsets", "found"),
    [
        (HOUR, HOUR, (20, 30), WhyDeleted((Deleter.TIME,), SourceOffset(30))),
        (HOUR, HOUR, (20, 29), WhyDeleted((Deleter.REQUEST,), SourceOffset(20))),
        (HOUR, replace(HOUR, ms=5), (20, 30), WhyDeleted((Deleter.TIME,), SourceOffset(20))),
        (HOUR, replace(HOUR, segment_ms=8), (30, 30), WhyDeleted((Deleter.TIME,), SourceOffset(0))),
        (Retention(), replace(HOUR, bytes=7), (0, 0), WhyDeleted((Deleter.SIZE,), SourceOffset(0))),
        (Retention(known=False), HOUR, (0, 30), WhyDeleted((Deleter.TIME,), SourceOffset(0))),
        (HOUR, Retention(known=False), (20, 0), WhyDeleted((Deleter.UNKNOWN,), SourceOffset(0))),
    ],
)
def test_what_deleted_a_stretch_and_what_the_source_deletes_soon(
    here: Retention, there: Retention, offsets: tuple[int, int], found: WhyDeleted
) -> None:
    due, old = offsets
    assert judged(STRETCH, here, there, due=due, overdue=0, old=old, size=None) == found


SIZED = replace(HOUR, bytes=1000)


@pytest.mark.parametrize(
    ("size", "found"),
    [
        (1000, WhyDeleted((Deleter.SIZE,), SourceOffset(30))),
        (999, WhyDeleted((Deleter.REQUEST,), SourceOffset(20))),
        (None, WhyDeleted((Deleter.SIZE,), SourceOffset(20))),
    ],
)
def test_a_small_log_was_not_cut_by_its_size(size: int | None, found: WhyDeleted) -> None:
    """DeleteRecords on topics with `retention.bytes` was taken for that, and so for due."""
    assert judged(STRETCH, SIZED, SIZED, due=20, overdue=0, old=20, size=size) == found


@pytest.mark.parametrize(("overdue", "due"), [(0, 30), (10, 30), (11, 0), (30, 0), (None, 0)])
def test_what_the_source_should_have_deleted_long_ago_is_not_due(
    overdue: int | None, due: int
) -> None:
    """A record of a future time keeps a segment for years: what it holds was called due."""
    found = judged(STRETCH, HOUR, HOUR, due=30, overdue=overdue, old=30, size=None)
    assert found == WhyDeleted((Deleter.TIME,), SourceOffset(due))
    finer = replace(HOUR, ms=5)
    found = judged(STRETCH, HOUR, finer, due=30, overdue=overdue, old=30, size=None)
    assert found == WhyDeleted((Deleter.TIME,), SourceOffset(due))
    sized = judged(STRETCH, SIZED, SIZED, due=30, overdue=overdue, old=20, size=1000)
    assert sized == WhyDeleted((Deleter.SIZE,), SourceOffset(30)), "sizes know no times"


def test_an_age_that_the_source_does_not_tell_is_no_request() -> None:
    """Where the source did not answer, DeleteRecords was blamed."""
    found = judged(STRETCH, HOUR, HOUR, due=0, overdue=0, old=None, size=None)
    assert found == WhyDeleted((Deleter.UNKNOWN,), SourceOffset(0))


def test_retention_beside_compaction_is_unknown_where_nobody_tells_whether_a_cleaner_runs() -> None:
    """Without a cleaner the source deletes nothing, and what went on the target was called due."""
    error = RefusedError("source", "asking for configs", 29, "TOPIC_AUTHORIZATION_FAILED", "")
    both, alone = ({"cleanup.policy": policy} for policy in ("compact,delete", "delete"))
    unknown = CleanerSeen(error=error)
    assert not retention(both, unknown).known
    assert retention(both, RUNS).known
    assert retention(alone, unknown).known
    assert not retention(None, RUNS).known


def test_partitions_of_a_topic_are_told_in_one_sentence() -> None:
    part = DeletedRecords(
        first=SourceOffset(0), end=SourceOffset(5), records=5, due=1, why=(Deleter.TIME,)
    )
    rows = [replace(ROW, partition=number, deleted=part) for number in range(5)]
    assert list(deleted([*rows, replace(ROW, partition=7)])) == [
        "orders: the target deleted at most 25 records that the source still has (retention.ms), in"
        " 5 partitions: 0 (source offsets 0 to 4), 1 (source offsets 0 to 4), 2 (source offsets 0"
        " to 4) and 2 more; 5 of them are past the source's own retention"
    ]
    assert list(deleted(rows[:1])) == [
        "orders-0: the target deleted at most 5 records that the source still has (by"
        " retention.ms): source offsets 0 to 4; 1 of them are past the source's own retention"
    ]


def test_many_topics_of_which_the_same_is_said_are_one_sentence() -> None:
    part = DeletedRecords(
        first=SourceOffset(0), end=SourceOffset(5), records=5, why=(Deleter.REQUEST,)
    )
    other = replace(ROW, topic=TopicName("a"), deleted=replace(part, why=(Deleter.TIME,)))
    names = [TopicName(f"t{number:02}") for number in range(20)]
    rows = [replace(ROW, topic=name, partition=n, deleted=part) for name in names for n in (0, 1)]
    assert list(deleted([other, *rows])) == [
        "a-0: the target deleted at most 5 records that the source still has (by retention.ms):"
        " source offsets 0 to 4",
        "t00, t01, t02 and 17 more: the target deleted at most 200 records that the source still"
        " has (DeleteRecords), in 40 partitions of 20 topics; --output json has each",
    ]
    assert ordered([replace(ROW, state=State.CAUGHT_UP, lag_records=0), rows[0]])[0] == rows[0]


@pytest.mark.parametrize(
    ("ranges", "target", "foretold"),
    [
        (((0, 0, 9),), "t", True),
        (((0, 0, 5), (0, 5, 9)), "t", True),
        (((0, 0, 5),), "t", False),
        (((1, 0, 9),), "t", False),
        (((0, 0, 9),), "another", False),
        ((), "t", False),
    ],
)
def test_it_is_told_whether_a_run_had_foretold_it(
    ranges: tuple[tuple[int, int, int], ...], target: str, *, foretold: bool
) -> None:
    books = LinkBooks(SAME.opened.link if SAME.opened else LinkName(""))
    books.partitions[TP] = SAME
    found = DeletedRecords(first=SourceOffset(2), end=SourceOffset(8), records=6)
    assert with_foretold(books, TP, found) == found
    books.take(
        Foretold(
            link=books.link, topic=TP.topic, target_id=TopicId(target), reasons=(), ranges=ranges,
            kept=False, meant=False, at=0,
        )
    )  # fmt: skip
    assert with_foretold(books, TP, found) == replace(found, foretold=foretold)


def test_what_clients_delete_of_a_promoted_topic_is_meant() -> None:
    """Else each deletion by its new retention would be a trouble for ever."""
    config = links.link("a:1", "b:2", str(ROW.topic))
    assert is_meant(replace(ROW, state=State.PROMOTED), config)
    assert not is_meant(replace(ROW, state=State.FAILED_OVER), config)
    assert not is_meant(ROW, config)
    allowed = links.link("a:1", "b:2", str(ROW.topic), may_delete=(str(ROW.topic),))
    assert is_meant(ROW, allowed)
