"""Records of many megabytes beside tiny ones, through a slow line, by processes that are killed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archiving import Archive
from tests.support.clusters.brokers import SharedCluster
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.objects.stores import StoreLine, section
from tests.support.program import Program

pytestmark = [
    pytest.mark.broker,
    pytest.mark.soak,
    pytest.mark.spark,
    pytest.mark.alone,
    pytest.mark.timeout(1800),
]
NewName = Callable[[str], str]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LARGE: Mapping[str, Any] = {"message.max.bytes": 40_000_000, "queue.buffering.max.kbytes": 200_000}
READS: Mapping[str, Any] = {
    "fetch.message.max.bytes": 50_000_000,
    "fetch.max.bytes": 60_000_000,
    "receive.message.max.bytes": 100_000_000,
}
TAKES = {"max.message.bytes": "41943040"}
LINE = 60_000
"""Kilobytes per second of the line to the store."""


def records(rng: random.Random) -> list[Record]:
    """Return records that are hard for whoever counts bytes by the average."""
    many = tuple((f"h{n}" if n % 7 else "", (None, b"", b"v%d" % n)[n % 3]) for n in range(6000))
    long = (("mb", rng.randbytes(4_000_000)), ("mb", None), ("mb", b"a" * 3_000_000))
    return [
        *(Record(b"k%d" % n, b"tiny %d" % n) for n in range(20)),
        Record(b"", rng.randbytes(10_000_000), (("", None), ("", b""), ("x", b"y"))),
        Record(None, None, many),
        Record(b"of headers", b"", long),
        Record(rng.randbytes(2_000_000), b"of its key"),
        Record(b"zeroes", bytes(11_000_000)),
        Record(b"largest", rng.randbytes(20_000_000)),
        *(Record(b"k%d" % n, None) for n in range(20)),
    ]


def plain(found: list[Record]) -> list[tuple[object, ...]]:
    return [(each.offset, each.key, each.value, each.headers, each.timestamp) for each in found]


def kill_in(program: Program, said: str, rng: random.Random) -> None:
    """Kill a program some moment after it says something."""
    wait_until(lambda: said in program.said or not program.running, said, 180)
    time.sleep(rng.uniform(0, 4))
    program.kill9()


@pytest.fixture
def slow(request: pytest.FixtureRequest, line: Toxiproxy) -> StoreLine:
    """Return a line to a real S3 store that is slow in both directions."""
    made = StoreLine(request, "s3", line)
    for stream in ("upstream", "downstream"):
        made.spoil("bandwidth", stream, rate=LINE)
    return made


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    made: list[Program] = []
    yield made
    for each in made:
        each.close()


@pytest.mark.parametrize("form", ["parquet", "batches"])
def test_large_records_come_back_as_they_were(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    slow: StoreLine,
    new_name: NewName,
    here: Here,
    rng: random.Random,
    programs: list[Program],
    form: str,
) -> None:
    name = new_name("large")
    topics = [create_topic(source.bootstrap, f"{name}.{each}", 1, TAKES) for each in CODECS]
    archive = Archive(tmp_path, source, name, section(slow.new(), tmp_path), format=form)
    for _ in range(2):
        made = records(rng)
        for codec, topic in zip(CODECS, topics, strict=True):
            produce(source.bootstrap, topic, made, {"compression.type": codec, **LARGE})
        programs.append(archive.start())
        kill_in(programs[-1], "phase=archiving", rng)
        programs.append(archive.start("--until-caught-up"))
        assert programs[-1].wait(400) == 0, programs[-1].said
    wanted = {each: plain(consume(source.bootstrap, each, config=READS)) for each in topics}
    assert {each: plain(archive.records(each)) for each in topics} == wanted
    for command, option in (("compact", "--now"), ("verify", "--deep")):
        ran = here.on_spark("archive", command, str(archive.file), option)
        assert ran.code == 0, ran.said
    assert {each: plain(archive.records(each)) for each in topics} == wanted

    # The target has one of them, with a limit that is far too low.
    create_topic(target.bootstrap, topics[0], 1, {"max.message.bytes": "100000"})
    archive.write(target={"bootstrap": target.bootstrap})
    words = "restore", "run", str(archive.file)
    programs.append(Program(tmp_path, *words, name="killed"))
    kill_in(programs[-1], "phase=restoring", rng)
    programs.append(Program(tmp_path, *words, "--verify", name="restored"))
    assert programs[-1].wait(400) == 0, programs[-1].said
    found = {each: plain(consume(target.bootstrap, each, config=READS)) for each in topics}
    assert found == wanted
