"""What a run knows of its partitions: what is committed, what waits, what is tried again."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from tests.support.archives import archiving, partition_id, segment
from tests.support.stored import StoredArchive
from towpath.archive.commits import Commits
from towpath.archive.lease import HeldArchive
from towpath.archive.look import PartitionEnds, SourceLook
from towpath.archive.standing import AGAIN, PartitionStanding
from towpath.archive.standings import Standings
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import StoreAwayError
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.segments.log import ArchiveState, CommitLog
from towpath.segments.model import PartitionId, Segment

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


def test_a_log_that_was_cut_is_told_until_it_is_longer_again() -> None:
    found = standing(archived_to=50, end=50)
    found.saw(ends(0, 40), 0.0)
    assert found.cut_by == 10
    assert found.trouble is not None
    assert found.trouble.code is ReasonCode.ARCHIVED_BEYOND
    found.saw(ends(0, 60), 0.0)
    assert (found.cut_by, found.lag) == (0, 10)
    assert not troubled(found)


def test_what_is_new_may_be_as_old_as_the_look_before() -> None:
    found = standing(archived_to=100)
    found.saw(ends(0, 120), before=7.0)
    assert found.waited(19.0) == 12.0
    found.saw(ends(0, 140), before=15.0)
    assert found.waited(19.0) == 12.0, "the oldest counts"
    found.begins(looked=15.0)
    found.reached(SourceOffset(140))
    assert found.waited(19.0) == 0.0


def look(*partitions: PartitionId, name: str = "orders") -> SourceLook:
    ids = {each.topic_id for each in partitions}
    topics = {each: TopicInfo.__new__(TopicInfo) for each in ids}
    for each, info in topics.items():
        object.__setattr__(info, "name", TopicName(name))
        object.__setattr__(info, "id", each)
    return SourceLook(
        cluster=ClusterId("c"), topics=topics, ends={each: ends(0, 30) for each in partitions}
    )


def test_a_topic_that_was_made_again_leaves_a_gap_in_the_old_one() -> None:
    old, new = partition_id(), PartitionId(partition_id().cluster, TopicId("later"), 0)
    standings = Standings(ArchiveState())
    standings.saw(look(old))
    (lost,) = standings.lost_with_topics(look(new))
    assert (lost.partition_id, lost.start, lost.end) == (old, 0, 30)
    assert (lost.gaps.retention, lost.place) == (30, None)
    assert standings.lost_with_topics(look(old)) == []
    standings.saw(look(new))
    assert standings[old].gone
    assert [each.id for each in standings.present] == [new]


def test_a_topic_that_is_not_in_the_list_is_not_given_up() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    nothing = replace(look(partition_id()), topics={}, ends={})
    assert standings.lost_with_topics(nothing) == []
    standings.saw(nothing)
    assert standings[partition_id()].gone


class Lease(HeldArchive):
    """A lease that nobody disputes."""

    def __init__(self) -> None:
        self.lost = None

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

        def away(*_: object) -> None:
            raise StoreAwayError("s3://there", "write")

        patch.setattr(log.store, "put_new", away)
        with pytest.raises(StoreAwayError):
            commits.commit()
    assert standings[partition_id()].archived_to == 0
    assert [each.start for each in commits.commit()] == [0]
    assert standings[partition_id()].archived_to == 10
    assert (commits.counts.entries, commits.counts.segments) == (1, 1)


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
