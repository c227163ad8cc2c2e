"""Who did what to an archive: events in the store, and entries of the commit log."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archive.archives import WRITER, archiving, compacting, segment, whole
from tests.support.archive.compacting import compacted
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.archive.keys import event_key
from towpath.archive.log import Capture, Draft, EntryKind, sweep
from towpath.archive.log.events import ArchiveEvents, ArchiveWhat, read_events
from towpath.archive.log.happenings import history, recording_run
from towpath.archive.log.lease import ArchiveLease, HeldArchive
from towpath.archive.model import GapKind
from towpath.archive.restore.metered import recording_restore
from towpath.archive.restore.progress import RestoredArchive, RestoreProgress
from towpath.archive.restore.task import RestoreTask
from towpath.archive.show.archive_events import as_json, sentence
from towpath.cli.main import main
from towpath.ledger.events import Event, Origin
from towpath.model.errors import StoreAwayError
from towpath.model.nouns import LinkName
from towpath.runtime.clock import now_ms
from towpath.store import Store

DAY = 86_400_000


@pytest.fixture
def archive(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def texts(archive: StoredArchive, since: int = 0) -> list[str]:
    found = history(archive.config(), since, 100)
    return [each["text"] for each in as_json("shop", found)["events"]]


def test_a_run_tells_of_its_start_its_end_and_whom_it_replaced(archive: StoredArchive) -> None:
    archive.log.append(archiving(segment(0, 10)))
    store, config = archive.store, archive.config()
    with HeldArchive(store, "shop", REGION, "run", "run", threading.Event()) as lease:
        with recording_run(store, config, lease, until_caught_up=True):
            pass
        dead = ArchiveLease(owner="x", command="run", host="there", pid=7, epoch=1, since=0, beat=0)
        lease.replaced = dead
        with (
            pytest.raises(StoreAwayError),
            recording_run(store, config, lease, until_caught_up=False),
        ):
            raise StoreAwayError("s3://there", "read")
    said = texts(archive)
    assert said[:2] == ["the run started, to end when caught up", "the run ended"]
    assert said[2].startswith("the lease was taken over from `towpath run` (on there, pid 7, since")
    assert said[3:] == ["the run started", "the run ended with error STORE_AWAY"]
    found = history(archive.config(), 0, 2)
    assert (len(found.events), found.earlier) == (2, 3)
    assert found.events[-1].is_trouble
    assert found.events[-1].origin.user


def test_a_topic_of_several_histories_is_named_once(archive: StoredArchive) -> None:
    archive.put("orders", old_records(20), cuts=[10])
    number = archive.fork("orders", 10)
    archive.put("orders", old_records(10, 10), cuts=[15], number=number)
    assert not compacted(archive.config()).failed
    assert "4 segments became 2 by compaction of orders (version 4)" in texts(archive)


def test_what_changed_segments_is_told_by_the_log(archive: StoredArchive) -> None:
    log = archive.log
    one, two = segment(0, 10), segment(10, 20)
    log.append(archiving(one, two))
    log.append(compacting(one, two, into=[whole(0, 20)]))
    log.append(archiving(segment(20, 30)))
    log.append(Draft(writer=WRITER, kind=EntryKind.PRUNE, remove=(whole(0, 20).id,)))
    assert len(sweep(log, WRITER, 0.0)) == 3
    assert texts(archive) == [
        "2 segments became 1 by compaction of orders (version 2)",
        "1 segment pruned of orders (version 4)",
        "3 objects deleted that nobody needs any more (version 5)",
    ]
    assert texts(archive, now_ms() + 1000) == []


def test_an_erasure_is_told_with_its_number_and_its_reason(archive: StoredArchive) -> None:
    """The entry of the log is all that is left to prove that a request was fulfilled."""
    log = archive.log
    log.append(archiving(segment(0, 10)))
    erased = segment(0, 10, gaps=[3, 4], kind=GapKind.ERASED)
    told = {"time": 1, "records": 2, "topics": {"orders": 2}, "reason": "request 17"}
    audit = Capture(kind="forget", name="1", value=told)
    log.append(
        Draft(
            writer=WRITER,
            kind=EntryKind.FORGET,
            add=(erased,),
            remove=(segment(0, 10).id,),
            captures=(audit,),
        )
    )
    assert texts(archive) == [
        "2 records were erased from 1 segment of orders (version 2): request 17"
    ]


def test_a_restore_tells_how_it_ended(archive: StoredArchive) -> None:
    archive.log.append(archiving(segment(0, 10)))
    task = RestoreTask.of(archive.config())
    shown: list[RestoreProgress] = []
    with recording_restore(task.name, [task], shown.append) as show:
        where = RestoredArchive(source="", store="file:///a", region="eu", version=1, at=0)
        show(RestoreProgress(archives=(where,)))
    with recording_restore(task.name, [task], shown.append):
        pass
    with pytest.raises(KeyboardInterrupt), recording_restore(task.name, [task], shown.append):
        raise KeyboardInterrupt
    said = texts(archive)
    assert said[0] == "restore.shop started to restore to 127.0.0.1:1"
    assert said[1::2] == [
        "restore.shop is complete",
        "restore.shop ended incomplete",
        "restore.shop ended with error KeyboardInterrupt",
    ]


def test_old_events_are_deleted(archive: StoredArchive) -> None:
    archive.log.append(archiving(segment(0, 10)))
    now = now_ms()
    for age in (100, 91, 89, 1):
        archive.store.put_new(event_key(REGION, now - age * DAY, f"{age}"), b"{}")
    with ArchiveEvents(archive.store, REGION, "shop") as events:
        events.forget(90 * DAY / 1000)
    found = history(archive.config(), 0, 10)
    assert (found.events, found.unreadable) == ((), 2), "those that stay are no events"


def test_events_of_a_time_are_found_without_reading_older_ones(archive: StoredArchive) -> None:
    archive.log.append(archiving(segment(0, 10)))
    now = now_ms()
    with ArchiveEvents(archive.store, REGION, "shop") as events:
        events.tell(ArchiveWhat.RUN_STARTED, until_caught_up=False)
    archive.store.put_new(event_key(REGION, now - DAY, "old"), b"{}")
    assert len(list(read_events(archive.store, REGION))) == 2
    (one,) = read_events(archive.store, REGION, now)
    assert one is not None
    assert (one.link, one.what) == ("shop", "run.started")


def test_a_store_that_refuses_events_stops_nothing(archive: StoredArchive, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = replace_url(archive, (tmp_path / "file").as_uri())
    with ArchiveEvents(store, REGION, "shop") as events:
        events.tell(ArchiveWhat.RUN_STARTED, until_caught_up=False)


def replace_url(archive: StoredArchive, url: str) -> Store:
    return Store(archive.store.config.model_copy(update={"url": url}))


def test_an_event_of_another_version_has_a_sentence_as_well() -> None:
    origin = Origin(user="u", login="", host="h", pid=1, version="9")
    event = Event(
        id="1", at=0, link=LinkName("shop"), what="archive.painted", about="orders",
        facts={"colour": "red"}, origin=origin,
    )  # fmt: skip
    assert sentence(event) == "archive.painted orders colour=red"
    assert sentence(replace(event, what="archive.pruned")) == "archive.pruned orders colour=red"


def test_the_command_shows_events(
    archive: StoredArchive, capsys: pytest.CaptureFixture[str]
) -> None:
    log = archive.log
    log.append(archiving(segment(0, 10)))
    assert main(["archive", "events", str(archive.file())]) == 0
    assert capsys.readouterr().out == "nothing happened to the archive but archiving\n"
    log.append(Draft(writer=WRITER, kind=EntryKind.PRUNE, remove=(segment(0, 10).id,)))
    assert main(["archive", "events", str(archive.file()), "--since", "1h"]) == 0
    assert "  here  1 segment pruned of orders (version 2)" in capsys.readouterr().out
    assert main(["archive", "events", str(archive.file()), "--output", "json"]) == 0
    (event,) = json.loads(capsys.readouterr().out)["events"]
    assert (event["what"], event["facts"]["removed"]) == ("archive.pruned", 1)
