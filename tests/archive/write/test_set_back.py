"""A store that is set back to an earlier copy of itself while a process works on it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archives import COMPACTOR
from tests.support.archive.archiving import Archive
from tests.support.archive.compacting import compacted, held_records, objects
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from towpath.archive.errors import BrokenLogError
from towpath.archive.keys import checkpoint_key, entry_key
from towpath.archive.log import CommitLog, Draft, EntryKind
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import WORK, CompactionProgress
from towpath.archive.upkeep.tidying import tidy


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    made = MixedArchive(tmp_path)
    records = old_records(100)
    for at in range(0, 100, 10):
        made.own(records, at, at + 10)
    return made


class Copy:
    """A copy of the store as it is now."""

    def __init__(self, archive: MixedArchive) -> None:
        self._store, self._kept = archive.folder / "store", archive.folder / "kept"
        shutil.copytree(self._store, self._kept)

    def put_back(self) -> None:
        """Put the copy in the place of the store."""
        shutil.rmtree(self._store)
        shutil.copytree(self._kept, self._store)


def test_what_was_replaced_since_is_not_deleted(archive: MixedArchive) -> None:
    """Before, objects went that the log of the copy names."""
    copy = Copy(archive)
    config = archive.config()
    assert compacted(config, clean=False).written == 1
    log = archive.log  # as a run that goes on has it
    with archive_lease(config, archive.store, WORK, threading.Event()) as lease:
        copy.put_back()
        with pytest.raises(BrokenLogError, match="this entry is not there any more"):
            tidy(config, log, lease, CompactionProgress())
    assert len(held_records(archive.store, archive.log.state, partition())) == 100


def test_what_others_wrote_since_is_not_deleted(archive: MixedArchive) -> None:
    """Before, it went as if it were of dead writers."""
    copy = Copy(archive)
    config = archive.config(segments={"share": "0B"})
    log = archive.log
    with archive_lease(config, archive.store, WORK, threading.Event()) as lease:
        log.append(Draft(writer=COMPACTOR, kind=EntryKind.SWEEP))
        copy.put_back()
        assert compacted(config, clean=False).written == 1
        before = objects(archive.store, REGION)
        with pytest.raises(BrokenLogError, match="another one"):
            tidy(config, log, lease, CompactionProgress())
    assert objects(archive.store, REGION) == before
    assert len(held_records(archive.store, archive.log.state, partition())) == 100


def test_a_checkpoint_that_came_without_its_entry_is_named(archive: MixedArchive) -> None:
    """As in a copy that was made while the archive grew: starting again does not help."""
    log, store = archive.log, archive.store
    LogCheckpoints(store, REGION).write(log.state)
    store.delete([entry_key(REGION, log.state.version)])
    checkpoint = checkpoint_key(REGION, log.state.version)
    told = f"delete {checkpoint}"
    with pytest.raises(BrokenLogError, match=told):
        CommitLog.open_or_begin(store, REGION)
    read = CommitLog.open(store, REGION)
    assert [told in each for each in read.notes] == [True]
    with pytest.raises(BrokenLogError, match=told):
        read.append(Draft(writer=COMPACTOR, kind=EntryKind.SWEEP))
    store.delete([checkpoint])
    again = CommitLog.open_or_begin(store, REGION)
    assert (again.state.version, again.notes) == (log.state.version - 1, ())


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.spark
def test_a_run_whose_store_is_set_back_says_so_and_archives_anew(
    tmp_path: Path, source: SharedCluster, new_name: Callable[[str], str], here: Here
) -> None:
    name = new_name("back")
    topic = create_topic(source.bootstrap, f"{name}.orders")
    made = Archive(tmp_path, source, name, segments={"max_age": "1s"})

    def write(first: int, end: int) -> None:
        some = [Record(b"k%d" % number, b"%d" % number) for number in range(first, end)]
        produce(source.bootstrap, topic, some)

    run = made.start()
    try:
        write(0, 20)
        made.wait_for(run, topic, 20)
        store, kept = tmp_path / name, tmp_path / "kept"
        wait_until(lambda: _is_copied(store, kept), "a copy is made")
        write(20, 40)
        made.wait_for(run, topic, 40)
        store.rename(tmp_path / "newer")
        kept.rename(store)
        write(40, 50)
        assert run.wait(120) == 4, run.said
        assert "_log/" in run.said
    finally:
        run.close()
    again = here.on_spark("archive", "run", str(made.file), "--until-caught-up")
    assert again.code == 0, again.said
    assert made.records(topic) == consume(source.bootstrap, topic)
    verified = here.on_spark("archive", "verify", str(made.file), "--deep")
    assert verified.code == 0, verified.said


def _is_copied(store: Path, kept: Path) -> bool:
    """Copy a store; again if files came or went meanwhile."""
    try:
        shutil.copytree(store, kept)
    except (OSError, shutil.Error):
        shutil.rmtree(kept, ignore_errors=True)
        return False
    return True
