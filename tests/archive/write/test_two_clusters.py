"""A region is the archive of one cluster: another one gets in only if the file names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.archives import archiving, segment
from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import OtherClusterError
from towpath.archive.log import ArchiveState, LogEntry
from towpath.archive.write.source_cluster import require_cluster
from towpath.archive.write.waiting import passes
from towpath.model.nouns import ClusterId

NewName = Callable[[str], str]
ONE, OTHER = ClusterId("cluster-a"), ClusterId("cluster-b")
IMPORTED = ClusterId("kafka-replicator:eu")


def config(cluster: str | None = None) -> ArchiveConfig:
    told = {
        "kind": "archive",
        "archive": "orders",
        "source": {"bootstrap": "kafka:9092"},
        "store": {"url": "file:///archive"},
        "region": "eu",
        "topics": {"include": [".*"]},
        **({"cluster": cluster} if cluster else {}),
    }
    return ArchiveConfig.model_validate(told)


def state(*clusters: ClusterId) -> ArchiveState:
    """Return an archive with a partition of each cluster."""
    drafts = [archiving(segment(0, 10, cluster=each)) for each in clusters]
    entries = [
        (LogEntry(version=at, time=1, writer=each.writer, add=each.add), "")
        for at, each in enumerate(drafts, 1)
    ]
    return ArchiveState().after(entries)


@pytest.mark.parametrize(
    ("archived", "named"),
    [((), None), ((ONE,), None), ((ONE, IMPORTED), None), ((ONE,), ONE), ((OTHER,), ONE)],
)
def test_the_cluster_of_a_region_is_archived(
    archived: tuple[ClusterId, ...], named: str | None
) -> None:
    require_cluster(config(named), state(*archived), ONE)


@pytest.mark.parametrize(
    ("archived", "named", "told"),
    [
        ((OTHER,), None, "the archive of cluster cluster-b, and the source is cluster cluster-a"),
        ((ONE, OTHER), None, "the archive of clusters cluster-a, cluster-b, and the source is"),
        ((ONE,), OTHER, "file says `cluster: cluster-b`, and the source is cluster cluster-a"),
        ((), OTHER, "the file says `cluster: cluster-b`"),
    ],
)
def test_another_cluster_is_refused_unless_the_file_names_it(
    archived: tuple[ClusterId, ...], named: str | None, told: str
) -> None:
    with pytest.raises(OtherClusterError) as caught:
        require_cluster(config(named), state(*archived), ONE)
    assert told in str(caught.value)
    assert not passes(caught.value)  # no run waits for another cluster when it begins


@pytest.mark.broker
@pytest.mark.spark
def test_a_second_cluster_gets_nothing_into_the_region_by_mistake(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: NewName, here: Here
) -> None:
    """Before, its topics took the names of the first one's, also in a restore."""
    name = new_name("two")
    topic = f"{name}.orders"
    for cluster, count in ((source, 5), (target, 3)):
        create_topic(cluster.bootstrap, topic)
        produce(cluster.bootstrap, topic, [Record(b"k", b"%d" % n) for n in range(count)])
    store = {"url": (tmp_path / "both").as_uri()}
    (tmp_path / "second").mkdir()
    first = Archive(tmp_path, source, name, store)
    second = Archive(tmp_path / "second", target, name, store)
    ran = here.on_spark("archive", "run", str(first.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    before = first.state
    [mine] = {each.cluster for each in before.partitions}
    ran = here.on_spark("archive", "run", str(second.file), "--until-caught-up")
    assert ran.code == 4
    assert f"has the archive of cluster {mine}, and the source is cluster " in ran.said
    assert first.state.tip == before.tip
    said = here("archive", "status", str(second.file), "--output", "json")
    assert f"has the archive of cluster {mine}" in said.json["source_trouble"]
    theirs = ran.said.partition("the source is cluster ")[2].partition(";")[0]
    second.write(cluster=theirs)
    ran = here.on_spark("archive", "run", str(second.file), "--until-caught-up")
    assert ran.code == 0, ran.said
    assert second.records(topic) == consume(target.bootstrap, topic)
    ran = here.on_spark("archive", "run", str(first.file), "--until-caught-up")
    assert ran.code == 4, ran.said
