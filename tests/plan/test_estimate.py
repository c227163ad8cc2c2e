"""What copying takes: sums, and the few lines that people read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from towpath.mirror.show.plan_picture import as_markdown
from towpath.mirror.subjects import SUBJECTS
from towpath.model.amounts import time_left
from towpath.model.nouns import ClusterId, LinkName, TopicName
from towpath.plan.estimate import (
    GUESS,
    GUESS_FROM,
    CopyEstimate,
    CopyRate,
    RateOrigin,
    TopicBytes,
)
from towpath.plan.explain import copying
from towpath.plan.model import ClusterFacts, Plan
from towpath.plan.saved import load_plan, save

MIB = 1 << 20
FACTS = ClusterFacts(("a:9092",), ClusterId("A"), "3.9", 3)
PLAN = Plan(link=LinkName("gold"), source=FACTS, target=FACTS)
TOPICS = (
    TopicBytes(TopicName("orders"), 300 * MIB, 400 * MIB, 3),
    TopicBytes(TopicName("carts"), 100 * MIB, 200 * MIB, 1),
    TopicBytes(TopicName("done"), 0, 400 * MIB, 3),
)
RATE = CopyRate(50.0 * MIB, RateOrigin.SAID)
RESULTS = Path(__file__).parents[2] / "bench" / "results"


def test_sums_and_raw_numbers() -> None:
    data = CopyEstimate(topics=TOPICS, rate=RATE, free=5000 * MIB).as_data()
    assert data["bytes"] == 400 * MIB
    assert data["held"] == 1000 * MIB
    assert data["seconds"] == 8.0
    assert data["network"] == {
        "from_source": 400 * MIB, "to_target": 400 * MIB, "inside_target": 600 * MIB,
    }  # fmt: skip
    assert (data["stored"], data["free"]) == (1000 * MIB, 5000 * MIB)
    assert data["rate"] == {"bytes_per_second": 50.0 * MIB, "origin": "said"}
    assert [topic["topic"] for topic in data["topics"]] == ["orders", "carts", "done"]


def test_a_few_lines_for_people() -> None:
    plan = replace(PLAN, to_copy=CopyEstimate(topics=TOPICS, rate=RATE, free=5000 * MIB))
    assert copying(plan) == [
        "to copy  400.0 MiB of 1000.0 MiB in 3 topics, compressed as on the source's disks",
        "time     about 8.0 s at 50.0 MiB/s, as --rate says",
        "network  400.0 MiB from the source, 400.0 MiB to the target, 600.0 MiB between its"
        " brokers",
        "disks    1000.0 MiB on the target's disks, which have 4.9 GiB free",
    ]
    text = as_markdown(plan)
    assert "## To copy, by topic" in text
    assert "| `orders` | `300.0 MiB` | `400.0 MiB` | `900.0 MiB` |" in text
    assert "`done`" not in text


def test_what_is_copied_and_what_is_unknown() -> None:
    told = CopyEstimate(topics=TOPICS[2:], rate=CopyRate(), unknown=2)
    assert copying(replace(PLAN, to_copy=told)) == [
        "to copy  nothing of 400.0 MiB in 1 topic; unknown of 2 partitions"
    ]
    unknown = CopyEstimate(topics=TOPICS[:0], rate=CopyRate(), unknown=2)
    assert copying(replace(PLAN, to_copy=unknown)) == [
        "to copy  unknown of 2 partitions in 0 topics"
    ]
    assert copying(PLAN) == []


def test_a_guess_is_called_a_guess_and_comes_from_a_result() -> None:
    result = json.loads((RESULTS / f"{GUESS_FROM}.json").read_text())
    assert result["sets"]["keyed"]["towpath"]["wire_mib_per_s"] * MIB == GUESS
    assert str(CopyRate()) == (
        f"200.0 MiB/s, a guess: the rate of two cores in bench/results/{GUESS_FROM}.md; name that"
        " of your network or disks with --rate"
    )
    assert str(CopyRate(MIB, RateOrigin.MEASURED)) == "1.0 MiB/s, the rate of this link so far"


def test_a_saved_plan_keeps_it(tmp_path: Path) -> None:
    yaml = tmp_path / "link.yaml"
    yaml.write_text(
        "source: {bootstrap: 'a:9092'}\ntarget: {bootstrap: 'b:9092'}\nlink: gold\n"
        "topics: {include: [orders]}\n"
    )
    plan = replace(PLAN, to_copy=CopyEstimate(topics=TOPICS, rate=RATE, unknown=1))
    save(plan, yaml, tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json", SUBJECTS.kinds).plan == plan


@pytest.mark.parametrize(("left", "rate"), [(0.0, 1.0), (1.0, 0.0), (1.0, -1.0), (-1.0, 1.0)])
def test_what_never_ends_has_no_time(left: float, rate: float) -> None:
    assert time_left(left, rate) is None
    assert time_left(10.0, 4.0) == 2.5
