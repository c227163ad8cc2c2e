"""Reading and writing a log, alone and beside others."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, NoReturn

import pytest

from tests.support.archive.archives import (
    WRITER,
    archiving,
    compacting,
    partition_id,
    resummed,
    seen,
    segment,
    whole,
)
from towpath.archive.errors import (
    BrokenLogError,
    CommitRefusedError,
    NewerArchiveError,
    NoArchiveError,
    NoVersionError,
    WriterReplacedError,
)
from towpath.archive.keys import checkpoint_key, checkpoint_prefix, entry_key
from towpath.archive.log import commit_log
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.commit_log import CommitLog
from towpath.archive.log.state import ArchiveState
from towpath.model.errors import StoreAwayError, TowpathError
from towpath.store import Store

pytestmark = pytest.mark.slow

EU = "eu"


def begin(store: Store) -> CommitLog:
    return CommitLog.open_or_begin(store, EU)


def fill(log: CommitLog, versions: int) -> None:
    """Add so many versions, each with one segment of ten records."""
    for _ in range(versions):
        place = log.state.partitions.get(partition_id())
        at = place.archived_to if place else 0
        log.append(archiving(segment(at, at + 10)))
        log.settle()


def test_what_one_appends_others_read(store: Store) -> None:
    with pytest.raises(NoArchiveError) as caught:
        CommitLog.open(store, EU)
    assert str(caught.value) == (
        f"{store.config.url}/eu/_log/: there is no archive here; look at `store.url` and `region`"
        " (the first run of an archive makes it)"
    )
    log = begin(store)
    assert (log.state.version, list(store.list())) == (0, [])
    one = segment(0, 10)
    done = log.append(archiving(one, partitions=(seen(0, 15),)))
    assert (done.version, done.added, done.dropped) == (1, (one,), ())
    reader = CommitLog.open(store, EU)
    assert reader.state.segments(partition_id()) == [one]
    assert reader.follow() == ()
    log.append(archiving())
    log.append(archiving(segment(10, 15)))
    assert [each.version for each in reader.follow()] == [2, 3]
    assert reader.state.partitions[partition_id()].archived_to == 15
    assert reader.state.time >= reader.entry(2).time >= reader.entry(1).time
    assert [each.key for each in store.list()] == [entry_key(EU, each) for each in (1, 2, 3)]


def test_neither_commits_nor_readers_list_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists are slow and paid for; keys follow from versions."""
    log = begin(store)
    fill(log, 1)
    reader = CommitLog.open(store, EU)

    def listed(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the store was listed")

    monkeypatch.setattr(Store, "list", listed)
    for number in range(3):
        log.append(archiving(segment(10 + number, 11 + number)))
    assert len(reader.follow()) == 3
    assert reader.follow() == ()


def test_who_loses_a_race_drops_what_is_redundant(store: Store) -> None:
    one, other = begin(store), begin(store)
    first = segment(0, 10, tag="one")
    one.append(archiving(first, segment(0, 5, 1)))
    late, fine = segment(0, 8, tag="other"), segment(0, 5, 2)
    done = other.append(archiving(late, segment(8, 20, tag="other"), fine))
    assert done.version == 2
    assert done.added == (fine,)
    assert done.dropped == (late, segment(8, 20, tag="other"))
    assert other.state.segments(partition_id()) == [first]
    done = other.append(archiving(late))
    assert (done.version, done.dropped) == (None, (late,))
    with pytest.raises(CommitRefusedError):
        other.append(archiving(segment(40, 50)))


def test_compactions_race_with_archiving_and_with_each_other(store: Store) -> None:
    log, one, other = begin(store), begin(store), begin(store)
    fill(log, 3)
    one.follow()
    other.follow()
    fill(log, 1)
    before = one.state.segments(partition_id())
    assert one.append(compacting(*before, into=[whole(0, 30)])).version == 5
    late = whole(0, 20, tag="late")
    done = other.append(compacting(*before[:2], into=[late]))
    assert (done.version, done.dropped) == (None, (late,))
    assert other.state.segments(partition_id()) == [whole(0, 30), segment(30, 40)]


def test_a_replaced_writer_commits_nothing(store: Store) -> None:
    one, other = begin(store), begin(store)
    one.append(archiving(segment(0, 10)))
    newer = replace(WRITER, owner="new", host="elsewhere", epoch=2)
    other.append(archiving(segment(10, 20), writer=newer))
    with pytest.raises(WriterReplacedError) as caught:
        one.append(archiving(segment(10, 20)))
    assert "another process has taken over `run` of this archive (elsewhere)" in str(caught.value)
    other_work = replace(WRITER, work="compact")
    assert one.append(archiving(writer=other_work)).version == 3


def test_a_writer_that_does_not_know_whether_it_wrote_finds_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begin(store)
    fill(log, 1)
    true = store.put_new

    def lost(key: str, data: bytes, **options: Any) -> object:
        true(key, data, **options)
        raise StoreAwayError("s3://b", "write", "gone")

    monkeypatch.setattr(store, "put_new", lost)
    draft = archiving(segment(10, 20), segment(0, 5, 1))
    with pytest.raises(StoreAwayError):
        log.append(draft)
    monkeypatch.undo()
    done = log.append(draft)
    assert (done.version, set(done.added), done.dropped) == (None, set(draft.add), ())
    assert log.state.version == 2
    assert log.append(archiving(segment(20, 30))).version == 3


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let logs make checkpoints often."""
    monkeypatch.setattr(commit_log, "CHECKPOINT_EACH", 4)


@pytest.mark.usefixtures("often")
def test_a_log_is_opened_from_its_checkpoints(store: Store) -> None:
    log = begin(store)
    fill(log, 6)
    log.append(compacting(*log.state.segments(partition_id())[:2], into=[whole(0, 20)]))
    log.settle()
    fill(log, 3)
    assert LogCheckpoints(store, EU).versions() == [4, 8]
    before = list(log.state.table())
    store.delete(entry_key(EU, version) for version in range(1, 9))
    found = CommitLog.open(store, EU)
    assert (found.state.version, found.notes) == (10, ())
    assert list(found.state.table()) == before
    for name in ("time", "tip", "partitions", "captures", "writers", "removed"):
        assert getattr(found.state, name) == getattr(log.state, name)
    fill(found, 1)
    log.follow()
    assert list(found.state.table()) == list(log.state.table())


@pytest.mark.usefixtures("often")
def test_a_damaged_checkpoint_is_passed_over_and_told(store: Store) -> None:
    log = begin(store)
    fill(log, 9)
    store.put(checkpoint_key(EU, 8), b"PAR1 and nothing")
    found = CommitLog.open(store, EU)
    assert found.state == log.state or list(found.state.table()) == list(log.state.table())
    (note,) = found.notes
    assert note == (
        f"{store.config.url}/{checkpoint_key(EU, 8)}: it is no checkpoint of a commit log; it is"
        " passed over, and logs are read without it; delete it"
    )


def test_large_commits_make_a_checkpoint_sooner(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_log, "_CHANGED", 20)
    log = begin(store)
    for _ in range(5):
        place = log.state.partitions.get(partition_id())
        at = place.archived_to if place else 0
        log.append(archiving(*(segment(at + each, at + each + 1) for each in range(8))))
        log.settle()
    assert LogCheckpoints(store, EU).versions() == [3]


@pytest.mark.usefixtures("often")
def test_few_checkpoints_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("towpath.archive.log.checkpoints._SPARSE", 10)
    log = begin(store)
    fill(log, 33)
    assert LogCheckpoints(store, EU).versions() == [4, 12, 20, 28, 32]


@pytest.mark.usefixtures("often")
def test_the_past_can_be_asked_for(store: Store) -> None:
    log = begin(store)
    states = []
    for _ in range(11):
        fill(log, 1)
        states.append(log.state)
    reader = CommitLog.open(store, EU)
    for expected in states:
        found = reader.as_of(expected.version)
        assert list(found.table()) == list(expected.table())
        assert (found.partitions, found.tip) == (expected.partitions, expected.tip)
        assert reader.version_at(expected.time) >= expected.version
        assert reader.entry(reader.version_at(expected.time)).time == expected.time
    assert reader.version_at(states[0].time - 1) == 0
    assert reader.version_at(states[-1].time + 99) == 11
    for version in (0, 12):
        with pytest.raises(NoVersionError) as caught:
            reader.as_of(version)
        assert f"there is no version {version}; the newest one is 11" in str(caught.value)


def broken(store: Store) -> str:
    with pytest.raises(BrokenLogError) as caught:
        CommitLog.open(store, EU)
    with pytest.raises(BrokenLogError):
        begin(store)
    return str(caught.value)


def test_a_missing_entry_is_not_taken_for_the_end(store: Store) -> None:
    fill(begin(store), 5)
    third = store.get(entry_key(EU, 3))
    store.delete([entry_key(EU, 3)])
    assert broken(store) == (
        f"{store.config.url}/{entry_key(EU, 3)}: this entry is missing, and later ones are there;"
        " somebody, or a rule of the bucket, changed or deleted entries; bring them back from"
        " another region or a version of the bucket. Nothing is written until then"
    )
    store.put_new(entry_key(EU, 3), third)
    assert CommitLog.open(store, EU).state.version == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda store: store.put(entry_key(EU, 2), b"{}"), "it is no entry of a commit log ("),
        (
            lambda store: store.put(entry_key(EU, 2), store.get(entry_key(EU, 1))),
            "it says that it is version 1; somebody",
        ),
        (
            lambda store: store.put(
                entry_key(EU, 1), store.get(entry_key(EU, 1)).replace(b'"here"', b'"hare"')
            ),
            "its bytes are not those that were written, as its checksum says; bring",
        ),
        (
            lambda store: store.put(
                entry_key(EU, 1),
                resummed(store.get(entry_key(EU, 1)).replace(b'"here"', b'"hare"')),
            ),
            "it was written behind another entry than the one that is there",
        ),
    ],
)
def test_a_changed_entry_is_found(
    store: Store, change: Callable[[Store], object], told: str
) -> None:
    fill(begin(store), 3)
    change(store)
    assert told in broken(store)


def test_nothing_is_written_behind_a_hole(store: Store) -> None:
    """The store is set back, as from a backup, while a writer goes on."""
    log = begin(store)
    fill(log, 5)
    last = store.get(entry_key(EU, 5))
    store.delete(entry_key(EU, each) for each in (4, 5))
    for _ in range(2):
        with pytest.raises(BrokenLogError) as caught:
            log.append(archiving(segment(50, 60)))
        assert f"{entry_key(EU, 5)}: this entry is not there any more; somebody" in str(
            caught.value
        )
    again = begin(store)
    assert again.state.version == 3
    again.append(archiving(segment(30, 40)))
    again.append(archiving(segment(40, 45)))
    with pytest.raises(BrokenLogError, match="this entry is another one than before"):
        log.append(archiving(segment(50, 60)))
    assert [each.version for each in begin(store).follow()] == []
    assert begin(store).state.partitions[partition_id()].archived_to == 45
    assert store.get(entry_key(EU, 5)) != last


def test_an_entry_that_was_copied_back_is_the_same(store: Store) -> None:
    log = begin(store)
    fill(log, 2)
    data = store.get(entry_key(EU, 2))
    store.delete([entry_key(EU, 2)])
    store.put_new(entry_key(EU, 2), data)
    assert log.append(archiving(segment(20, 30))).version == 3


def test_a_newer_log_is_neither_read_nor_written(store: Store) -> None:
    fill(begin(store), 1)
    newer = resummed(store.get(entry_key(EU, 1)).replace(b'"v":1', b'"v":3'))
    store.put_new(entry_key(EU, 2), newer)
    for call in (CommitLog.open, CommitLog.open_or_begin):
        with pytest.raises(NewerArchiveError):
            call(store, EU)
    assert "use Towpath 1.0 or newer" in str(_raised(lambda: CommitLog.open(store, EU)))


def _raised(call: Callable[[], object]) -> TowpathError:
    with pytest.raises(TowpathError) as caught:
        call()
    other = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - ours
    assert (type(other), str(other)) == (type(caught.value), str(caught.value))
    return caught.value


def test_regions_and_topics_do_not_meet(store: Store) -> None:
    one, other = begin(store), CommitLog.open_or_begin(store, "us")
    fill(one, 2)
    fill(other, 1)
    store.put_new("eu/_logs/0/0/x.parquet", b"of a topic")
    assert CommitLog.open(store, EU).state.version == 2
    assert CommitLog.open(store, "us").state.version == 1
    assert list(store.list(checkpoint_prefix(EU))) == []


@pytest.mark.usefixtures("often")
def test_no_commit_waits_for_a_checkpoint(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    log, written, goes_on = begin(store), Event(), Event()
    true = LogCheckpoints.write

    def slow(self: LogCheckpoints, state: ArchiveState) -> ArchiveState:
        written.set()
        assert goes_on.wait(30)
        return true(self, state)

    monkeypatch.setattr(LogCheckpoints, "write", slow)
    for at in range(0, 40, 10):
        log.append(archiving(segment(at, at + 10)))
    assert written.wait(30)
    for at in range(40, 90, 10):  # also beyond where the next one is due
        log.append(archiving(segment(at, at + 10)))
    log.append(compacting(*log.state.segments(partition_id())[:2], into=[whole(0, 20)]))
    before = list(log.state.table())
    assert LogCheckpoints(store, EU).versions() == []
    goes_on.set()
    log.settle()
    assert LogCheckpoints(store, EU).versions() == [4]
    assert list(log.state.table()) == before
    assert len(log.state.base) == 4
    fill(log, 1)
    assert LogCheckpoints(store, EU).versions() == [4, 11]
    found = CommitLog.open(store, EU)
    assert list(found.state.table()) == list(log.state.table())
    for name in ("version", "time", "tip", "partitions", "captures", "writers", "removed"):
        assert getattr(found.state, name) == getattr(log.state, name)


def test_a_checkpoint_that_cannot_be_written_stops_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_log, "CHECKPOINT_EACH", 2)
    log = begin(store)

    def fails(*_: object) -> object:
        raise StoreAwayError("s3://b", "write", "gone")

    monkeypatch.setattr(LogCheckpoints, "write", fails)
    fill(log, 3)
    assert log.state.version == 3
    assert log.notes[0].startswith("no checkpoint was written: s3://b: write: no usable answer")
