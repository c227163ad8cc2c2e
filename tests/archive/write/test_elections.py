"""Sources that elect leaders uncleanly, and all that works with an archive across the cut.

The leader that was ahead is killed, and the one that is elected has other records at the same
offsets: fewer at first, or more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.elections import Elections
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    delete_before,
    produce,
    wait_until,
)
from tests.support.mirror import Mirror
from tests.support.program import Program

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(900),
]
NewName = Callable[[str], str]
SEGMENTS = {"max_messages": 30, "max_age": "1s"}
EACH_SECOND = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 2}
"""A compaction that goes on all the time, also over the cut."""
KEPT = {"retention.ms": "-1"}


class Cut:
    """An archive of a topic whose leaders are elected uncleanly."""

    def __init__(self, folder: Path, cluster: SharedCluster, name: str, **more: Any) -> None:
        self.topic = f"{name}.a"
        self.cluster, self.folder = cluster, folder
        self.elections = Elections(cluster, self.topic, KEPT)
        self.archive = Archive(folder, cluster, name, segments=SEGMENTS, **more)
        self.old: list[Record] = []

    def write(self, first: int, end: int, tag: str = "") -> None:
        """Write records in batches of ten."""
        for at in range(first, end, 10):
            numbers = range(at, min(end, at + 10))
            records = [Record(b"k%d" % n, b"%d%s" % (n, tag.encode())) for n in numbers]
            produce(self.cluster.bootstrap, self.topic, records)

    def prepare(self, *, longer: bool) -> int:
        """Let the source have what it will lose; return its end."""
        self.write(0, 100)
        self.elections.lead_alone()
        if not longer:
            self.write(100, 160, "-lost")
            return 160
        self.write(100, 300, "-kept")
        assert self.elections.switch() == 100
        self.write(100, 150, "-lost")
        return 150

    def cut(self, *, longer: bool = False) -> None:
        """Elect the other leader. Its records differ from offset 100 on."""
        self.old = self.archive.present(self.topic)
        assert self.elections.switch() == (300 if longer else 100)

    @property
    def seen(self) -> list[Record]:
        return consume(self.cluster.bootstrap, self.topic)

    def archive_now(self, here: Here) -> None:
        ran = here.on_spark("archive", "run", str(self.archive.file), "--until-caught-up")
        assert ran.code == 0, ran.said

    def assert_followed(self) -> None:
        """Compare what is archived with the source, and with what was archived before."""
        pid = self.archive.partition_id(self.topic)
        assert pid.history == 1
        assert self.archive.state.partitions[pid].fork == 100
        assert self.archive.present(self.topic) == self.seen
        assert self.archive.present(self.topic, history=0) == self.old


@pytest.fixture
def new_cut(
    three: SharedCluster, tmp_path: Path, new_name: NewName
) -> Iterator[Callable[..., Cut]]:
    made: list[Cut] = []

    def make(**more: Any) -> Cut:
        made.append(Cut(tmp_path, three, new_name("elected"), **more))
        return made[-1]

    yield make
    for each in made:
        each.elections.close()


@pytest.mark.parametrize("longer", [False, True])
def test_a_run_goes_on_in_another_history(
    new_cut: Callable[..., Cut], here: Here, longer: bool
) -> None:
    scene = new_cut(compaction=[EACH_SECOND], grace="2s")
    end = scene.prepare(longer=longer)
    run = scene.archive.start()
    try:
        scene.archive.wait_for(run, scene.topic, end)
        scene.cut(longer=longer)
        scene.write(500, 560, "-new")
        archive, topic = scene.archive, scene.topic
        wait_until(lambda: archive.partition_id(topic).history == 1, "a history begins", 120)
        wait_until(lambda: archive.present(topic) == scene.seen, "all is there", 120)
        scene.elections.join()  # the one that was ahead gives up what it had
        scene.write(560, 600, "-new")
        wait_until(lambda: archive.present(topic) == scene.seen, "all is there", 120)
        assert run.stop() in (0, 3), run.said
    finally:
        run.close()
    scene.assert_followed()
    words = ("archive", "verify", str(scene.archive.file), "--deep", "--against", "source")
    verified = here.on_spark(*words, "--output", "json")
    assert verified.code == 0, verified.said
    assert verified.json["problems"] == []


def test_a_restore_that_follows_goes_on_behind_the_old_history(
    new_cut: Callable[..., Cut], target: SharedCluster, here: Here
) -> None:
    scene = new_cut(
        target={"bootstrap": target.bootstrap},
        restore={
            "topics": {"include": [".*"], "replication_factor": "broker_default"},
            "follow": {"look": "200ms", "silence": "5m"},
            "receipts": "100ms",
        },
    )
    end = scene.prepare(longer=False)
    scene.archive_now(here)
    words = ("restore", "run", str(scene.archive.file), "--follow")
    run = Program(scene.folder, *words, name="follow")
    try:
        await_restored(run, target, scene.topic, scene.archive.present(scene.topic))
        scene.cut()
        scene.write(500, 620, "-new")
        scene.archive_now(here)
        scene.assert_followed()
        new = [each for each in scene.seen if each.offset >= 100]
        assert len(scene.old) == end
        await_restored(run, target, scene.topic, [*scene.old, *new])
        scene.write(620, 700, "-new")
        scene.archive_now(here)
        new = [each for each in scene.seen if each.offset >= 100]
        await_restored(run, target, scene.topic, [*scene.old, *new])
        assert run.stop() in (0, 3), run.said
    finally:
        run.close()
    there = consume(target.bootstrap, scene.topic)
    assert [each.offset for each in there] == [*range(len(there))], "it is behind, without a hole"
    told = here("restore", "status", str(scene.archive.file), "--follow", "--output", "json")
    [row] = told.json["partitions"]
    assert (row["mode"], row["state"]) == ("mapped", "restored"), told.said


def await_restored(run: Program, target: SharedCluster, topic: str, wanted: list[Record]) -> None:
    """Wait until a topic has these records, whatever their offsets."""

    def has() -> bool:
        assert run.running, run.said
        try:
            there = consume(target.bootstrap, topic)
        except Exception:  # noqa: BLE001  # the topic is not there yet
            return False
        return [(each.key, each.value) for each in there] == [
            (each.key, each.value) for each in wanted
        ]

    try:
        wait_until(has, f"{topic} has {len(wanted)} records", 120)
    except AssertionError as error:
        raise AssertionError(f"{error}: {run.said[-6000:]}") from None


@pytest.mark.parametrize(("copied", "otherwise"), [(60, "stop"), (160, "stop"), (160, "record")])
def test_gaps_are_filled_with_what_the_source_has_since_the_cut(
    new_cut: Callable[..., Cut], target: SharedCluster, here: Here, copied: int, otherwise: str
) -> None:
    """A mirror that has copied what was lost must not go on as if nothing had happened."""
    scene = new_cut()
    mirror = Mirror(scene.folder, scene.cluster, target, scene.topic)
    create_topic(target.bootstrap, scene.topic, config=KEPT)
    if copied == 60:
        scene.write(0, 60)
        mirror.catch_up()
        scene.write(60, 100)
        scene.elections.lead_alone()
        scene.write(100, 160, "-lost")
    else:
        scene.prepare(longer=False)
        mirror.catch_up()
    scene.archive_now(here)
    scene.cut()
    scene.write(500, 700, "-new")
    scene.archive_now(here)
    scene.assert_followed()
    whole = scene.seen
    delete_before(scene.cluster.bootstrap, scene.topic, 250)
    mirror.records = {
        "on_gap": "archive",
        "archive": f"{{store: {{url: 'file:{scene.archive.name}'}}, region: here, wait: 1s,"
        f" otherwise: {otherwise}}}",
    }
    [done] = mirror.catch_up()
    there = consume(target.bootstrap, scene.topic)
    if copied == 60:
        assert (done.error, there) == ("", whole)
        return
    # What was copied of the lost log stays. The partition stops, as people must decide, or goes on.
    [gap] = mirror.books().gaps
    assert (gap.first, gap.end, gap.why.code) == (100, 160, "SOURCE_CUT")
    if otherwise == "stop":
        assert there == scene.old
        assert done.trouble is not None
        assert "SOURCE_CUT" in done.trouble.codes, done.error
        return
    wanted = [*scene.old, *(each for each in whole if each.offset >= 100)]
    assert [(e.key, e.value) for e in there] == [(e.key, e.value) for e in wanted]


def test_compaction_and_tables_across_a_cut(new_cut: Callable[..., Cut], here: Here) -> None:
    name = "catalog.db"
    scene = new_cut(iceberg={"properties": {"type": "sql", "uri": f"sqlite:///{name}"}})
    uri = f"sqlite:///{scene.folder}/{name}"
    scene.archive.write(iceberg={"properties": {"type": "sql", "uri": uri}})
    scene.prepare(longer=False)
    scene.archive_now(here)
    assert_table(scene, here, uri)
    scene.cut()
    scene.write(500, 700, "-new")
    scene.archive_now(here)
    scene.assert_followed()
    assert_table(scene, here, uri)
    before = len(scene.archive.state.table())
    file = str(scene.archive.file)
    done = here.on_spark("archive", "compact", file, "--now", "--output", "json")
    assert done.code == 0, done.said
    assert len(scene.archive.state.table()) < before
    scene.assert_followed()
    assert_table(scene, here, uri)
    scene.write(700, 760, "-new")
    scene.archive_now(here)
    scene.assert_followed()
    assert_table(scene, here, uri)
    words = ("archive", "verify", file, "--deep", "--against", "source", "--output", "json")
    verified = here.on_spark(*words)
    assert (verified.code, verified.json["problems"]) == (0, []), verified.said


def assert_table(scene: Cut, here: Here, uri: str) -> None:
    """Register, and compare the table with what is archived of the newest history."""
    from pyiceberg.catalog import load_catalog

    ended = here("archive", "register", str(scene.archive.file), "-o", "json")
    assert ended.code == 0, ended.said
    table = load_catalog("towpath", type="sql", uri=uri).load_table(("kafka", scene.topic))
    rows = table.scan().to_arrow().to_pylist()
    found = sorted((row["offset"], row["key"], row["value"]) for row in rows)
    wanted = [(e.offset, e.key, e.value) for e in scene.archive.present(scene.topic)]
    assert found == wanted
