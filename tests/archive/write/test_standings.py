"""What a run knows of its partitions: what is committed, what waits, what is tried again."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.support.archive.archives import archiving, partition_id, segment
from tests.support.archive.stored import StoredArchive
from towpath.archive.log import Archive, ArchiveState, CommitLog
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import BatchMark, PartitionId, Segment
from towpath.archive.write.commits import Commits
from towpath.archive.write.goal import ArchiveGoal
from towpath.archive.write.histories.evidence import Doubt, doubt_of
from towpath.archive.write.source_look import PartitionEnds, SourceLook
from towpath.archive.write.standing import AGAIN, PartitionStanding
from towpath.archive.write.standings import Standings
from towpath.cluster.admin.offsets import EpochEnd
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import StoreAwayError
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode

AWAY = StoreAwayError("s3://there", "write").reason


def ends(start: int, end: int) -> PartitionEnds:
    return PartitionEnds(SourceOffset(start), SourceOffset(end))


def standing(archived_to: int = 0, end: int = 100) -> PartitionStanding:
    return PartitionStanding(
        partition_id(), TopicName("orders"), SourceOffset(archived_to), ends(0, end)
    )


def troubled(found: PartitionStanding) -> bool:
    return found.trouble is not None


def test_a_segment_behind_one_that_failed_waits_for_it() -> None:
    found = standing()
    found.took([segment(20, 30), segment(10, 20)])
    assert found.ready() == []
    assert found.spans == ((10, 30),), "they are not read again"
    found.took([segment(0, 10)])
    assert [each.start for each in found.ready()] == [0, 10, 20]
    found.reached(SourceOffset(30))
    assert (found.ready(), found.ahead) == ([], {})


def test_a_partition_that_fails_is_tried_again_after_growing_pauses_for_ever() -> None:
    found, now = standing(), 1000.0
    pauses = []
    for _ in range(30):
        found.begins(now)
        found.ended(AWAY, now)
        pauses.append(found.again - now)
    assert found.trouble is AWAY
    assert pauses[0] < 2
    assert max(pauses) <= AGAIN.longest * 1.1
    assert min(pauses[-5:]) > 10
    found.ended(None, now)
    assert found.failures == 0
    assert not troubled(found)


def mark(base: int, last: int, epoch: int = 3, crc: int = 7) -> BatchMark:
    return BatchMark(SourceOffset(base), SourceOffset(last), epoch, crc, last + 1 - base, -1)


def doubted(found: PartitionStanding) -> bool:
    return found.doubt is not None


def test_a_log_that_was_cut_is_told_until_it_is_known_where_it_differs() -> None:
    found = standing(archived_to=50, end=50)
    found.saw(ends(0, 40), 0.0)
    assert found.cut_by == 10
    assert found.trouble is not None
    assert found.trouble.code is ReasonCode.ARCHIVED_BEYOND
    found.saw(ends(0, 60), 0.0)
    assert (found.cut_by, found.lag, troubled(found)) == (0, 10, True)
    assert found.doubt == Doubt()
    found.trusts()
    assert not doubted(found)
    assert not troubled(found)
    found.saw(ends(0, 60), 0.0)
    assert not doubted(found)


@pytest.mark.parametrize(
    ("end", "said", "doubt"),
    [
        (60, EpochEnd(3, 60), None),
        (60, None, None),
        (60, EpochEnd(-1, -1), Doubt(sure=True)),
        (60, EpochEnd(2, 30), Doubt(bound=SourceOffset(30), sure=True)),
        (60, EpochEnd(2, 70), Doubt(bound=SourceOffset(50), sure=True)),
        (60, EpochEnd(3, 45), Doubt(bound=SourceOffset(45), sure=True)),
        (60, EpochEnd(-1, 55), None),
        (45, EpochEnd(3, 50), Doubt()),
        (45, None, Doubt()),
    ],
)
def test_epochs_tell_that_a_log_is_another_one(
    end: int, said: EpochEnd | None, doubt: Doubt | None
) -> None:
    assert doubt_of(SourceOffset(50), mark(40, 49), ends(0, end), said) == doubt
    assert doubt_of(SourceOffset(50), None, ends(0, 60), said) is None


def test_a_segment_behind_another_batch_than_the_archived_one_is_dropped() -> None:
    found = standing(archived_to=10)
    found.tail = mark(5, 9)
    found.took([segment(10, 20), segment(20, 30)], [mark(15, 19), mark(25, 29)], mark(5, 9))
    found.took([segment(30, 40)], [None], mark(25, 29, crc=8))
    assert [each.start for each in found.ready()] == [10, 20]
    assert found.doubt == Doubt(sure=True)
    assert sorted(found.ahead) == [10, 20]
    assert found.tail_at(SourceOffset(30)) == mark(25, 29)
    found.reached(SourceOffset(30), mark(25, 29))
    assert (found.ready(), found.tail) == ([], mark(25, 29))


def test_batches_that_were_cleaned_or_are_not_known_are_no_contradiction() -> None:
    found = standing(archived_to=10)
    found.tail = mark(5, 9)
    found.took([segment(10, 20)], [None], mark(5, 9, crc=8)._replace(records=1))
    found.took([segment(20, 30)], [mark(25, 29)], mark(15, 19))
    assert [each.start for each in found.ready()] == [10, 20]
    assert found.doubt is None


def test_a_later_history_takes_the_place_of_the_one_before(archive: StoredArchive) -> None:
    log = archive.log
    commits, standings = committing(log, segment(0, 20))
    commits.commit()
    old, new = partition_id(), partition_id().later
    standings[old].doubts(Doubt(bound=SourceOffset(12), sure=True))
    commits.begin_history(old, SourceOffset(12))
    assert standings[old].over
    assert [each.id for each in standings] == [new]
    assert (standings[new].archived_to, standings[new].overdue) == (12, True)
    standings.saw(look(old))
    assert [(each.id, each.lag) for each in standings.present] == [(new, 18)]
    more = replace(segment(12, 30, tag="-new"), topic_id=new.topic_id)
    standings[new].took([more], [mark(25, 29)], None)
    assert commits.commit() == [more]
    assert log.state.partitions[new].tail == mark(25, 29)
    assert standings.epochs == {old: 3}
    assert Standings(log.state).epochs == {old: 3}
    assert [each.id for each in Standings(log.state)] == [new]


def test_what_is_new_may_be_as_old_as_the_look_before() -> None:
    found = standing(archived_to=100)
    found.saw(ends(0, 120), before=7.0)
    assert found.waited(19.0) == 12.0
    found.saw(ends(0, 140), before=15.0)
    assert found.waited(19.0) == 12.0, "the oldest counts"
    found.begins(looked=15.0)
    found.reached(SourceOffset(140))
    assert found.waited(19.0) == 0.0


def look(
    *partitions: PartitionId, name: str = "orders", ends: PartitionEnds | None = None
) -> SourceLook:
    ids = {each.topic_id for each in partitions}
    topics = {each: TopicInfo.__new__(TopicInfo) for each in ids}
    for each, info in topics.items():
        object.__setattr__(info, "name", TopicName(name))
        object.__setattr__(info, "id", each)
    return SourceLook(
        cluster=ClusterId("c"),
        topics=topics,
        ends=dict.fromkeys(partitions, ends or PartitionEnds(SourceOffset(0), SourceOffset(30))),
    )


def test_a_topic_that_was_made_again_leaves_a_gap_in_the_old_one() -> None:
    old, new = partition_id(), PartitionId(partition_id().cluster, TopicId("later"), 0)
    standings = Standings(ArchiveState())
    standings.saw(look(old))
    assert standings.unread(look(new)) == {("orders", old.topic_id)}
    (lost,) = standings.lost_with_topics([old.topic_id])
    assert (lost.partition_id, lost.start, lost.end) == (old, 0, 30)
    assert (lost.gaps.retention, lost.place) == (30, None)
    assert standings.unread(look(old)) == frozenset()
    standings.saw(look(new))
    assert standings[old].gone
    assert [each.id for each in standings.present] == [new]


def held(stable: int, end: int) -> PartitionEnds:
    return PartitionEnds(SourceOffset(0), SourceOffset(stable), SourceOffset(end))


def test_what_is_behind_an_open_transaction_is_exposed() -> None:
    found = standing(archived_to=20)
    found.saw(held(20, 50), before=7.0)
    assert (found.waited(19.0), found.exposed(19.0)) == (0.0, 12.0)
    found.saw(held(20, 60), before=15.0)
    assert found.exposed(19.0) == 12.0
    found.saw(held(30, 60), before=17.0)
    assert found.exposed(19.0) == 2.0, "that transaction has ended, and another one is open"
    found.saw(held(60, 60), before=18.0)
    assert found.held_since is None
    found.reached(SourceOffset(60))
    assert found.exposed(19.0) == 0.0


def test_what_may_have_come_since_the_source_was_seen_is_exposed() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    found = standings[partition_id()]
    found.reached(SourceOffset(30))
    assert found.exposed(standings.looked + 59.0) == 0.0
    assert found.exposed(standings.looked + 600.0) == pytest.approx(600.0)
    standings.saw(replace(look(partition_id()), topics={}, ends={}))
    assert found.exposed(standings.looked + 600.0) == 0.0, "its topic is gone"


def test_a_run_that_ends_waits_for_open_transactions_for_a_while() -> None:
    now = 0.0
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id(), ends=held(20, 50)))
    standings[partition_id()].reached(SourceOffset(20))
    goal = ArchiveGoal(standings, lambda: now)
    assert not goal.reached
    now = 91.0
    assert goal.reached
    assert goal.incomplete == (
        "orders-0: a transaction is open since offset 20, and 30 offsets from there on are archived"
        " when it ends; if it hangs, `kafka-transactions.sh find-hanging` and `abort` end it",
    )
    standings.saw(look(partition_id(), ends=held(60, 70)))
    assert not goal.reached
    standings[partition_id()].reached(SourceOffset(50))
    now = 0.0
    assert goal.reached, "what was open when it began has ended"
    assert goal.incomplete == ()


def test_a_topic_that_is_deleted_before_it_was_archived_is_told() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    goal = ArchiveGoal(standings)
    standings.saw(replace(look(partition_id()), topics={}, ends={}))
    assert goal.reached
    assert goal.incomplete == (
        "orders-0: its topic was deleted at the source when it was archived up to offset 0 of 30",
    )


def test_partitions_that_share_keys_with_others_are_known() -> None:
    old, new = partition_id(), PartitionId(partition_id().cluster, TopicId("later"), 0)
    further = new._replace(partition=1)
    standings = Standings(ArchiveState())
    standings.saw(look(old))
    assert standings.again([old]) == frozenset()
    standings.saw(look(new, further))
    assert standings.again([new, further]) == {new}


def test_a_topic_that_is_not_in_the_list_is_not_given_up() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    nothing = replace(look(partition_id()), topics={}, ends={})
    assert standings.lost_with_topics([]) == []
    standings.saw(nothing)
    assert standings[partition_id()].gone


class Lease(HeldArchive):
    """A lease that nobody disputes."""

    def __init__(self) -> None:
        self.lost, self._work = None, "run"

    @property
    def epoch(self) -> int:
        return 1

    @property
    def owner(self) -> str:
        return "me"


def committing(log: CommitLog, *written: Segment) -> tuple[Commits, Standings]:
    standings = Standings(log.state)
    standings.saw(look(partition_id()))
    standings[partition_id()].took(written)
    return Commits(log, Lease(), standings), standings


def test_a_commit_that_failed_is_done_again(
    archive: StoredArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = archive.log
    commits, standings = committing(log, segment(0, 10), segment(20, 30))
    with monkeypatch.context() as patch:

        def away(*_: object, **__: object) -> None:
            raise StoreAwayError("s3://there", "write")

        patch.setattr(log.store, "put_new", away)
        with pytest.raises(StoreAwayError):
            commits.commit()
    assert standings[partition_id()].archived_to == 0
    assert [each.start for each in commits.commit()] == [0]
    assert standings[partition_id()].archived_to == 10
    assert (commits.counts.entries, commits.counts.segments) == (1, 1)


def test_what_comes_late_of_a_topic_that_was_made_again_does_not_make_it_the_last_one(
    archive: StoredArchive,
) -> None:
    """Before, a restore took the deleted topic where the one that has its name now is quiet."""
    old, new = partition_id(), PartitionId(partition_id().cluster, TopicId("later"), 0)
    log = archive.log
    commits, standings = committing(log, segment(0, 10))
    commits.commit()
    standings.saw(look(new, ends=PartitionEnds(SourceOffset(0), SourceOffset(0))))
    commits.commit(seen=[new])
    standings[old].took([segment(10, 30)])  # a task had begun before the topic was deleted
    standings[old].ended(None, time.monotonic())
    time.sleep(0.002)  # entries of one millisecond count as they follow each other
    assert [each.start for each in commits.commit()] == [10]
    assert Archive(log).topics()[TopicName("orders")] == [old.topic_id, new.topic_id]
    assert log.state.partitions[old].archived_to == 30


def test_what_another_writer_archived_counts_as_read_in_vain(archive: StoredArchive) -> None:
    log = archive.log
    commits, standings = committing(log, segment(0, 10, tag="-mine"))
    CommitLog.open_or_begin(archive.store, log.region).append(archiving(segment(0, 15)))
    assert commits.commit() == []
    found = standings[partition_id()]
    assert (found.archived_to, found.redundant, found.rewound) == (15, 10, 1)
    assert commits.counts.redundant == 1


@pytest.fixture
def archive(tmp_path_factory: pytest.TempPathFactory) -> StoredArchive:
    return StoredArchive(tmp_path_factory.mktemp("a"), "shop", "127.0.0.1:1")


def test_a_failure_of_one_partition_leaves_others_alone() -> None:
    one, two = standing(), standing()
    one.begins(time.monotonic())
    one.ended(Reason.of(ReasonCode.RETENTION), time.monotonic())
    assert (two.failures, two.trouble, two.busy) == (0, None, False)
