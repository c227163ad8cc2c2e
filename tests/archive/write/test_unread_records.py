"""What the source deleted before it was archived, and whether the rest may be deleted there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import CLUSTER, archiving, partition_id, seen, segment
from tests.support.archive.stored import REGION, StoredArchive
from towpath.archive.log import ArchiveState, CommitLog
from towpath.archive.log.events import ArchiveEvents, ArchiveWhat, read_events
from towpath.archive.model import GapKind, PartitionId, Segment
from towpath.archive.show.archive_events import sentence
from towpath.archive.status.deletable import answer
from towpath.archive.write.progress import ArchiveProgress
from towpath.archive.write.source_look import PartitionEnds, SourceLook
from towpath.archive.write.standings import Standings
from towpath.archive.write.unread_records import UnreadRecords, unseen_topics
from towpath.cluster.metadata import TopicInfo
from towpath.model.errors import UnreachableError
from towpath.model.nouns import SourceOffset, TopicId, TopicName


def look(*partitions: PartitionId, ends: PartitionEnds | None = None) -> SourceLook:
    info = TopicInfo.__new__(TopicInfo)
    object.__setattr__(info, "name", TopicName("orders"))
    return SourceLook(
        cluster=CLUSTER,
        topics={each.topic_id: info for each in partitions},
        ends=dict.fromkeys(partitions, ends or PartitionEnds(SourceOffset(0), SourceOffset(30))),
    )


NOTHING = replace(look(partition_id()), topics={}, ends={})
DELETED = [TopicId("id-orders")]
Commit = Callable[..., ArchiveState]


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def ends(start: int, stable: int, high: int | None = None) -> PartitionEnds:
    most = stable if high is None else high
    return PartitionEnds(SourceOffset(start), SourceOffset(stable), SourceOffset(most))


def test_a_deleted_topic_leaves_a_gap_of_what_was_not_archived() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    assert standings.unread(look(partition_id())) == frozenset()
    standings.saw(NOTHING)
    assert standings.unread(NOTHING) == {("orders", "id-orders")}
    standing = standings[partition_id()]
    standing.took([segment(0, 10)])
    assert standings.lost_with_topics(DELETED) == [], "what was read is committed first"
    standing.reached(SourceOffset(10))
    (gap,) = standings.lost_with_topics(DELETED)
    assert (gap.start, gap.end, gap.gaps.retention) == (10, 30, 20)
    standing.took([gap])
    assert standings.unread(NOTHING) == frozenset(), "nobody is asked for it again"
    assert standing.ready() == [gap]


def test_a_topic_that_may_come_back_is_told() -> None:
    (told,) = unseen_topics([TopicName("orders")])
    assert told.startswith("orders: the source lists it no more, and not all of it is archived")


def test_a_slice_that_still_reads_comes_first() -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    standings[partition_id()].begins(1.0)
    standings.saw(NOTHING)
    assert standings.lost_with_topics(DELETED) == []


def gap(start: int, end: int, kind: GapKind = GapKind.RETENTION) -> Segment:
    return segment(start, end, gaps=range(start, end), kind=kind)


@pytest.mark.parametrize("gone", [True, False])
def test_what_was_deleted_unread_is_an_event_a_warning_and_left_out(
    stored: StoredArchive, gone: bool
) -> None:
    standings = Standings(ArchiveState())
    standings.saw(look(partition_id()))
    standings[partition_id()].gone = gone
    warned: list[tuple[str, dict[str, Any], str, bool]] = []

    def say(what: str, facts: dict[str, Any], about: str, trouble: bool) -> None:
        warned.append((what, facts, about, trouble))

    with ArchiveEvents(stored.store, REGION, "shop") as events:
        unread = UnreadRecords(standings, events, say)
        unread.take([segment(0, 10), gap(10, 30)])
        unread.take([gap(30, 31, GapKind.COMPACTED)])
    facts = {"topic_id": "id-orders", "offsets": 20, "gone": gone}
    assert warned == [("archive.unread_deleted", facts, "orders", True)]
    (event,) = read_events(stored.store, REGION)
    assert event is not None
    assert (event.what, event.about) == (ArchiveWhat.UNREAD_DELETED, "orders")
    how = "deleted at the source with at least" if gone else "the source deleted"
    told = f"orders: {how} 20 offsets that were not archived; the archive has a gap (retention)"
    assert sentence(event) == told
    assert unread.sentences == (told,)
    assert ArchiveProgress(unread=unread.sentences).left_out == (told,)


@pytest.fixture
def commit(stored: StoredArchive) -> Commit:
    log = CommitLog.open_or_begin(stored.store, REGION)

    def made(*segments: Segment, start: int = 0) -> ArchiveState:
        log.append(archiving(*segments, partitions=(seen(start, segments[-1].end),)))
        return log.state

    return made


def why(state: ArchiveState, found: SourceLook | None) -> tuple[str, ...]:
    return answer(state, found, "", 5).why


def test_what_is_archived_to_its_end_is_safe_to_delete(commit: Commit) -> None:
    state = commit(segment(0, 20), gap(20, 30))
    found = answer(state, look(partition_id(), ends=ends(0, 30)), "", 5)
    assert found.safe
    assert found.partitions == 1
    assert "safe to delete: yes, as of 1970" in found.lines[0]
    later = look(partition_id(), ends=ends(29, 30))
    assert why(state, later) == ()


def test_all_that_the_source_holds_and_the_archive_lacks_is_named(commit: Commit) -> None:
    filtered = segment(10, 20, gaps=range(12, 17), kind=GapKind.FILTERED)
    state = commit(segment(5, 10), filtered, gap(20, 21, GapKind.LOST), start=5)
    found = look(partition_id(), partition_id(1), ends=ends(0, 23, 26))
    assert why(state, found) == (
        "orders-0: 5 offsets are not archived, 3 of them behind an open transaction",
        "orders-0: offsets 0 to 4 are at the source and not in the archive",
        "orders-0: 5 offsets are left out of the archive (filtered), as a restore wrote them and"
        " the file says `restored: leave_out`",
        "orders-0: 1 offset is lost in the archive, which had archived what is there",
        "orders-1: 26 offsets are not archived: nothing is, so far",
    )
    assert answer(state, found, "", 5).lines[0].startswith("safe to delete: NO, as of 1970")
    assert why(state, look(partition_id(), ends=ends(21, 21))) == (), "the source has none of it"


def test_what_nobody_knows_is_not_safe(commit: Commit) -> None:
    state = commit(segment(0, 20))
    assert why(state, None) == ("nobody knows what it holds: the source was not asked",)
    (cut,) = why(state, look(partition_id(), ends=ends(0, 15)))
    assert "before what is archived (up to 20)" in cut
    (none,) = why(state, NOTHING)
    assert "the source has no topic" in none
    error = UnreachableError("source", "asking", "no leader")
    (hidden,) = why(state, replace(NOTHING, hidden={TopicName("orders"): error}))
    assert hidden == f"orders: {error}"
    failed = replace(look(partition_id(), ends=ends(0, 20)), failed={partition_id(1): error})
    (unknown,) = why(state, failed)
    assert unknown.startswith("orders-1: where its log ends is not known")
