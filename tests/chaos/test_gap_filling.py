"""A mirror takes from an archive what its source deleted before it was copied, each record once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.archive.backed import Backed
from tests.support.clients.records import transactions
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import Copiers, copy_without_receipts, drain, endless, same_records
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    consume,
    delete_before,
    end_offsets,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from towpath.model.nouns import Mode, SourceOffset
from towpath.model.reasons import ReasonCode

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]


@pytest.fixture
def mirror(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: NewName
) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("filled"))
    made.create()
    return made


def write(mirror: Mirror, first: int, end: int, batch: int = 7) -> None:
    records = [Record(b"k", b"%d" % n, (("n", b"%d" % n),)) for n in range(first, end)]
    produce(mirror.source.bootstrap, mirror.topic, records, {"batch.num.messages": batch})


def seen(mirror: Mirror) -> list[Record]:
    return consume(mirror.source.bootstrap, mirror.topic)


def mirrored(mirror: Mirror) -> list[Record]:
    return consume(mirror.target.bootstrap, mirror.topic)


def forget(mirror: Mirror, end: int) -> None:
    delete_before(mirror.source.bootstrap, mirror.topic, end)


def archived(mirror: Mirror) -> int:
    receipt = mirror.books().receipt
    return dict(receipt.tally).get("archived", 0) if receipt is not None else 0


@pytest.mark.spark
def test_what_the_source_deleted_comes_from_its_archive(
    mirror: Mirror, source: SharedCluster, here: Here, rng: random.Random
) -> None:
    write(mirror, 0, 20)
    mirror.catch_up()
    transactions(mirror, rng, 12)
    write(mirror, 20, 60)
    whole = seen(mirror)
    (folder := mirror.folder / "archive").mkdir()
    archive = Archive(folder, source, mirror.topic)
    ended = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert ended.code == 0, ended.said
    lost = end_offsets(source.bootstrap, mirror.topic)[1] - 5
    forget(mirror, lost)
    write(mirror, 60, 70)
    store = f"{{url: 'file:archive/{mirror.topic}'}}"
    mirror.records = {
        "on_gap": "archive",
        "archive": f"{{store: {store}, region: here, wait: 1s}}",
    }
    assert mirror.config.records.archive is not None  # the file of the link is written
    link = mirror.folder / f"{mirror.topic}.yaml"
    planned = here("plan", str(link))
    assert "is taken from the archive of region here" in planned.out
    ended = here.run(str(link), "--until-caught-up")
    assert ended.code == 0, ended.said
    expected = [*whole, *(each for each in seen(mirror) if each.offset > whole[-1].offset)]
    same_records(expected, mirrored(mirror), mirror.topic)
    status = here("status", str(link), "--output", "json")
    [row] = status.json["partitions"]
    between = [each for each in whole if 20 <= each.offset < lost]
    assert (row["mode"], row["gaps"], row["error"]) == ("identical", [], "")
    assert dict(row["tally"]) == {"archived": len(between)}
    assert f"{len(between)} records came from the archive" in here("status", str(link)).out


@pytest.mark.soak
@pytest.mark.parametrize("offsets", ["auto", "mapped"])
def test_the_rest_is_a_gap_where_the_archive_ends(mirror: Mirror, offsets: str) -> None:
    mirror.records = {"offsets": offsets}
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 60)
    backed = Backed(mirror, otherwise="record")
    backed.put(20, 40, cuts=[30])
    forget(mirror, 50)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    values = [int(each.value or b"") for each in mirrored(mirror)]
    assert values == [*range(10), *range(20, 40), *range(50, 60)]
    gaps = sorted((gap.first, gap.end, gap.why.codes) for gap in mirror.books().gaps)
    assert gaps == [
        (10, 20, ("NOT_IN_ARCHIVE", "ARCHIVE_BEGINS")),
        (40, 50, ("NOT_IN_ARCHIVE", "ARCHIVE_ENDS")),
    ]
    assert archived(mirror) == 20
    assert mirror.books().offsets().to_target(SourceOffset(25)).offset == 15


@pytest.mark.soak
def test_a_partition_stops_until_the_archive_has_the_rest(mirror: Mirror) -> None:
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 60)
    whole = seen(mirror)
    backed = Backed(mirror)
    backed.put(10, 30)
    later = [each for each in whole if each.offset >= 30]
    forget(mirror, 50)
    [done] = mirror.catch_up()
    assert done.source_end == 30
    assert done.trouble is not None
    assert done.trouble.codes == ("GAP", "NOT_IN_ARCHIVE", "ARCHIVE_ENDS")
    backed.put_records(later, 60)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.IDENTICAL, "")
    same_records(whole, mirrored(mirror), mirror.topic)
    assert not mirror.books().gaps


@pytest.mark.soak
def test_a_hole_that_was_recorded_is_not_filled_later(mirror: Mirror, copiers: Copiers) -> None:
    """Not even where the copier died before it wrote a receipt behind the hole."""
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 40)
    whole = seen(mirror)
    backed = Backed(mirror, otherwise="record")
    forget(mirror, 20)
    backed.put(30, 40, number="another-topic")
    copy_without_receipts(mirror, copiers, 30, receipts=10.0)
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.source_end == 10  # the copier had told of the gap, and of nothing behind it
    backed.put_records([each for each in whole if each.offset >= 10], 40)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.MAPPED, "")
    values = [int(each.value or b"") for each in mirrored(mirror)]
    assert values == [*range(10), *range(20, 40)]


@pytest.mark.soak
def test_copiers_that_are_killed_and_race_take_each_record_once(
    mirror: Mirror, copiers: Copiers, rng: random.Random
) -> None:
    backed = Backed(mirror, wait="20s")
    write(mirror, 0, 5)
    for turn in range(4):
        start = end_offsets(mirror.source.bootstrap, mirror.topic)[1]
        mirror.catch_up()
        transactions(mirror, rng, 20)
        base = 10_000 * (turn + 1)
        write(mirror, base, base + 3_000, batch=50)
        whole = [*mirrored(mirror), *(each for each in seen(mirror) if each.offset >= start)]
        end = end_offsets(mirror.source.bootstrap, mirror.topic)[1]
        first = backed.end
        backed.put(first, end, cuts=range(first + 100, end, 500))
        [work] = mirror.slices()
        forget(mirror, end - 10)
        for _ in range(3):
            for _ in range(2):
                copiers.start(endless(work), drain)
            time.sleep(rng.uniform(0.1, 1.5))
            copiers.kill(rng.choice(copiers.alive))
        frozen = copiers.start(endless(work), drain)
        time.sleep(rng.uniform(0.2, 1.0))
        assert frozen.pid is not None
        os.kill(frozen.pid, signal.SIGSTOP)
        [done] = mirror.catch_up()
        os.kill(frozen.pid, signal.SIGCONT)
        time.sleep(0.5)
        copiers.kill_all()
        assert (done.mode, done.error) == (Mode.IDENTICAL, "")
        same_records(whole, mirrored(mirror), mirror.topic)


@pytest.mark.soak
def test_a_missing_object_is_a_gap_of_its_own(mirror: Mirror) -> None:
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 60)
    backed = Backed(mirror, otherwise="record")
    middle = backed.put(10, 60, cuts=[20, 30])[1]
    hidden = backed.stored.path(middle)
    hidden.unlink()
    forget(mirror, 50)
    [done] = mirror.catch_up()
    assert done.error == ""
    values = [int(each.value or b"") for each in mirrored(mirror)]
    assert values == [*range(20), *range(30, 60)]
    [gap] = mirror.books().gaps
    assert (gap.first, gap.end) == (20, 30)
    assert gap.why.codes == ("NOT_IN_ARCHIVE", "ARCHIVE_MISSING")


@pytest.mark.soak
def test_the_store_comes_back_within_the_wait(mirror: Mirror, copiers: Copiers) -> None:
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 60)
    whole = seen(mirror)
    backed = Backed(mirror, wait="60s")
    backed.put(10, 60)
    folder = mirror.folder / f"{backed.stored.name}-store"
    away = folder.rename(folder.with_suffix(".away"))
    forget(mirror, 50)
    [work] = mirror.slices()
    copiers.start(replace(work, number=0))

    def waits() -> bool:
        receipt = mirror.books().receipt
        return bool(
            receipt and receipt.trouble and ReasonCode.ARCHIVE_LATE in receipt.trouble.codes
        )

    wait_until(waits, "the partition waits for the archive")
    away.rename(folder)
    [copier] = copiers.alive
    copier.join(60)
    same_records(whole, mirrored(mirror), mirror.topic)


@pytest.mark.soak
def test_changes_apply_to_records_of_the_archive(mirror: Mirror) -> None:
    mirror.sections = "changes:\n  - topics: ['.*']\n    headers: [{name: via, value: towpath}]\n"
    write(mirror, 0, 10)
    mirror.catch_up()
    write(mirror, 10, 30)
    backed = Backed(mirror)
    backed.put(10, 30)
    forget(mirror, 25)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (Mode.IDENTICAL, "")
    found = mirrored(mirror)
    assert [each.offset for each in found] == [*range(30)]
    assert all(("via", b"towpath") in each.headers for each in found)
    assert archived(mirror) == 15


@pytest.mark.soak
def test_an_archive_a_mirror_and_a_restore_of_one_cluster(
    mirror: Mirror, source: SharedCluster, here: Here
) -> None:
    """Side by side: none refuses another, and each does its own."""
    write(mirror, 0, 200)
    (folder := mirror.folder / "archive").mkdir()
    archive = Archive(
        folder,
        source,
        mirror.topic,
        target={"bootstrap": mirror.target.bootstrap},
        restore={"topics": {"rename": "restored.{topic}"}},
        segments={"max_age": "1s"},
    )
    run = archive.start()
    try:
        archive.wait_for(run, mirror.topic, 200)
        mirror.catch_up()
        ended = here.on_spark("restore", "run", str(archive.file))
        assert ended.code == 0, ended.said
        write(mirror, 200, 260)
        mirror.catch_up()
        archive.wait_for(run, mirror.topic, 260)
    finally:
        run.stop()
    whole = seen(mirror)
    same_records(whole, mirrored(mirror), mirror.topic)
    there = restored(mirror)
    same_records(whole[: len(there)], there, "restored")
    assert len(there) >= 200


def restored(mirror: Mirror) -> list[Record]:
    return consume(mirror.target.bootstrap, f"restored.{mirror.topic}")
