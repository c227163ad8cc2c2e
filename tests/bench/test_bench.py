"""The parts of the benches that could be wrong without anybody noticing."""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from bench.data import MIXED, SETS, DataSet, prepare
from bench.goals import goals
from bench.meter import Watch
from bench.pages import some_of
from bench.report import markdown

from tests.support.kafka import wait_until
from towpath.wire.batch import BatchHeader, sound
from towpath.wire.codec import LZ4, NONE
from towpath.wire.records import decode

pytestmark = pytest.mark.slow

# A parent that ignores the end of its children is not told of their time by the kernel.
FORGETFUL = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os.read(0, 1)
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
print("ended", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("data", SETS, ids=lambda data: str(data.name))
def test_a_set_has_what_it_says(data: DataSet) -> None:
    small = data.scaled(0.0001)
    prepared = prepare(small)
    batches = [batch for partition in prepared.batches for batch in partition]
    headers = [BatchHeader.read(batch) for batch in batches]
    assert len(prepared.batches) == small.partitions
    assert sum(header.count for header in headers) == small.records
    assert {header.attributes for header in headers} == {small.codec}
    assert all(sound(batch) for batch in batches)
    assert sum(map(len, batches)) == prepared.wire_bytes
    records = decode(batches[0])
    each = (
        len(row["key"]) + len(row["value"]) + sum(len(h["name"]) + len(h["value"]) for h in headers)
        for row in records.to_pylist()
        for headers in [row["headers"]]
    )
    assert prepared.record_bytes / len(batches) == pytest.approx(sum(each), rel=0.05)


def test_codecs_alternate_in_each_partition() -> None:
    [mixed] = [each for each in MIXED if each.name == "mixed"]
    prepared = prepare(replace(mixed, records=160))
    for partition in prepared.batches:
        codecs = [BatchHeader.read(each).attributes for each in partition]
        assert codecs == [LZ4, NONE] * 10


def test_the_time_of_children_that_ended_is_not_lost() -> None:
    command = [sys.executable, "-c", FORGETFUL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        watch = Watch(process.pid, every=0.1)
        watch.start()
        try:
            wait_until(lambda: watch.cpu() >= 0.45, "the child's time is seen")
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"ended\n"
            assert watch.cpu() >= 0.45
        finally:
            watch.stop()
            process.stdin.close()


def run(rate: int, cpu: float) -> dict[str, Any]:
    spent = {"copier": cpu, "source": 1.0, "target": 1.0, "others": 0.0, "seconds": 2.0}
    return {
        "records_per_s": rate, "mib_per_s": 1.0, "wire_mib_per_s": 1.0, "seconds": 2.0,
        "cpu": spent, "cpu_per_gib": {"copier": cpu, "source": 1.0, "target": 1.0},
    }  # fmt: skip


def test_a_goal_that_is_missed_is_called_missed() -> None:
    keyed = {
        "about": "x", "partitions": 8, "records": 10, "record_bytes": 10, "wire_bytes": 5,
        "raw": run(100, 0.1), "mm2": run(50, 20.0), "towpath": run(80, 1.0),
    }  # fmt: skip
    found = {
        "date": "2020-01-01 00:00 UTC", "size": "full", "heap": "1g", "machine": {"cores": "2"},
        "sets": {"keyed": keyed}, "latency": {}, "idle": {}, "first_record_s": {"towpath": [3.0]},
        "peak_mib": {"keyed, towpath": {"worker": [400, 20]}}, "trouble": ["keyed, mm2: why"],
    }  # fmt: skip
    reached = {row[0]: (row[2], row[3]) for row in goals(found)}
    assert reached == {
        "keyed: copier CPU / MirrorMaker 2's": ("0.050", "yes"),
        "keyed: rate / raw loader's": ("0.80", "**no**"),
        "keyed: rate / MirrorMaker 2's": ("1.60", "yes"),
        "largest Python worker, MiB": ("400", "**no**"),
        "first record, median of all starts, s": ("3.00", "yes"),
    }
    page = "\n".join(markdown(found))
    assert "| towpath | 80 |" in page
    assert "keyed, mm2: why" in page


def test_what_is_not_known_is_not_measured_in_silence() -> None:
    read = some_of(["keyed", "small", "noise"])
    assert read("noise,keyed") == ("keyed", "noise")
    with pytest.raises(argparse.ArgumentTypeError, match="tiny: not known; there are keyed"):
        read("keyed,tiny")
