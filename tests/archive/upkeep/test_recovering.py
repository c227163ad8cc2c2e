"""Objects whose entries were lost: never swept, named, and taken in again by `archive recover`."""

from __future__ import annotations

import random
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import WRITER
from tests.support.archive.compacting import EAGER, compacted, held_records
from tests.support.archive.compacting import here as merging
from tests.support.archive.mixed import REGION, MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.archive.victims import RECOVERY, victim
from tests.support.copying.chaos import soak_rounds
from tests.support.here import Here
from towpath.archive.errors import ArchiveHeldError
from towpath.archive.keys import checkpoint_key, entry_key
from towpath.archive.log import Draft, EntryKind
from towpath.archive.log.happenings import history
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import GapCounts, GapKind, Segment
from towpath.archive.read.verify.content import check_rows
from towpath.archive.read.verify.findings import CheckedArchive, CheckedObject, VerifyScope
from towpath.archive.read.verify.verify import verify
from towpath.archive.show.archive_json import status_data
from towpath.archive.show.verification import check_data
from towpath.archive.status.status import look_at_archive
from towpath.archive.upkeep.compacting import archive_lease
from towpath.archive.upkeep.compaction_rounds import CompactionProgress
from towpath.archive.upkeep.last_compaction import recording_compaction
from towpath.archive.upkeep.recovering import (
    Recovery,
    Stray,
    StrayFate,
    plan_recovery,
    planned,
    recover,
)
from towpath.archive.upkeep.tidying import tidy
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset

pytestmark = pytest.mark.slow

NEVER = EAGER.model_copy(update={"min_level": 7, "max_level": 7})
"""A rule that merges nothing, so a compaction only deletes."""


@pytest.fixture
def archive(tmp_path: Path) -> MixedArchive:
    made = MixedArchive(tmp_path)
    made.config()
    return made


def set_back(archive: MixedArchive, version: int) -> None:
    """Take the entries behind a version from the store, and what else told of them."""
    newest = archive.log.state.version
    keys = (entry_key(REGION, each) for each in range(version + 1, newest + 1))
    archive.store.delete(keys)
    archive.store.delete(checkpoint_key(REGION, each) for each in range(version + 1, newest + 1))


def recovered(archive: MixedArchive, *, lost: bool = False) -> Recovery:
    return recover(archive.config(), threading.Event(), lambda *_: None, lost=lost)


def verdicts(made: Recovery) -> list[tuple[int, int, str]]:
    return [(each.segment.start, each.segment.end, str(each.verdict)) for each in made.segments]


def checked(archive: MixedArchive, *, deep: bool = True) -> CheckedArchive:
    def read(slices: Any, done: Callable[[int, int], None]) -> Any:
        del done
        for each in slices:
            for rows in check_rows(each):
                yield from map(CheckedObject.from_json, rows["checked"].to_pylist())

    scope = VerifyScope(deep=deep)
    return verify(archive.config(), scope, read if deep else None, lambda *_: None,
                  threading.Event())  # fmt: skip


def key_of(segment: Segment) -> str:
    assert segment.place is not None
    return segment.place.key


def gap_of(segment: Segment, start: int, end: int, kind: GapKind) -> Segment:
    """Return a segment of gaps alone in the partition of another one."""
    return replace(
        segment, start=SourceOffset(start), end=SourceOffset(end), raw_bytes=0, first=None,
        last=None, min_time=None, max_time=None, digest=Digest(), place=None,
        gaps=GapCounts(**{kind.value: end - start}),
    )  # fmt: skip


def test_what_the_newest_entries_named_is_taken_in_again(archive: MixedArchive) -> None:
    records = old_records(60)
    made = [archive.own(records, at, at + 20) for at in (0, 20, 40)]
    archive.shared([(records, 0, 30, 1), (records, 0, 10, 2)])
    before = {each: held_records(archive.store, archive.log.state, each)
              for each in archive.log.state.partitions}  # fmt: skip
    set_back(archive, 1)
    assert len(archive.log.state.table()) == 1
    found = checked(archive)
    assert found.problems == []
    assert found.orphans is not None
    assert found.orphans[0] == len(found.stranded) == len(found.unnamed) == 3
    assert key_of(made[1]) in check_data("mixed", found, 1.0)["stranded"]
    plan = plan_recovery(archive.config(), lost=False)
    assert (plan.done, plan.complete, plan.version) == (False, True, 1)
    assert len(archive.log.state.table()) == 1
    done = recovered(archive)
    assert (done.done, done.version) == (True, 2)
    assert verdicts(done) == verdicts(plan)
    assert {each.verdict for each in done.segments} == {StrayFate.TAKEN}
    after = archive.log.state
    assert {each: held_records(archive.store, after, each) for each in after.partitions} == before
    again = checked(archive)
    assert (again.problems, again.orphans, again.unsummed) == ([], (0, 0), 0)
    told = list(history(archive.config(), 0, 10).events)
    assert [each.what for each in told] == ["archive.recovered"]
    assert (told[0].facts["records"], told[0].facts["objects"]) == (80, 3)
    assert recovered(archive).segments == ()
    archive.own(old_records(10, 60), 60, 70)  # the archive goes on behind it


def test_nothing_is_swept_while_its_entry_may_be_lost(archive: MixedArchive) -> None:
    records = old_records(60)
    made = [archive.own(records, at, at + 20) for at in (0, 20, 40)]
    set_back(archive, 1)
    # The run goes on, and the source has deleted what was archived.
    archive.log.append(Draft(writer=WRITER, add=(gap_of(made[1], 20, 60, GapKind.RETENTION),)))
    done = compacted(archive.config(), NEVER)
    assert (done.orphans, done.unsettled) == (0, 0)
    assert {*done.stranded} == {key_of(made[1]), key_of(made[2])}
    assert {key_of(each) for each in made} <= {each.key for each in archive.store.list()}
    told = recovered(archive)
    assert verdicts(told) == [(20, 40, "refused"), (40, 60, "refused")]
    assert not told.complete
    assert "offsets 20 to 39 are archived already, in part as gaps" in told.segments[0].why


def test_what_was_archived_again_is_spare_and_swept(archive: MixedArchive) -> None:
    records = old_records(60)
    archive.own(records, 0, 20)
    lost = archive.own(records, 20, 40)
    set_back(archive, 1)
    archive.own(records, 20, 60)
    assert [each.verdict for each in plan_recovery(archive.config(), lost=False).segments] == [
        StrayFate.SPARE
    ]
    assert checked(archive).stranded == ()
    done = compacted(archive.config(), NEVER)
    assert (done.orphans, done.stranded) == (1, ())
    assert key_of(lost) not in {each.key for each in archive.store.list()}


def test_an_object_that_others_would_be_needed_for_is_not_swept(archive: MixedArchive) -> None:
    """A bucket lost an object, and a slower writer had left another one with its records."""
    records = old_records(40)
    lost = archive.own(records, 0, 20)
    other = archive.own(records, 0, 40, commit=False)
    archive.own(records, 20, 40)
    archive.store.delete([key_of(lost)])
    done = compacted(archive.config(), NEVER)
    assert (done.orphans, done.stranded) == (0, (key_of(other),))


def test_the_result_of_a_compaction_that_was_forgotten_is_kept_and_taken_in(
    archive: MixedArchive,
) -> None:
    records = old_records(60)
    archive.own(records, 0, 10, 1)
    for at in (0, 20, 40):
        archive.own(records, at, at + 20)
    whole = held_records(archive.store, archive.log.state, partition())
    compacted(archive.config())  # which sweeps what it merged
    set_back(archive, 1)
    kept = compacted(archive.config(), NEVER)
    assert (kept.orphans, len(kept.stranded)) == (0, 1)
    done = recovered(archive)
    assert verdicts(done) == [(0, 60, "taken")]
    assert held_records(archive.store, archive.log.state, partition()) == whole
    assert checked(archive).problems == []


def test_a_hole_is_refused_or_becomes_a_gap_that_is_told(archive: MixedArchive) -> None:
    records = old_records(60)
    archive.own(records, 0, 20)
    archive.store.delete([key_of(archive.own(records, 20, 30))])
    archive.own(records, 30, 60)
    set_back(archive, 1)
    refused = recovered(archive)
    assert verdicts(refused) == [(30, 60, "refused")]
    assert "offsets 20 to 29 before it are in no object" in refused.segments[0].why
    done = recovered(archive, lost=True)
    assert verdicts(done) == [(30, 60, "taken")]
    assert [each.gaps.lost for each in archive.log.state.segments(partition())] == [0, 10, 0]
    (event,) = history(archive.config(), 0, 10).events
    assert event.facts["lost"] == 10


def test_of_objects_that_overlap_one_is_taken(archive: MixedArchive) -> None:
    records = old_records(60)
    archive.own(records, 0, 20)
    for start, end in ((20, 40), (20, 50), (30, 60), (50, 60)):
        archive.own(records, start, end, commit=False)
    done = recovered(archive)
    assert verdicts(done) == [
        (20, 50, "taken"), (20, 40, "spare"), (30, 60, "refused"), (50, 60, "taken"),
    ]  # fmt: skip
    assert "another object that is taken in holds its offsets up to 49" in done.segments[2].why
    assert len(held_records(archive.store, archive.log.state, partition())) == 60
    assert recovered(archive).of(StrayFate.REFUSED) == ()


def test_what_is_damaged_is_not_taken_in(archive: MixedArchive, rng: random.Random) -> None:
    records = old_records(60)
    archive.own(records, 0, 20)
    bad, behind = archive.own(records, 20, 40), archive.own(records, 40, 60)
    set_back(archive, 1)
    data = bytearray(archive.store.get(key_of(bad)))
    data[len(data) // 4] ^= 1 << rng.randrange(8)
    archive.store.put(key_of(bad), bytes(data))
    done = recovered(archive)
    assert [*done.unreadable] == [key_of(bad)]
    assert verdicts(done) == [(40, 60, "refused")]
    assert done.segments[0].key == key_of(behind)
    assert archive.log.state.version == 1


def test_what_was_pruned_stays_gone(archive: MixedArchive) -> None:
    records = old_records(60)
    first = archive.own(records, 0, 20)
    archive.own(records, 20, 60)
    stray = archive.own(records, 0, 15, commit=False)
    compactor = replace(WRITER, work="compact")
    archive.log.append(Draft(writer=compactor, kind=EntryKind.PRUNE, remove=(first.id,)))
    assert verdicts(plan_recovery(archive.config(), lost=False)) == [(0, 15, "spare")]
    done = compacted(archive.config(), NEVER)
    assert (done.orphans, done.stranded) == (1, ())
    assert key_of(stray) not in {each.key for each in archive.store.list()}


def test_another_cluster_and_unknown_histories_are_refused(archive: MixedArchive) -> None:
    records = old_records(40)
    archive.own(records, 0, 20)
    state = archive.log.state
    foreign = partition()._replace(cluster=ClusterId("other"))
    later = partition().of_history(1)
    segment = state.segments(partition())[0]
    strays = [
        Stray("a", replace(segment, cluster=foreign.cluster)),
        Stray("b", replace(segment, topic_id=later.topic_id)),
    ]
    found = list(planned(state, strays, lambda _: False, lost=False))
    assert {each.verdict for each in found} == {StrayFate.REFUSED}
    assert {each.why.split(" ")[0] for each in found} == {"it", "history"}


def test_a_run_goes_first(archive: MixedArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.own(old_records(20), 0, 20)
    stop = threading.Event()
    monkeypatch.setattr("towpath.archive.log.lease._BEAT", 0.2)
    with HeldArchive(archive.store, "mixed", REGION, "run", "run"), pytest.raises(ArchiveHeldError):
        recover(archive.config(), stop, lambda *_: None, lost=False)


def test_the_command_shows_first_and_status_names_what_is_stranded(
    archive: MixedArchive, here: Here
) -> None:
    records = old_records(60)
    archive.own(records, 0, 20)
    lost = archive.own(records, 20, 60)
    set_back(archive, 1)
    config, stop, progress = archive.config(), threading.Event(), CompactionProgress()
    with archive_lease(config, archive.store, "compact", stop) as lease, \
            recording_compaction(archive.store, REGION, "compact", progress, stop):  # fmt: skip
        tidy(config, archive.log, lease, progress)
    last = status_data(look_at_archive(config, ask_source=False))["compaction"]["last"]
    assert last is not None
    assert (last["strays"], last["stranded"]) == (1, [key_of(lost)])
    words = ("archive", "recover", str(archive.file))
    shown = here(*words, "--output", "json")
    assert shown.code == 0
    assert (shown.json["recovered"], shown.json["taken"], shown.json["records"]) == (False, 1, 40)
    done = here(*words, "--yes")
    assert done.code == 0, done.err
    assert "1 segment with 40 records are taken in" in " ".join(done.out.split())
    assert "every object of the archive is in an entry" in here(*words).out


def test_what_a_dead_compaction_left_goes_though_the_source_had_cleaned(
    archive: MixedArchive, rng: random.Random
) -> None:
    """Its ranges are those of no segment any more, and all of them have gaps of each kind."""
    archive.fill(rng, partitions=2, segments=16)
    small = EAGER.model_copy(update={"max_count": 4})

    def dying(slices: Any, told: Any) -> Any:
        merging(slices, told)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compacted(archive.config(), small, run=dying)
    done = compacted(archive.config())
    assert done.orphans > 0
    assert done.stranded == ()


def kill_rounds(folder: Path, rng: random.Random, rounds: int) -> None:
    whole = MixedArchive(folder / "whole")
    whole.folder.mkdir()
    whole.config()
    records = old_records(60)
    for number in (0, 1, 2):
        for at in range(0, 60, 10):
            whole.own(records, at, at + 10, number)
    set_back(whole, 3)
    copy = MixedArchive(folder / "counted")
    shutil.copytree(whole.folder / "store", copy.folder / "store")
    copy.config()
    steps = int(victim(RECOVERY, copy.file, 0).stdout)
    for round_ in range(rounds):
        archive = MixedArchive(folder / f"killed-{round_}")
        shutil.copytree(whole.folder / "store", archive.folder / "store")
        archive.config()
        step = rng.randint(1, steps)
        assert victim(RECOVERY, archive.file, step).returncode == -signal.SIGKILL, step
        recovered(archive)
        for number in (0, 1, 2):
            found = held_records(archive.store, archive.log.state, partition(number))
            assert len(found) == 60, step
        last = checked(archive)
        assert (last.problems, last.orphans) == ([], (0, 0)), step
        shutil.rmtree(archive.folder)


def test_a_recovery_that_is_killed_takes_nothing_in_twice(
    tmp_path: Path, rng: random.Random
) -> None:
    kill_rounds(tmp_path, rng, 2)


@pytest.mark.soak
def test_20_recoveries_that_are_killed(tmp_path: Path, rng: random.Random) -> None:
    kill_rounds(tmp_path, rng, soak_rounds() or 20)
