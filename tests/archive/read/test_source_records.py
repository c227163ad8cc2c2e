"""`towpath archive verify --against source`: what the source still has, and what it lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, create_topic, produce
from towpath.archive.log import Draft
from towpath.cluster.admin import Admin
from towpath.model.nouns import Side, SourceOffset, TopicName, TopicPartition
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.broker, pytest.mark.soak]
NewName = Callable[[str], str]


def archived(source: SharedCluster, folder: Path, name: str, here: Here, kind: str) -> Archive:
    topic = create_topic(source.bootstrap, f"{name}.a")
    produce(source.bootstrap, topic, [Record(b"k%d" % n, b"%d" % n) for n in range(50)])
    archive = Archive(folder, source, name, format=kind, segments={"max_messages": 20})
    ran = here.on_spark("archive", "run", str(archive.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    return archive


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["parquet", "batches"])
def test_what_retention_removed_is_gone_and_no_difference(
    source: SharedCluster, tmp_path: Path, new_name: NewName, here: Here, kind: str
) -> None:
    name = new_name("against")
    archive = archived(source, tmp_path, name, here, kind)
    tp = TopicPartition(TopicName(f"{name}.a"), 0)
    with Admin(ClusterConfig(bootstrap=source.addresses), Side.SOURCE) as admin:
        admin.offsets.delete_records({tp: 20}).sure(tp)
    found = verified(here, archive)
    assert found.code == 0, found.said
    (row,) = found.json["partitions"]
    assert (row["records"], row["compared"], row["gone_at_source"]) == (50, 30, 20)
    assert row["uncompared"] == ""


@pytest.mark.spark
def test_records_that_the_archive_says_are_not_there_are_found(
    source: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("against")
    archive = archived(source, tmp_path, name, here, "parquet")
    topic = f"{name}.a"
    produce(source.bootstrap, topic, [Record(b"k", b"more")] * 5)
    known = archive.segments(topic)[-1]
    (gaps,) = (
        replace(
            known,
            start=known.end,
            end=SourceOffset(known.end + 5),
            digest=type(known.digest)(),
            first=None,
            last=None,
            min_time=None,
            max_time=None,
            raw_bytes=0,
            gaps=type(known.gaps)(compacted=5),
            place=None,
        ),
    )
    log = archive.log
    writer = log.state.writers["run"]
    log.append(Draft(writer=replace(writer, epoch=writer.epoch + 1), add=(gaps,)))
    found = verified(here, archive)
    assert found.code == 3, found.said
    ((code, why),) = [(each["code"], each["why"]) for each in found.json["problems"]]
    assert code == "ARCHIVE_DIFFERENT"
    assert why == "the source has a record at offset 50, and the archive none"


@pytest.mark.spark
def test_a_topic_that_was_made_again_is_not_compared(
    source: SharedCluster, tmp_path: Path, new_name: NewName, here: Here
) -> None:
    name = new_name("against")
    archive = archived(source, tmp_path, name, here, "parquet")
    with Admin(ClusterConfig(bootstrap=source.addresses), Side.SOURCE) as admin:
        info = admin.topics.find(TopicName(f"{name}.a"))
        assert info is not None
        admin.topics.delete(info.name, info.id)
    found = verified(here, archive)
    assert found.code == 0, found.said
    (row,) = found.json["partitions"]
    assert (row["compared"], row["uncompared"]) == (0, "the topic is no more at the source")


def verified(here: Here, archive: Archive):  # type: ignore[no-untyped-def]
    words = ("archive", "verify", str(archive.file), "--output", "json", "--against", "source")
    return here.on_spark(*words)
