"""How far a restore is, by receipts in the target's ledger: its checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.archive.archived import Archived
from tests.support.archive.restoring import Restoring, seen
from tests.support.kafka import consume
from tests.support.ledger.books import opened, receipt
from tests.support.logs.batches import numbered
from towpath.archive.model import PartitionId
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.progress import (
    PartState,
    RestoredArchive,
    RestoreProgress,
    restored,
    rows_of,
    stopped,
)
from towpath.archive.show.restore_json import row_data
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.dev.broker import LocalCluster
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Gap, Opened, Receipt
from towpath.ledger.ledger import Ledger
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Side,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.topics.observed import Topic
from towpath.wire.plain import Record

NAME = TopicName("t")
ARCHIVE = RestoredArchive(source="", store="file:///a", region="eu", version=3, at=0)


def scope(partitions: int = 1, end: int = 100, topic: str = "t") -> RestoreScope:
    parts = tuple(
        RestorePart(
            id=PartitionId(ClusterId("c"), TopicId("s"), number),
            start=SourceOffset(0),
            end=SourceOffset(end),
            records=end,
            bytes=1000,
        )
        for number in range(partitions)
    )
    name = TopicName(topic)
    described = Topic(name, TopicId("s"), partitions, 1)
    made = RestoreTopic(topic=described, cluster=ClusterId("c"), target=name, parts=parts)
    return RestoreScope(region="eu", version=1, at=0, topics={name: made})


def books(*entries: Opened | Receipt | Gap) -> LinkBooks:
    made = LinkBooks(LinkName("l"))
    for each in entries:
        made.take(each)
    return made


def reached(end: int) -> Receipt:
    return receipt(
        source_end=SourceOffset(end), target_end=TargetOffset(end), sequence=end, records=end
    )


def at(found: LinkBooks) -> int:
    (row,) = rows_of(scope(), found)
    return row.at


def test_of_an_unknown_topic_or_partition_nothing_is_restored() -> None:
    known = books(opened(), reached(40))
    assert at(known) == 40
    (other,) = rows_of(scope(topic="other"), known)
    assert (other.at, other.state) == (0, PartState.WAITING)
    first, second = rows_of(scope(2), known)
    assert (first.at, second.at, second.state) == (40, 0, PartState.WAITING)


def test_of_another_topic_of_the_same_name_nothing_is_restored() -> None:
    assert at(books(opened(source_topic_id=TopicId("older")), reached(40))) == 0


def test_a_higher_checkpoint_counts_and_a_lower_or_equal_one_does_not() -> None:
    found = books(opened(), reached(40))
    for end, wanted in ((60, 60), (50, 60), (60, 60), (61, 61)):
        found.take(reached(end))
        assert at(found) == wanted


def test_a_new_partition_a_new_topic_and_a_new_region_have_checkpoints_of_their_own() -> None:
    two = TopicPartition(NAME, 1)
    found = books(opened(), reached(40), opened(two), receipt(two, source_end=SourceOffset(7)))
    assert [row.at for row in rows_of(scope(2), found)] == [40, 7]
    other = LinkBooks(LinkName("restore.of-another-region"))
    other.take(reached(40))
    assert at(other) == 0


def test_a_restore_is_over_where_all_is_there() -> None:
    found = books(opened(), reached(100))
    assert restored(rows_of(scope(), found)) == {NAME}
    assert restored(rows_of(scope(end=101), found)) == frozenset()
    progress = RestoreProgress(archives=(ARCHIVE,))
    progress.take(rows_of(scope(), found))
    assert progress.complete


@pytest.mark.parametrize(
    ("code", "state"),
    [(ReasonCode.ARCHIVE_LATE, PartState.LATE), (ReasonCode.ARCHIVE_LOST, PartState.STOPPED)],
)
def test_what_is_late_is_no_stop(code: ReasonCode, state: PartState) -> None:
    why = Reason.of(ReasonCode.ARCHIVE_MISSING, key="x.parquet")
    values = {
        ReasonCode.ARCHIVE_LATE: {"look": 1, "looks": 16},
        ReasonCode.ARCHIVE_LOST: {"first": 40, "last": 49},
    }[code]
    trouble = Reason.of(code, why=why, **values)
    found = books(opened(), replace(reached(40), trouble=trouble))
    rows = rows_of(scope(), found)
    assert [row.state for row in rows] == [state]
    assert len(stopped(rows)) == (state is PartState.STOPPED)


def test_a_lost_part_keeps_a_restore_from_being_complete() -> None:
    gap = Gap(
        link=LinkName("l"), topic=NAME, partition=0, producer_id=opened().producer_id,
        first=SourceOffset(20), end=SourceOffset(29), why=Reason.of(ReasonCode.RETENTION),
        went_on=True, at=0,
    )  # fmt: skip
    progress = RestoreProgress()
    progress.take(rows_of(scope(), books(opened(), reached(100), gap)))
    (row,) = progress.rows
    assert not progress.complete
    assert row_data(row)["gaps"][0]["first"] == 20


def test_a_restore_that_was_stopped_before_its_plan_is_not_complete() -> None:
    progress = RestoreProgress(asked=2)
    assert not progress.complete
    progress.archives = (ARCHIVE,)
    assert not progress.complete, "one of two regions was not planned"
    progress.archives = (ARCHIVE, ARCHIVE)
    assert progress.complete, "there is nothing to restore in them"


@pytest.mark.broker
def test_checkpoints_stay_in_the_ledger_of_the_target(
    target: LocalCluster, new_name: Callable[[str], str]
) -> None:
    """Another process reads them, and one that is late takes none of them back."""
    topic = new_name("kept")
    restoring = Restoring(target, topic, {0: lines(40), 1: lines(10)})
    restoring.run()
    for number, end in ((0, 40), (1, 10)):
        known = restoring.books(number).receipt
        assert known is not None
        assert (known.source_end, known.records) == (end, end)
    unknown = replace(restoring, supplies={2: lines(1)}, topic=new_name("unknown"))
    assert unknown.books(0).receipt is None
    assert restoring.books(2).receipt is None
    told = restoring.books(0).receipt
    assert told is not None
    for end in (20, 40):
        late = replace(told, source_end=SourceOffset(end), records=end, copier="late", at=told.at)
        with ExitStack() as stack:
            admin = stack.enter_context(Admin(restoring.config, Side.TARGET))
            client = stack.enter_context(Client(restoring.config, Side.TARGET, admin))
            Ledger(admin, client).append([late])
        now = restoring.books(0).receipt
        assert now is not None
        assert now.source_end == 40
    more = lines(70)
    restoring.supplies = {0: more, 1: lines(10)}
    assert [each.error for each in restoring.run()] == ["", ""]
    assert more.reads == [40], "it goes on at the checkpoint"
    assert consume(target.bootstrap, topic) == seen(more.records)
    assert consume(target.bootstrap, topic, (1,)) == seen(lines(10).records, 1)


def lines(count: int) -> Archived:
    """Return what is archived of a partition."""
    records = [Record(b"k", b"%d" % n, (), 1_700_000_000_000 + n) for n in range(count)]
    return Archived(numbered(records), count)
