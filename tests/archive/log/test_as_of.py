"""What readers of an archive see, also as of the past, and which objects are kept for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.archive.archives import (
    CLUSTER,
    COMPACTOR,
    WRITER,
    archiving,
    compacting,
    partition_id,
    segment,
    whole,
)
from tests.support.objects.stores import IN_FILES
from towpath.archive.errors import NoVersionError
from towpath.archive.keys import readers_prefix
from towpath.archive.log import (
    Archive,
    ArchiveReading,
    CommitLog,
    commit_log,
    living_readers,
    readers,
    sweep,
)
from towpath.archive.log.entries import Capture, Draft, EntryKind
from towpath.archive.model import PartitionId, Segment
from towpath.model.errors import ObjectMissingError, StoreAwayError
from towpath.model.nouns import TopicId, TopicName
from towpath.runtime.clock import now_ms
from towpath.store import Store

pytestmark = pytest.mark.parametrize("config", IN_FILES, indirect=True)
ONE = tuple(segment(at, at + 10) for at in range(0, 50, 10))


@pytest.fixture
def log(store: Store) -> CommitLog:
    """Return a log of five versions, each with one segment and a capture of its number."""
    made = CommitLog.open_or_begin(store, "eu")
    for each in ONE:
        capture = Capture(kind="topic", name="orders", value={"end": each.end})
        made.append(archiving(each, captures=(capture,)))
    return made


def test_the_past_is_read_from_the_segments_of_today(log: CommitLog) -> None:
    log.append(compacting(*ONE, into=[whole(0, 50)]))
    past = Archive.of_version(log.store, "eu", 2)
    assert past.segments(partition_id()) == [whole(0, 50)]
    assert past.partitions()[partition_id()].archived_to == 20
    assert past.captures("topic") == {"orders": {"end": 20}}
    assert past.captures("group") == {}
    assert past.segments(partition_id(), 20) == []
    newest = Archive.newest(log.store, "eu")
    assert newest.captures("topic") == {"orders": {"end": 50}}


def test_the_past_is_asked_for_by_time(log: CommitLog) -> None:
    for version in range(1, 6):
        time = log.entry(version).time
        found = Archive.at(log.store, "eu", time)
        assert found.then.version == log.version_at(time) >= version
    with pytest.raises(NoVersionError, match=r"nothing was archived at .*; the first version is"):
        Archive.at(log.store, "eu", log.entry(1).time - 1)


def test_a_time_is_refused_where_a_clock_was_ahead(
    log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = log.state.time + 1
    monkeypatch.setattr(commit_log, "now_ms", lambda: now + 86_400_000)
    log.append(archiving(segment(50, 60)))
    monkeypatch.undo()
    log.append(archiving(segment(60, 70)))
    with pytest.raises(NoVersionError) as caught:
        Archive.at(log.store, "eu", now)
    assert "versions from 6 on say that they are of" in str(caught.value)
    assert "the clock of here was ahead" in str(caught.value)
    assert "which of versions 5 to 7 was the last one" in str(caught.value)
    assert Archive.at(log.store, "eu", log.entry(2).time).then.version >= 2
    assert Archive.at(log.store, "eu", now + 86_400_000).then.version == 7


def test_what_was_pruned_is_gone_from_the_past_as_well(log: CommitLog) -> None:
    log.append(Draft(writer=WRITER, kind=EntryKind.PRUNE, remove=tuple(e.id for e in ONE[:3])))
    past = Archive.of_version(log.store, "eu", 4)
    assert [each.start for each in past.segments(partition_id())] == [30]
    place = past.partitions()[partition_id()]
    assert (place.begin, place.archived_to) == (30, 40)
    older = Archive.of_version(log.store, "eu", 2)
    place = older.partitions()[partition_id()]
    assert (place.begin, place.archived_to) == (20, 20)
    assert older.segments(partition_id()) == []


def test_an_unknown_partition_has_nothing(log: CommitLog) -> None:
    archive = Archive.newest(log.store, "eu")
    assert archive.segments(partition_id(7)) == []


def test_an_archive_moves_on(log: CommitLog) -> None:
    archive = Archive.newest(log.store, "eu")
    assert not archive.refresh()
    log.append(archiving(segment(50, 60)))
    assert archive.refresh()
    assert archive.segments(partition_id(), 45)[-1] == segment(50, 60)


def test_topics_of_one_name_are_told_apart(log: CommitLog) -> None:
    again = PartitionId(CLUSTER, TopicId("a-later-id"), 0)
    made_again = replace(segment(0, 5), topic_id=again.topic_id)
    log.append(archiving(made_again, segment(0, 5, topic="other")))
    archive = Archive.newest(log.store, "eu")
    assert archive.topics() == {
        TopicName("orders"): [partition_id().topic_id, again.topic_id],
        TopicName("other"): [TopicId("id-other")],
    }
    assert archive.segments(again) == [made_again]


def test_objects_are_opened(log: CommitLog) -> None:
    archive = Archive.newest(log.store, "eu")
    log.store.put_new("eu/orders/0/0/x", b"data")
    assert archive.open("eu/orders/0/0/x").read() == b"data"
    with pytest.raises(ObjectMissingError):
        archive.open("eu/orders/0/0/y")


def keys(*segments: Segment) -> list[str]:
    return [each.place.key for each in segments if each.place]


def fill(store: Store, *segments: Segment) -> None:
    for key in keys(*segments):
        store.put_new(key, b"records")


def objects(store: Store) -> list[str]:
    return [each.key for each in store.list("eu/orders/")]


def test_objects_are_deleted_when_the_slowest_reader_has_passed(log: CommitLog) -> None:
    store, merged = log.store, whole(0, 50)
    fill(store, *ONE, merged)
    with (
        ArchiveReading(store, "eu", "restore") as slow,
        ArchiveReading(store, "eu", "query") as fast,
    ):
        slow.passed(log.state.version)
        fast.passed(log.state.version)
        log.append(compacting(*ONE, into=[merged]))
        assert sweep(log, COMPACTOR, 0) == ()
        fast.passed(log.state.version)
        assert sweep(log, COMPACTOR, 0) == ()
        found = {each.what: each.version for each in living_readers(store, "eu")}
        assert found == {"restore": 5, "query": 6}
        slow.passed(log.state.version)
        assert sorted(sweep(log, COMPACTOR, 0)) == sorted(keys(*ONE))
    assert objects(store) == keys(merged)
    assert log.state.removed == {}
    assert living_readers(store, "eu") == []
    assert sweep(log, COMPACTOR, 0) == ()


def test_a_reader_that_opens_the_log_keeps_everything(log: CommitLog) -> None:
    fill(log.store, *ONE)
    log.append(compacting(*ONE, into=[whole(0, 50)]))
    with ArchiveReading(log.store, "eu", "restore"):
        assert sweep(log, COMPACTOR, 0) == ()
    assert len(sweep(log, COMPACTOR, 0)) == 5


def test_a_dead_reader_is_forgotten_after_a_while(
    log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(log.store, *ONE)
    log.append(compacting(*ONE, into=[whole(0, 50)]))
    dead = ArchiveReading(log.store, "eu", "restore")
    dead._tell()
    log.store.put_new(f"{readers_prefix('eu')}foreign", b"whatever this is")
    assert sweep(log, COMPACTOR, 0) == ()
    assert [each.version for each in living_readers(log.store, "eu")] == [0, 0]
    later = now_ms() + int(readers.SILENCE * 1000) + 60_000
    monkeypatch.setattr(readers, "now_ms", lambda: later)
    assert len(sweep(log, COMPACTOR, 0)) == 5
    assert list(log.store.list(readers_prefix("eu"))) == []


def test_objects_stay_for_a_while_for_those_who_say_nothing(log: CommitLog) -> None:
    fill(log.store, *ONE)
    log.append(compacting(*ONE, into=[whole(0, 50)]))
    assert sweep(log, COMPACTOR, 3600) == ()
    assert len(sweep(log, COMPACTOR, 0)) == 5


def test_who_dies_between_deleting_and_committing_is_followed_up(
    log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(log.store, *ONE)
    log.append(compacting(*ONE, into=[whole(0, 50)]))

    def dies(_: Draft) -> None:
        raise StoreAwayError("s3://b", "write", "gone")

    monkeypatch.setattr(log, "append", dies)
    with pytest.raises(StoreAwayError):
        sweep(log, COMPACTOR, 0)
    monkeypatch.undo()
    assert objects(log.store) == []
    assert len(sweep(CommitLog.open(log.store, "eu"), COMPACTOR, 0)) == 5
