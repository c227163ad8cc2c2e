"""Source and sink on each version of Spark that is promised."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.copying.sparks import VERSIONS, fetch_spark, with_spark
from tests.support.kafka import Record, consume, create_topic, produce, wait_for
from tests.support.program import environment
from towpath.dev.broker import LocalCluster

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark(own=True),
    pytest.mark.soak,
    pytest.mark.timeout(900),
]
T0 = 1_700_000_000_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stream_is_copied_once_and_a_batch_after_it(
    version: str,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    topic = new_name("versions")
    for cluster in (source, target):
        create_topic(cluster.bootstrap, topic, 2)
    records = [
        Record(b"k%d" % n, b"v%d" % n, (("h", b"%d" % n), ("h", None)), T0 + n, partition=n % 2)
        for n in range(50)
    ]
    produce(source.bootstrap, topic, [*records, Record(None, None, (), T0)])
    path = f"{with_spark(fetch_spark(version))['PYTHONPATH']}:{environment()['PYTHONPATH']}"
    words = [source.bootstrap, target.bootstrap, topic, str(tmp_path)]
    program = [sys.executable, "-m", "tests.dataframes.frames_program", *words]
    env = environment({"PYTHONPATH": f"{path}:{ROOT}", "PYSPARK_PYTHON": sys.executable})
    ended = subprocess.run(program, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert "was written before a restart" in ended.stderr
    there = sorted(map(repr, _all(source, topic) * 2))
    wait_for(lambda: sorted(map(repr, _all(target, topic))), there, "the copies")


def _all(cluster: LocalCluster, topic: str) -> list[Any]:
    return [
        (each.partition, each.key, each.value, each.headers, each.timestamp)
        for each in consume(cluster.bootstrap, topic, (0, 1))
    ]
