"""Logs of brokers come back at their offsets, from a folder or from a bucket."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.stored import old_records
from tests.support.clients.records import transactions
from tests.support.here import Here
from tests.support.kafka import consume, create_topic, end_offsets
from tests.support.logs.batches import batch
from tests.support.logs.log_files import wait_for_markers
from tests.support.mirror import Mirror
from towpath.archive.config import RestoreConfig
from towpath.archive.log import AsOf, CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.read.foreign.broker_logs import find_logs
from towpath.archive.read.foreign.foreign_state import open_any
from towpath.archive.restore.scope import scope_of
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ConfigError
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.settings import StoreConfig, StoreLayout, check
from towpath.store import Store

NewName = Callable[[str], str]


def file_of(folder: Path, name: str, layout: str, target: str, **more: Any) -> str:
    path = folder / f"{name}.yaml"
    told = {
        "kind": "archive",
        "archive": name,
        "source": {"bootstrap": "127.0.0.1:1"},
        "store": {"url": f"file:{folder / 'files'}", "layout": layout},
        "region": "here",
        "topics": {"include": [".*"]},
        "target": {"bootstrap": target},
        **more,
    }
    path.write_text(json.dumps(told))
    return str(path)


@pytest.mark.broker
@pytest.mark.spark
def test_the_folder_of_a_broker_comes_back_at_its_offsets(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    rng: random.Random,
    here: Here,
) -> None:
    mirror = Mirror(tmp_path, source, target, new_name("files"))
    create_topic(source.bootstrap, mirror.topic)
    transactions(mirror, rng, 30)
    [folder] = source.home.rglob(f"{mirror.topic}-0")
    wait_for_markers(folder, source.bootstrap, mirror.topic)
    files = tmp_path / "files"
    shutil.copytree(folder, files / folder.name)
    shutil.copy(folder.parent / "meta.properties", files)
    name = new_name("broker")
    rules = {"topics": {"include": [mirror.topic]}, "retention": "unlimited"}
    file = file_of(tmp_path, name, "broker-log", target.bootstrap, restore=rules)
    planned = here("restore", "plan", file, "--output", "json")
    assert planned.code == 0, planned.said
    before = sorted(files.rglob("*"))
    ended = here.on_spark("restore", "run", file, "--verify", "--output", "json")
    assert ended.code == 0, ended.said
    assert ended.json["comparison"]["proven"], ended.json["comparison"]
    expected = consume(source.bootstrap, mirror.topic)
    assert consume(target.bootstrap, mirror.topic) == expected
    assert end_offsets(target.bootstrap, mirror.topic) == end_offsets(
        source.bootstrap, mirror.topic
    )
    assert sorted(files.rglob("*")) == before
    status = here("restore", "status", file)
    assert status.code == 0, status.said


def write(path: Path, first: int, count: int) -> int:
    """Write a file of a log; return the timestamp of its last record."""
    records = old_records(count, first)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(batch(records)))
    return records[-1].timestamp


def opened(folder: Path, layout: StoreLayout) -> Store:
    return Store(StoreConfig(url=folder.as_uri(), layout=layout))


def test_a_bucket_of_tiered_storage_has_clusters(tmp_path: Path) -> None:
    times = {}
    for bits, cluster, start in (("011", "one", 5), ("110", "two", 0)):
        folder = tmp_path / bits / cluster / "orders-3"
        write(folder / f"{start:020d}.log", start, 4)
        times[cluster] = write(folder / f"{start + 4:020d}.log", start + 4, 2)
        (folder / "offset.wm").write_text("3")
    with opened(tmp_path, StoreLayout.TIERED_STORAGE) as store:
        with pytest.raises(ConfigError, match="the clusters one, two; name one"):
            find_logs(store, "here")
        archive = open_any(store, "one", AsOf())
        partition = PartitionId(ClusterId("one"), TopicId("name:orders"), 3)
        [known] = archive.partitions().items()
        assert (known[0], known[1].begin, known[1].archived_to) == (partition, 5, 11)
        [segment] = archive.segments(partition)
        assert (segment.records, segment.max_time) == (6, times["one"])
        with pytest.raises(ConfigError, match="keeps no versions"):
            open_any(store, "one", AsOf(version=1))
        with pytest.raises(ConfigError, match="only `towpath restore` reads"):
            CommitLog.open(store, "one")


def test_a_broker_tells_what_was_deleted_and_what_all_replicas_have(tmp_path: Path) -> None:
    write(tmp_path / "orders-0" / f"{0:020d}.log", 0, 4)
    with (tmp_path / "orders-0" / f"{0:020d}.log").open("ab") as out:
        out.write(bytes(batch(old_records(4, 4))))
        out.write(bytes(batch(old_records(4, 8))))
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\norders 0 2\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 8\n")
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\n")
    (tmp_path / "orders-0" / "partition.metadata").write_text("version: 0\ntopic_id: xyz\n")
    with opened(tmp_path, StoreLayout.BROKER_LOG) as store:
        archive = open_any(store, "here", AsOf())
    [(partition, known)] = archive.partitions().items()
    assert partition == PartitionId(ClusterId("abc"), TopicId("xyz"), 0)
    assert (known.topic, known.begin, known.archived_to) == (TopicName("orders"), 2, 8)


def test_what_a_log_lacks_at_its_end_is_told(tmp_path: Path) -> None:
    """An unclean stop leaves half a batch; where all replicas had more, records are lost."""
    for topic in ("orders", "clean", "half"):
        write(tmp_path / f"{topic}-0" / f"{0:020d}.log", 0, 4)
        if topic != "clean":
            with (tmp_path / f"{topic}-0" / f"{0:020d}.log").open("ab") as out:
                out.write(bytes(batch(old_records(4, 4)))[:70])
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\norders 0 8\nhalf 0 4\n")
    with opened(tmp_path, StoreLayout.BROKER_LOG) as store:
        found = scope_of(open_any(store, "here", AsOf()), RestoreConfig())
    assert [*found.topics] == ["clean", "half", "orders"]
    [problem] = found.problems
    assert problem.about == "orders-0"
    assert "the last 70 bytes of orders-0/" in problem.text
    assert "all replicas had it up to offset 8" in problem.text
    [note] = [each for each in found.notes if each.about == "half-0"]
    assert note.text.endswith("are not whole batches, so the log ends at offset 4")
    assert not [each for each in found.notes if each.about == "clean-0"]


@pytest.mark.parametrize(
    "rules",
    [
        {"filter": [{"topics": [".*"], "drop": [{"tombstones": True}]}]},
        {"partitions": [{"topics": [".*"], "count": 3}]},
    ],
)
def test_what_would_have_to_open_batches_is_refused(tmp_path: Path, rules: dict[str, Any]) -> None:
    file = file_of(tmp_path, "one", "broker-log", "a:1", restore=rules)
    problems = [problem.path for problem in check(Path(file))]
    assert problems == [f"restore.{next(iter(rules))}"]
