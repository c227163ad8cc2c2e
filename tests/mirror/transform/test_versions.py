"""Records of a link go through a query on each version of Spark that is promised."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.copying.sparks import VERSIONS, fetch_spark, with_spark
from tests.support.kafka import create_topic, wait_for
from tests.support.program import Program, environment
from tests.support.transformed_link import QUERY, TransformedLink, through_query
from towpath.dev.broker import LocalCluster
from towpath.mirror.transform.proof.verdict import VALUES_NOT

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark(own=True),
    pytest.mark.soak,
    pytest.mark.timeout(900),
]
PROGRAM = """
from pyspark.sql import functions as F

def shout(text):
    return text.upper()

def clean(frame):
    made = F.udf(shout, "string", useArrow=False)(F.col("value").cast("string"))
    return frame.select("key", made.alias("value"), "partition")
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_query_and_a_function_do_the_same_on_each(
    version: str,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    path = f"{with_spark(fetch_spark(version))['PYTHONPATH']}:{environment()['PYTHONPATH']}"
    link = TransformedLink(source, target, new_name("versions"), tmp_path)
    create_topic(source.bootstrap, link.topic, 2)
    (tmp_path / "clean.py").write_text(PROGRAM)

    def run(name: str) -> Program:
        words = ("run", str(link.file), "--until-caught-up")
        ended = Program(tmp_path, *words, env={"PYTHONPATH": path}, name=name)
        assert ended.wait(300) == 0, ended.said
        return ended

    link.write({"sql": QUERY, "max_offsets": 20})
    link.produced(range(60))
    run("sql")
    link.write({"python": "clean.py:clean"})
    link.produced(range(60, 80))
    run("python")
    wanted = through_query(range(60)) + Counter(b"V%d" % n for n in range(60, 80))
    wait_for(link.values, wanted, "the records")
    proof = Program(
        tmp_path,
        "verify",
        str(link.file),
        "--output",
        "json",
        env={"PYTHONPATH": path},
        name="proof",
    )
    assert proof.wait(300) == 3, proof.said
    told = json.loads(proof.out.read_text())
    # What the earlier query made is counted only, and the rest is equal.
    assert [(each["verdict"], each["equal"]) for each in told["partitions"]] == [
        ("left out", 10)
    ] * 2
    assert all(VALUES_NOT in each["why"] for each in told["partitions"]), told
    link.write({"sql": "select value from records order by key"})
    refused = Program(
        tmp_path, "run", str(link.file), "--until-caught-up", env={"PYTHONPATH": path}, name="no"
    )
    assert refused.wait(300) == 2
    assert "move rows between tasks" in refused.said
