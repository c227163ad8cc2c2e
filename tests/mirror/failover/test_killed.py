"""A failover that is killed anywhere goes on where it stopped, and comes to the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.archive.victims import victim
from tests.support.here import Here
from tests.support.kafka import Record, commit, consume, create_topic, end_offsets, produce
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.soak]
VICTIM = "tests.support.failover_victim"
STEPS = 20
"""How often a failover of this link writes, before and behind each time."""


@pytest.fixture
def link(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    here: Here,
) -> Callable[[], Mirror]:
    def made() -> Mirror:
        sections = "groups: {}\n"
        mirror = Mirror(tmp_path, source, target, new_name("killed"), sections=sections)
        for cluster in (source, target):
            create_topic(cluster.bootstrap, mirror.topic, 2)
        records = [Record(b"k", b"%d" % i, partition=i % 2) for i in range(200)]
        produce(source.bootstrap, mirror.topic, records)
        for partition in (0, 1):
            commit(source.bootstrap, f"{mirror.topic}-group", mirror.topic, partition, 60)
        mirror.catch_up()
        assert here("groups", "sync", str(mirror.folder / f"{mirror.config.link}.yaml")).code == 0
        return mirror

    return made


@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_failover_killed_at_any_step_comes_to_the_same(
    link: Callable[[], Mirror], here: Here, step: int
) -> None:
    mirror = link()
    file = mirror.folder / f"{mirror.config.link}.yaml"
    killed = victim(VICTIM, file, step)
    assert killed.returncode == -9, f"{killed.stdout}{killed.stderr}"
    ended = here("failover", str(file), "--yes")
    assert ended.code == 0, ended.said
    _holds(mirror, here)


def test_there_are_so_many_steps(link: Callable[[], Mirror], here: Here) -> None:
    mirror = link()
    told = victim(VICTIM, mirror.folder / f"{mirror.config.link}.yaml", 0)
    assert told.returncode == 0, told.stderr
    assert int(told.stdout.split()[-1]) == pytest.approx(STEPS, abs=6)  # the lease gives signs
    _holds(mirror, here)


def _holds(mirror: Mirror, here: Here) -> None:
    """Each partition is cut before its first fence, and groups stand where they stood."""
    target = mirror.target.bootstrap
    books = mirror.link_books()
    state = books.state_of()
    assert state is not None
    assert (state.state, state.attempt) == ("failed_over", 1)
    for tp, each in books.partitions.items():
        assert each.cut is not None
        assert (each.cut.source_end, each.cut.target_end) == (100, 100)
        raw = consume(target, mirror.topic, (tp.partition,), isolation="read_uncommitted")
        assert len(raw) == 100
        end = end_offsets(target, mirror.topic, tp.partition)[1]
        assert 101 <= end <= 103, "a marker that was not known to be there may be there twice"
    seen = here("groups", "status", f"{mirror.folder / mirror.config.link}.yaml", "-o", "json")
    [group] = [each for each in seen.json["groups"] if each["group"] == f"{mirror.topic}-group"]
    assert [each["target"] for each in group["positions"]] == [60, 60]


def test_a_failover_that_only_sealed_the_link_is_taken_back(
    link: Callable[[], Mirror], here: Here
) -> None:
    mirror = link()
    file = mirror.folder / f"{mirror.config.link}.yaml"
    assert victim(VICTIM, file, 6).returncode == -9, "behind the seal, before anything else"
    assert here("groups", "sync", str(file)).code == 4
    undone = here("failover", str(file), "--undo", "-o", "json")
    assert undone.code == 0, undone.said
    assert [each["state"] for each in undone.json["state"]] == ["running"]
    assert here("groups", "sync", str(file)).code == 0
    assert here("failover", str(file), "--undo").code == 4, "there is nothing more to take back"
    assert here("failover", str(file), "--yes").code == 0
    state = mirror.link_books().state_of()
    assert state is not None
    assert (state.state, state.attempt) == ("failed_over", 2)
