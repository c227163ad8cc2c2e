"""Archives of topics that a restore writes to: its records are not archived again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce
from tests.support.stored import StoredArchive, old_records
from towpath.config import StoreConfig
from towpath.dev.broker import LocalCluster
from towpath.segments.log import CommitLog
from towpath.segments.model import GapCounts
from towpath.store import Store

pytestmark = [pytest.mark.broker, pytest.mark.spark]
NewName = Callable[[str], str]


def archive_file(folder: Path, name: str, cluster: LocalCluster, **more: object) -> Path:
    path = folder / f"{name}.back.yaml"
    told = {
        "kind": "archive",
        "archive": f"{name}-back",
        "source": {"bootstrap": cluster.bootstrap},
        "store": {"url": f"file:{folder / name}-back"},
        "region": "us",
        "topics": {"include": [f"{name}.*"]},
        **more,
    }
    path.write_text(json.dumps(told))
    return path


def archived(folder: Path, name: str, topic: str) -> tuple[int, GapCounts, int]:
    """Return the records and gaps that the archive has of a topic, and where it ends."""
    store = Store(StoreConfig.model_validate({"url": (folder / f"{name}-back").as_uri()}))
    state = CommitLog.open(store, "us").state
    [(partition, known)] = [item for item in state.partitions.items() if item[1].topic == topic]
    found = state.segments(partition)
    gaps = GapCounts()
    for each in found:
        gaps = gaps.then(each.gaps)
    return sum(each.records for each in found), gaps, known.archived_to


@pytest.mark.soak
@pytest.mark.parametrize("form", ["parquet", "batches"])
def test_what_a_restore_wrote_is_left_out_and_told(
    tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here, form: str
) -> None:
    name = new_name("circle")
    orders, own = f"{name}.orders", f"{name}.own"
    stored = StoredArchive(tmp_path, name, target.bootstrap)
    stored.describe(orders, {"retention.ms": "-1"})
    stored.put(orders, old_records(20))
    ended = here.on_spark("restore", "run", str(stored.file()))
    assert ended.code == 0, ended.said
    produce(target.bootstrap, orders, [Record(b"k%d" % n, b"of others") for n in range(5)])
    create_topic(target.bootstrap, own)
    produce(target.bootstrap, own, [Record(b"k", b"v")])
    file = archive_file(tmp_path, name, target, format=form)
    asked = here.on_spark("archive", "run", str(file), "--until-caught-up")
    assert asked.code == 2, asked.said
    assert f"restores have written to {orders} (restore restore.{name}, of region eu)" in asked.said
    file = archive_file(tmp_path, name, target, format=form, restored="leave_out")
    ended = here.on_spark("archive", "run", str(file), "--until-caught-up", "--output", "json")
    assert ended.code == 0, ended.said
    assert any("are left out" in each for each in ended.json["notes"]), ended.said
    records, gaps, end = archived(tmp_path, name, orders)
    last = consume(target.bootstrap, orders)[-1]
    assert (records, gaps.filtered, end) == (5, 20, last.offset + 1)
    assert archived(tmp_path, name, own)[0] == 1


@pytest.mark.soak
def test_all_is_archived_where_the_file_keeps_it(
    tmp_path: Path, target: LocalCluster, new_name: NewName, here: Here
) -> None:
    name = new_name("moved")
    orders = f"{name}.orders"
    stored = StoredArchive(tmp_path, name, target.bootstrap)
    stored.put(orders, old_records(20))
    ended = here.on_spark("restore", "run", str(stored.file()))
    assert ended.code == 0, ended.said
    file = archive_file(tmp_path, name, target, restored="keep")
    ended = here.on_spark("archive", "run", str(file), "--until-caught-up")
    assert ended.code == 0, ended.said
    assert archived(tmp_path, name, orders)[0] == 20
