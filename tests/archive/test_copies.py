"""Copies of an archive: each goes on by itself, and says what it does not have."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.archive.compacting import compacted
from tests.support.archive.mixed import MixedArchive
from tests.support.archive.stored import old_records
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.objects.buckets import Buckets, client
from tests.support.objects.stores import section
from towpath.archive.write.newest_objects import missing_sentence
from towpath.settings import StoreConfig
from towpath.store import Store

NewName = Callable[[str], str]


def test_the_newest_objects_that_are_missing_are_told(tmp_path: Path) -> None:
    archive = MixedArchive(tmp_path)
    assert missing_sentence(archive.log) == ""
    records = old_records(60)
    made = [archive.own(records, at, at + 10) for at in range(0, 50, 10)]
    archive.shared([(records, 0, 30, 1), (records, 0, 40, 2)])
    archive.own([], 50, 60)  # a gap alone, which has no object
    assert missing_sentence(archive.log) == ""
    last = made[-1].place
    assert last is not None
    archive.store.delete([last.key])
    told = missing_sentence(archive.log)
    assert "lacks 1 of the 6 newest objects" in told
    assert last.key in told


def test_what_a_compaction_deletes_meanwhile_is_not_missing(tmp_path: Path) -> None:
    archive = MixedArchive(tmp_path)
    records = old_records(40)
    for at in range(0, 40, 10):
        archive.own(records, at, at + 10)
    log = archive.log
    assert compacted(archive.config()).swept == 4
    assert missing_sentence(log) == ""


Stores = tuple[dict[str, Any], dict[str, Any], Callable[[], object]]


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.soak)])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Return two sections `store`, and what copies the first one to the second one."""
    if request.param == "file":
        one, two = tmp_path / "one", tmp_path / "two"
        return {"url": one.as_uri()}, {"url": two.as_uri()}, lambda: shutil.copytree(one, two)
    buckets: Buckets = request.getfixturevalue("buckets")
    first, second = buckets.new(), buckets.new()
    return (
        section(first, tmp_path),
        section(second, tmp_path),
        lambda: copy_objects(first, second),
    )


def copy_objects(first: StoreConfig, second: StoreConfig) -> None:
    """Copy all objects of a bucket as other tools do: their bytes, and nothing else."""
    theirs, ours = client(first), client(second)
    for each in Store(first).list():
        key = f"{first.prefix}/{each.key}"
        data = theirs.get_object(Bucket=first.bucket, Key=key)["Body"].read()
        ours.put_object(Bucket=second.bucket, Key=f"{second.prefix}/{each.key}", Body=data)


@pytest.mark.broker
@pytest.mark.spark
def test_two_copies_at_work_are_two_archives(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: NewName,
    here: Here,
    stores: Stores,
) -> None:
    """Somebody copies the store, and starts a run on both with the same file but for the store."""
    name = new_name("copied")
    topic = create_topic(source.bootstrap, f"{name}.orders")

    def write(first: int, end: int) -> None:
        some = [Record(b"k%d" % number, b"%d" % number) for number in range(first, end)]
        produce(source.bootstrap, topic, some)

    def archive_now(archive: Archive) -> None:
        ran = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
        assert ran.code == 0, ran.said

    write(0, 20)
    (tmp_path / "copy").mkdir()
    one = Archive(tmp_path, source, name, stores[0])
    archive_now(one)
    stores[2]()
    two = Archive(tmp_path / "copy", source, name, stores[1])
    write(20, 35)
    archive_now(two)
    write(35, 50)
    archive_now(one)
    archive_now(two)
    wanted = consume(source.bootstrap, topic)
    for number, archive in enumerate((one, two)):
        assert archive.records(topic) == wanted
        verified = here.on_spark("archive", "verify", str(archive.file), "--deep")
        assert verified.code == 0, verified.said
        copy = f"{topic}.{number}"
        rules = {"name": copy, "topics": {"rename": copy}}
        archive.write(target={"bootstrap": target.bootstrap}, restore=rules)
        restored = here.on_spark("restore", "run", str(archive.file), "--verify")
        assert restored.code == 0, restored.said
        assert consume(target.bootstrap, copy) == wanted
    assert one.state.tip != two.state.tip

    place = two.segments(topic)[-1].place
    assert place is not None
    two.store.delete([place.key])
    ran = here.on_spark("archive", "run", str(two.file), "--until-caught-up")
    assert ran.code == 3, ran.said
    assert place.key in ran.said
