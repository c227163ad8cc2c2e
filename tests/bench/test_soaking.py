"""What decides whether a soak has succeeded: the slope of memory, the plan of faults, the proof."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bench.soaking import faults
from bench.soaking.kinds import KINDS, Facts, Kind, Row, kind_of, put, topic_names
from bench.soaking.proof import CHUNK, Proof
from bench.soaking.samples import Sample, segments
from bench.soaking.slope import slope
from bench.soaking.wish import seconds

from tests.support.kafka import wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FACTS = Facts(b"cluster-of-the-source", {1: 8, 2: 9})
FRAME = (2).to_bytes(4, "big")
BY_NAME = {kind.name: kind for kind in KINDS}


def line(rise: float, level: float, noise: float, rng: random.Random) -> list[tuple[float, float]]:
    """Return half an hour of samples that rise by so many MiB an hour."""
    return [
        (float(at), level + rise * at / 3600 + rng.gauss(0, noise)) for at in range(0, 1800, 10)
    ]


@pytest.mark.parametrize("rise", [0.0, 12.0, 200.0, -30.0])
def test_the_slope_of_samples_is_found_across_restarts(rise: float) -> None:
    rng = random.Random(4)
    told = slope([line(rise, 300, 2, rng), line(rise, 180, 2, rng), [(0, 1), (1, 999)]])
    assert told is not None
    assert abs(told.per_hour - rise) < 3 * told.error
    assert told.error < 3
    assert (told.segments, told.samples) == (2, 360)
    assert told.rises_by_more(50) is (rise > 50)


def test_samples_that_resemble_their_neighbours_widen_the_error() -> None:
    rng = random.Random(5)
    steps = [0.0]
    for _ in range(359):
        steps.append(steps[-1] + rng.gauss(0, 2))
    wandering = [(10.0 * at, 200 + step) for at, step in enumerate(steps)]
    shuffled = [(at, size) for (at, _), (_, size) in zip(
        wandering, rng.sample(wandering, len(wandering)), strict=True
    )]  # fmt: skip
    of_walk, of_noise = slope([wandering]), slope([shuffled])
    assert of_walk is not None
    assert of_noise is not None
    assert of_walk.error > 3 * of_noise.error


def test_too_few_or_too_short_samples_prove_nothing() -> None:
    assert slope([[(0, 1), (1, 2)]]) is None
    steep = slope([[(float(at), 100.0 + at) for at in range(0, 100, 10)]])
    assert steep is not None
    assert steep.per_hour > 1000
    assert not steep.rises_by_more(50)


def sample(at: float, life: int, sizes: dict[int, float]) -> Sample:
    return Sample(at, life, {"worker": sizes}, {}, {}, 0, 0, 0.0)


def test_samples_are_cut_where_a_process_comes_or_goes_and_where_a_run_is_new() -> None:
    seen = [
        *(sample(at, 1, {7: 100.0}) for at in range(0, 60, 10)),
        *(sample(at, 1, {7: 100.0, 8: 50.0}) for at in range(60, 110, 10)),
        *(sample(at, 2, {9: 30.0}) for at in range(110, 170, 10)),
        sample(170, 2, {}),
    ]
    assert [(part[0], len(part)) for part in segments(seen, "worker", 20)] == [
        ((20, 100.0), 4), ((80, 150.0), 3), ((130, 30.0), 4),
    ]  # fmt: skip
    assert segments(seen, "JVM", 0) == []


def test_a_seed_plans_the_same_faults_of_all_kinds_and_leaves_the_end_in_peace() -> None:
    planned = faults.plan(11, 3600)
    assert planned == faults.plan(11, 3600) != faults.plan(12, 3600)
    assert {each.what for each in planned} == {*faults.OTHERS, *faults.ENDING}
    assert [each.at for each in planned] == sorted(each.at for each in planned)
    assert planned[-1].at < 3600
    assert max(each.at for each in planned if each.what in faults.ENDING) < 1800
    assert all(bool(each.lasts) is not each.what.startswith(("recreate", "kill run", "kill w"))
               for each in planned)  # fmt: skip


def test_durations_are_read_and_others_refused() -> None:
    assert [seconds(text) for text in ("90", "90s", "3m", "2h")] == [90, 90, 180, 7200]
    for text in ("", "0m", "m", "3 m", "-1s", "1d"):
        with pytest.raises(argparse.ArgumentTypeError, match="is no duration"):
            seconds(text)


def test_a_wrong_option_of_a_soak_is_refused_before_anything_starts() -> None:
    words = [str(ROOT / "scripts" / "soak"), "--topics", "0", "--for", "3m"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "'0' is no positive number" in said.stderr


def test_topics_are_of_all_kinds_in_turn() -> None:
    names = topic_names(12)
    assert len(set(names)) == 12
    assert [kind_of(name) for name in names[:6]] == [*KINDS, KINDS[0]]


def test_each_kind_of_record_changes_as_the_pages_of_changes_say() -> None:
    (key, offset) = b"k1", 77

    def there(kind: str, value: bytes | None, *headers: tuple[str, bytes | None]) -> Row | None:
        return BY_NAME[kind].wanted(Row(key, value, headers, offset), FACTS)

    framed = there("framed", b"\0" + FRAME + b"x", ("env", b"test"), ("trace", b"t"))
    assert framed == Row(
        key, b"\0\0\0\0\x09x", (("env", b"prod"), ("trace", b"t"), ("from-offset", b"77")), offset
    )
    told = there("headers", b"x", ("authorization", b"secret"), ("authorization", None))
    assert told is not None
    assert told.headers == (
        ("authorization", b"REDACTED"), ("authorization", None),
        ("redpanda-migrator-provenance", FACTS.cluster),
        ("redpanda-migrator-offset", (77).to_bytes(8, "big")),
    )  # fmt: skip
    named = there("transactions", b"\0" + FRAME, ("__value_schema_id", b"\0" + FRAME))
    assert named is not None
    assert named.value == b"\0" + FRAME
    assert named.headers == (("__value_schema_id", b"\0\0\0\0\x09"), ("env", b"prod"))
    assert there("plain", None, ("n", b"1")) == Row(key, None, (("n", b"1"),), offset)
    assert BY_NAME["dropping"].wanted(Row(b"tmp-3", b"x"), FACTS) is None
    assert put((("a", b"1"), ("b", b"2"), ("a", b"3")), "a", b"4") == (
        ("a", b"1"), ("b", b"2"), ("a", b"4"),
    )  # fmt: skip


def records(kind: Kind, count: int) -> list[Row]:
    rng = random.Random(9)
    return [
        replace(kind.made(rng, number, b"f" * 20, FRAME), offset=number, timestamp=(1, number))
        for number in range(count)
    ]


def mirrored(kind: Kind, rows: list[Row], kept: int = 0) -> list[Row]:
    wanted = [row for row in (kind.wanted(row, FACTS) for row in rows) if row is not None]
    old = [Row(b"old", b"old", offset=number) for number in range(kept)]
    if kind.mapped or kept:
        wanted = [replace(row, offset=kept + at) for at, row in enumerate(wanted)]
    return old + wanted


def proof(kind: Kind, rows: list[Row], kept: int = 0, **stands: tuple[int, int | None]) -> Proof:
    return Proof(("soak", 0), kind, FACTS, kept, len(rows), 0, stands)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.name))
def test_a_right_mirror_is_proven_with_and_without_an_earlier_topic(kind: Kind) -> None:
    rows = records(kind, 2 * CHUNK + 5)
    for kept in (0, 30):
        there = mirrored(kind, rows, kept)
        before = sum(kind.wanted(row, FACTS) is not None for row in rows[:1500])
        mirror_offset = there[kept + before].offset
        stand = 1500 if kind.mapped or kept else mirror_offset
        told = proof(kind, rows, kept, g=(stand, mirror_offset)).compare(rows, there)
        assert told.problems == ()
        assert (told.written, told.compared) == (len(rows), len(there) - kept)


Damage = Callable[[list[Row]], list[Row]]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "lost": (lambda rows: rows[:1500] + rows[1501:], "1 records lost"),
    "doubled": (lambda rows: rows + rows[-1:], "1 records doubled or foreign"),
    "order": (lambda rows: [*rows[:2], rows[3], rows[2], *rows[4:]], "from offset 0 "),
    "header": (
        lambda rows: [*rows[:-1], replace(rows[-1], headers=(("env", b"test"),))],
        "from offset 2000",
    ),
    "time": (lambda rows: [replace(rows[0], timestamp=(1, 9)), *rows[1:]], "from offset 0 "),
    "offset": (lambda rows: [*rows[:-1], replace(rows[-1], offset=5000)], "from offset 2000"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_mirror_is_found(damage: str) -> None:
    kind = BY_NAME["framed"]
    rows = records(kind, 2 * CHUNK + 5)
    spoil, words = DAMAGES[damage]
    told = proof(kind, rows).compare(rows, spoil(mirrored(kind, rows)))
    assert any(words in problem for problem in told.problems), told.problems


def test_groups_that_stand_elsewhere_and_records_that_the_source_lost_are_found() -> None:
    kind = BY_NAME["framed"]
    rows = records(kind, 100)
    there = mirrored(kind, rows)
    told = proof(kind, rows, a=(50, 51), b=(50, None), c=(0, None), d=(100, 100))
    assert told.compare(rows, there).problems == (
        "soak-0: group a stands at 50 behind 50 records, on the target at 51 behind 51",
        "soak-0: group b stands at 50 and nowhere on the target",
    )
    [problem] = proof(kind, [*rows, rows[-1]]).compare(rows, there).problems
    assert "the source has 100 records, and its producers know of 101 to 101" in problem


def test_the_hook_for_memory_writes_what_a_process_holds(tmp_path: Path) -> None:
    hooks = ROOT / "bench" / "soaking" / "hooks"
    code = "import sitecustomize as s; s.FIRST = s.EVERY = 0.05; s.begin(); input()"
    env = {"PYTHONPATH": str(hooks), "TOWPATH_SOAK_MEMORY": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE) as process:
        file = tmp_path / f"memory-{process.pid}.txt"
        wait_until(file.exists, "the process writes what it holds")
        process.communicate(b"\n")
    assert "MiB held by Python's objects" in file.read_text()


@pytest.mark.soak
def test_a_short_soak_proves_every_record_and_writes_its_page(tmp_path: Path) -> None:
    words = [str(ROOT / "scripts" / "soak"), "--topics", "5", "--rate", "500", "--for", "60s"]
    words += ["--seed", "3", "--profile", "memory", "--out", str(tmp_path)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    [page], [figures] = tmp_path.glob("*-soak.md"), tmp_path.glob("*-soak.json")
    assert "**Verdict: nothing lost, nothing doubled" in page.read_text()
    told = json.loads(figures.read_text())
    assert {kind["topics"] for kind in told["records"].values()} == {1}
    assert min(kind["compared"] for kind in told["records"].values()) > 500
    assert [each["fault"]["what"] for each in told["faults"]] == ["kill source"]
    assert told["codes"]["verify"] == told["codes"]["groups diff"] == 0
    assert len(told["samples"]) > 3
    profiles = [each.read_text() for each in tmp_path.glob("*-soak-memory/memory-*.txt")]
    assert any("towpath run" in text for text in profiles)
