"""Egress whose store or source is slow, full, forbidden, frozen or gone: named, and survived.

In each scene records come in all the time. The run names what is wrong, goes on by itself when it
is over, and the archive holds each record once.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from tests.support.archive.egress_scene import Scene
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.small_disks import SmallDisk, mounted
from tests.support.here import Here
from tests.support.kafka import consume, end_offsets, wait_until
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.objects.buckets import Buckets
from tests.support.objects.stores import REMOTE, StoreLine, section
from tests.support.program import Program

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(2400),
]
NewName = Callable[[str], str]
HASTY = {"timeout": "3s", "request_timeout": "1s"}
MIB = 1 << 20
EACH_SECOND = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 4}
"""A compaction that goes on all the time, beside the trouble."""


@pytest.fixture
def new_scene(
    source: SharedCluster, tmp_path: Path, new_name: NewName, rng: random.Random
) -> Callable[..., Scene]:
    """Return what makes a scene, with sections of the file."""

    def make(cluster: SharedCluster = source, **more: Any) -> Scene:
        sections = {"compaction": [EACH_SECOND], "grace": "2s", **more}
        return Scene(tmp_path, cluster, new_name("trouble"), rng, **sections)

    return make


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted(tmp_path / "disk", 64 * MIB) as made:
        yield made


def in_trouble(scene: Scene, code: str) -> None:
    """Wait until the run and its metrics tell of a code."""
    scene.wait_for(code)
    wait_until(lambda: scene.metric("towpath_archive_trouble") == 1, "metrics tell", 60)


def lasts(scene: Scene) -> None:
    """Let a trouble last; it is not told to be over meanwhile."""
    assert scene.run is not None
    before = scene.run.said.count("run.trouble_over")
    scene.last()
    assert scene.run.said.count("run.trouble_over") == before, scene.run.said[-6000:]


def over(scene: Scene) -> None:
    """The trouble is told to be over once, and not before it is."""
    wait_until(lambda: scene.metric("towpath_archive_trouble") == 0, "metrics tell", 120)
    assert scene.run is not None
    told = re.findall(r"event=run\.trouble(_over)? ", scene.run.said)
    # A busy machine may answer later than a hasty run waits: a trouble with an end of its own.
    assert "_over" in told, scene.run.said[-6000:]
    assert ("_over", "_over") not in set(pairwise(["_over", *told])), scene.run.said[-6000:]
    before = scene.metric("compaction_segments_written_total") or 0
    wait_until(
        lambda: (scene.metric("compaction_segments_written_total") or 0) > before,
        "compaction goes on",
        120,
    )


def status(scene: Scene, here: Here) -> Any:
    return here("archive", "status", str(scene.archive.file), "--output", "json")


# The store


@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_a_store_that_is_gone_for_a_while(
    own_buckets: Buckets, tmp_path: Path, new_scene: Callable[..., Scene], here: Here, how: str
) -> None:
    scene = new_scene(store=section(own_buckets.new(), tmp_path, **HASTY))
    with scene.running():
        scene.reach()
        gone = time.monotonic()
        if how == "stopped":
            own_buckets.stop()
        else:
            os.kill(own_buckets.pid, signal.SIGSTOP)
        in_trouble(scene, "STORE_AWAY")
        found = status(scene, here)
        assert (found.code, "STORE_AWAY" in found.said) == (4, True), found.said
        lasts(scene)
        exposed = scene.metric("towpath_archive_rpo_seconds", topic=scene.topic, partition="0")
        assert exposed is not None
        assert exposed > (time.monotonic() - gone) / 2
        if how == "stopped":
            own_buckets.start()
        else:
            os.kill(own_buckets.pid, signal.SIGCONT)
        scene.reach()
        over(scene)
    scene.compare(here)


@pytest.mark.parametrize("kind", ["s3", "file"])
def test_a_store_that_is_gone_under_egress_compaction_and_a_restore_that_follows(
    kind: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    target: SharedCluster,
    new_scene: Callable[..., Scene],
    here: Here,
) -> None:
    """Ten minutes in a soak of an hour: both go on by themselves, and each record is there once."""
    buckets: Buckets | None = None
    folder, away = tmp_path / "store", tmp_path / "away"
    store: dict[str, Any] = {"url": folder.as_uri(), **HASTY}
    if kind == "s3":
        buckets = request.getfixturevalue("own_buckets")
        store = section(buckets.new(), tmp_path, **HASTY)
    scene = new_scene(store=store)
    scene.archive.write(
        target={"bootstrap": target.bootstrap},
        restore={"receipts": "100ms", "retention": "unlimited", "follow": {"look": "300ms"}},
    )
    told = json.loads(scene.archive.file.read_text())
    del told["metrics"]  # the run has the port
    (tmp_path / "follows.yaml").write_text(json.dumps(told))
    words = ("restore", "run", str(tmp_path / "follows.yaml"), "--follow")
    with scene.running():
        scene.reach()
        with closing(Program(tmp_path, *words, name="follows")) as follower:
            restored(target, scene, follower)
            if buckets is not None:
                buckets.stop()
            else:
                folder.rename(away)
            in_trouble(scene, "STORE_AWAY")
            lasts(scene)
            assert follower.running, follower.said
            assert "no usable answer in time" in follower.said, follower.said[-6000:]
            if buckets is not None:
                buckets.start()
            else:
                assert not folder.exists(), "another archive was begun in the place of this one"
                away.rename(folder)
            scene.reach()
            over(scene)
            restored(target, scene, follower)
            assert follower.stop() in (0, 3), follower.said
    count = scene.compare(here)
    back = here.on_spark("restore", "run", str(scene.archive.file))
    assert back.code == 0, back.said
    there = [consume(target.bootstrap, scene.topic, (n,)) for n in scene.partitions]
    assert there == [scene.archive.records(scene.topic, n) for n in scene.partitions]
    assert sum(map(len, there)) == count


def restored(target: SharedCluster, scene: Scene, follower: Program) -> None:
    """Wait until the target has what is archived now."""
    ends = {n: scene.archived_to(n) for n in scene.partitions}

    def is_there() -> bool:
        assert follower.running, follower.said
        found: list[bool] = []
        with suppress(KafkaException):
            found = [end_offsets(target.bootstrap, scene.topic, n)[1] >= ends[n] for n in ends]
        return bool(found) and all(found)

    try:
        wait_until(is_there, f"{scene.topic} is restored up to {ends}", 300)
    except AssertionError as error:
        raise AssertionError(f"{error}: {follower.said[-6000:]}") from None


def test_a_run_whose_store_is_gone_ends_when_it_is_asked_to(
    own_buckets: Buckets, tmp_path: Path, new_scene: Callable[..., Scene], here: Here
) -> None:
    """Also with the patience of a file that says nothing about it."""
    scene = new_scene(store=section(own_buckets.new(), tmp_path))
    with scene.running() as run:
        scene.reach()
        own_buckets.stop()
        in_trouble(scene, "STORE_AWAY")
        begun = time.monotonic()
        assert run.stop() == 3, run.said[-6000:]
        assert time.monotonic() - begun < 60
        own_buckets.start()
        scene.run = scene.archive.start()
        scene.reach()
    scene.compare(here)


def test_a_store_that_forbids_everything_for_a_while(
    own_buckets: Buckets, tmp_path: Path, new_scene: Callable[..., Scene], here: Here
) -> None:
    config = own_buckets.new()
    scene = new_scene(store=section(own_buckets.for_writer(config), tmp_path, **HASTY))
    with scene.running():
        scene.reach()
        own_buckets.revoke(config)
        in_trouble(scene, "STORE_REFUSED")
        found = status(scene, here)
        assert (found.code, "STORE_REFUSED" in found.said) == (4, True), found.said
        lasts(scene)
        own_buckets.for_writer(config)
        scene.reach()
        over(scene)
    scene.compare(here)


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_a_store_that_is_full_for_a_while(
    kind: str,
    buckets_program: Path,
    disk: SmallDisk,
    tmp_path: Path,
    new_scene: Callable[..., Scene],
    here: Here,
) -> None:
    buckets = Buckets(buckets_program, disk.folder) if kind == "s3" else None
    try:
        store = {"url": (disk.folder / "store").as_uri(), **HASTY}
        scene = new_scene(store=section(buckets.new(), tmp_path, **HASTY) if buckets else store)
        with scene.running():
            scene.reach()
            disk.fill()
            in_trouble(scene, "STORE_FULL")
            found = status(scene, here)
            assert found.code in (0, 3), found.said
            lasts(scene)
            disk.free()
            scene.reach()
            over(scene)
        scene.compare(here)
    finally:
        if buckets is not None:
            buckets.stop()


@pytest.fixture(params=REMOTE)
def behind(request: pytest.FixtureRequest, line: Toxiproxy) -> StoreLine:
    """Return the line to stores of a kind."""
    return StoreLine(request, request.param, line)


def test_a_store_behind_a_slow_line(
    behind: StoreLine, tmp_path: Path, new_scene: Callable[..., Scene], here: Here
) -> None:
    """Objects of some MB go over a line of 64 KB/s; no request fails because it takes long."""
    slow = section(behind.new(), tmp_path)
    scene = new_scene(store=slow, segments={"max_messages": 5000, "max_age": "5s"})
    with scene.running() as run:
        scene.reach()
        for stream in ("upstream", "downstream"):
            behind.spoil("bandwidth", stream, rate=64)
            behind.spoil("latency", stream, latency=200)
        lasts(scene)
        scene.reach(400)
        assert "STORE_" not in run.said, run.said[-6000:]
        behind.heal()
    scene.compare(here)


@pytest.mark.parametrize("how", ["cut", "late"])
def test_a_store_whose_line_is_cut_or_answers_late(
    behind: StoreLine, tmp_path: Path, new_scene: Callable[..., Scene], here: Here, how: str
) -> None:
    """What is answered late is done, and whoever asked does not know it."""
    config = behind.new()
    scene = new_scene(store=section(config, tmp_path, **HASTY))
    with scene.running():
        scene.reach()
        if how == "cut":
            behind.cut()
        else:
            behind.spoil("latency", latency=20_000)
        in_trouble(scene, "STORE_AWAY")
        lasts(scene)
        behind.heal()
        scene.reach()
        over(scene)
    # What stands before a store may answer slowly while this process compares.
    scene.archive.write(store=section(behind.past(config), tmp_path))
    scene.compare(here)


# The source


def test_a_source_that_is_frozen_and_thawed(
    source: SharedCluster, new_scene: Callable[..., Scene], here: Here
) -> None:
    scene = new_scene()
    with scene.running():
        scene.reach()
        source.pause(1)
        try:
            in_trouble(scene, "CLUSTER")
            lasts(scene)
        finally:
            source.resume(1)
        scene.reach()
        over(scene)
    scene.compare(here)


def test_a_source_that_is_cut_off(
    source: SharedCluster, line: Toxiproxy, new_scene: Callable[..., Scene], here: Here
) -> None:
    line.stand_before(source)
    scene = new_scene(source.through("PROXIED"))
    with scene.running():
        scene.reach()
        line.cut(source)
        in_trouble(scene, "CLUSTER")
        lasts(scene)
        line.heal(source)
        scene.reach()
        over(scene)
    scene.compare(here)


def test_partitions_whose_leader_is_away_hold_up_no_others(
    three: SharedCluster, new_scene: Callable[..., Scene], here: Here
) -> None:
    scene = new_scene(three, partitions=3, replication=1)
    with scene.running():
        scene.reach()
        three.kill9(2)
        try:
            scene.wait_for("archive.left_out")
            # What was read of a partition before its leader went may be committed behind that.
            wait_until(lambda: moved(scene) == [False, True, True], "two of three go on", 180)
        finally:
            three.restart(2)
        scene.reach()
    scene.compare(here)


def moved(scene: Scene) -> list[bool]:
    """Return which partitions are archived further in a while, in order of the answers."""
    before = [scene.archived_to(n) for n in scene.partitions]
    scene.last()
    after = [scene.archived_to(n) for n in scene.partitions]
    return sorted(one < other for one, other in zip(before, after, strict=True))
