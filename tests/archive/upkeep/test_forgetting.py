"""`archive forget`: records with a key are gone for good, all others are where they were."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.archive.compacting import compacted, held_records, objects
from tests.support.archive.forgetting import forgotten
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.here import Here
from tests.support.logs.logs import Seen
from towpath.archive.log import ArchiveReading
from towpath.archive.model import GapKind
from towpath.archive.upkeep.forgetting import AUDIT

pytestmark = pytest.mark.slow


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    made = MixedArchive(tmp_path)
    made.config()
    return made


def contents(archive: MixedArchive) -> dict[int, list[Seen]]:
    store, state = archive.store, archive.log.state
    return {each.partition: held_records(store, state, each) for each in state.partitions}


@pytest.mark.parametrize("compacts", [False, True])
def test_only_the_key_is_gone_from_segments_of_all_kinds(
    archive: MixedArchive, rng: random.Random, compacts: bool
) -> None:
    archive.fill(rng)
    if compacts:
        compacted(archive.config())
    before = contents(archive)
    keys = {each.record.key for found in before.values() for each in found}
    key = rng.choice(sorted(each for each in keys if each is not None))
    wanted = {n: [each for each in found if each.record.key != key] for n, found in before.items()}
    count = sum(len(found) for found in before.values()) - sum(map(len, wanted.values()))
    version = archive.log.state.version
    looked = forgotten(archive.config(), key, writes=False)
    assert (looked.records, looked.erased, archive.log.state.version) == (count, 0, version)
    done = forgotten(archive.config(), key, reason="request 7")
    assert (done.records, done.erased, done.failed, done.waiting) == (count, count, {}, 0)
    assert contents(archive) == wanted
    state = archive.log.state
    assert sum(each.gaps.get(GapKind.ERASED) for each in state.table()) == count
    assert objects(archive.store, REGION) == {e.place.key for e in state.table() if e.place}
    (audit,) = [each.value for (kind, _), each in state.captures.items() if kind == AUDIT]
    assert (audit["records"], audit["reason"]) == (count, "request 7")
    assert key.decode() not in str(audit)
    assert forgotten(archive.config(), key).records == 0


def test_readers_and_the_grace_keep_objects_and_that_is_said(archive: MixedArchive) -> None:
    archive.own(old_records(20), 0, 20)
    with ArchiveReading(archive.store, REGION, "restore") as reading:
        reading.passed(archive.log.state.version)
        done = forgotten(archive.config(), b"key 3")
        assert (done.erased, done.waiting, done.readers) == (1, 1, 1)
    assert forgotten(archive.config(grace="1h"), b"key 3").waiting == 1
    assert forgotten(archive.config(), b"key 3").waiting == 0


def test_one_topic_alone_and_damage(archive: MixedArchive) -> None:
    first = archive.own(old_records(20), 0, 20)
    archive.own(old_records(20), 0, 20, 1)
    assert forgotten(archive.config(), b"key 3", topics=("other",)).planned == 0
    assert first.place is not None
    archive.store.delete([first.place.key])
    done = forgotten(archive.config(), b"key 3")
    assert list(done.failed) == [first.place.key]
    assert done.found == {("orders", 1): 1}
    left = held_records(archive.store, archive.log.state, partition(1))
    assert len(left) == 19


@pytest.mark.spark
def test_the_command_shows_it_first(archive: MixedArchive, here: Here) -> None:
    for number in range(3):
        archive.own(old_records(20), 0, 20, number)
    words = ("archive", "forget", str(archive.file), "key 3")
    shown = here.on_spark(*words)
    assert shown.code == 0, shown.said
    assert "would be erased: 3 records in 3 segments" in shown.out
    done = here.on_spark(*words, "--yes", "--reason", "request 7")
    assert done.code == 0, done.said
    assert "erased: 3 records in 3 segments" in done.out
    assert "not reached: the source itself" in done.out
    again = here.on_spark("archive", "forget", str(archive.file), b"key 3".hex(), "--form", "hex")
    assert "no record has this key" in again.out
    wrong = here("archive", "forget", str(archive.file), "xyz", "--form", "hex")
    assert (wrong.code, "KEY: is not hex" in wrong.err) == (2, True)


def test_an_empty_key_is_refused_at_once(archive: MixedArchive, here: Here) -> None:
    """A variable that is not set must not erase the records whose keys are empty."""
    refused = here("archive", "forget", str(archive.file), "", "--yes")
    assert (refused.code, "KEY: is empty" in refused.err) == (2, True), refused.said
