"""Failovers while the link's own run still goes on, on the Spark that the tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import (
    Record,
    commit,
    create_topic,
    end_offsets,
    produce,
    set_config,
    wait_until,
)
from tests.support.links import Link
from towpath.dev.broker import LocalCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def some(first: int, count: int) -> list[Record]:
    return [Record(b"k", b"%d" % i, partition=0) for i in range(first, first + count)]


@pytest.fixture
def link(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: Callable[[str], str],
) -> Iterator[Link]:
    made = Link(tmp_path, source, target, new_name("live"), groups="{interval: 1s}", timeout="10s")
    yield made
    for program in made.programs:
        program.close()


def done(here: Here, link: Link, *options: str, code: int = 0) -> Any:
    ended = here("failover", str(link.file), *options, "--yes", "-o", "json")
    assert ended.code == code, ended.said
    return ended.json


def copied(link: Link, run: RunInside, topic: str, count: int) -> None:
    def is_there() -> bool:
        assert run.running, run.said
        return end_offsets(link.target.bootstrap, topic)[1] >= count

    wait_until(is_there, f"{topic} is copied")


def states(here: Here, link: Link) -> dict[str, str]:
    status = here("status", str(link.file), "-o", "json").json
    return {row["topic"]: row["state"] for row in status["partitions"]}


def _its_topic_is_left_to_clients(link: Link, here: Here, topic: str) -> None:
    """The run goes on for the rest; what is said of the part is said of it alone."""
    plan = here("plan", str(link.file), "-o", "json").json
    assert topic not in {step.get("target") for step in plan["steps"]}
    notes = [f"{each['about']}: {each['text']}" for each in plan["notes"]]
    assert any(each.startswith(f"{topic}: topic {topic}: failed over since") for each in notes)
    assert any("left out on topics that failed over" in each for each in notes)
    assert not any("was cut over" in each for each in notes)
    paused = here("pause", str(link.file), "--topics", topic)
    assert (paused.code, "is failed over" in paused.said) == (4, True), paused.said


@pytest.mark.spark(long=True)
def test_one_topic_goes_first_and_the_rest_in_order_behind_it(link: Link, here: Here) -> None:
    one, two = (create_topic(link.source.bootstrap, f"{link.name}.{n}") for n in ("one", "two"))
    for topic in (one, two):
        produce(link.source.bootstrap, topic, some(0, 50))
        commit(link.source.bootstrap, f"{link.name}-group", topic, 0, 50)
    run = link.run_inside()
    for topic in (one, two):
        link.wait_for(run, topic)
    # Without any receipt yet, groups get the begin of the partition; receipts come once a second.
    wait_until(lambda: {*states(here, link).values()} == {"caught up"}, "the receipts")

    part = done(here, link, "--topics", one)
    assert (part["plan"]["lost"], part["fenced"], part["missing"]) == (0, 1, [])
    assert [(each["topic"], each["state"]) for each in part["state"]] == [(one, "failed_over")]
    assert part["clients"][0].startswith(f"bootstrap.servers of clients of {one}: ")
    for topic in (one, two):
        produce(link.source.bootstrap, topic, some(50, 10))
        set_config(link.source.bootstrap, topic, "max.message.bytes", "2000000")
    _its_topic_is_left_to_clients(link, here, one)
    copied(link, run, two, 60)
    assert end_offsets(link.target.bootstrap, one)[1] == 51, "all before, and the fence"
    commit(link.source.bootstrap, f"{link.name}-group", two, 0, 60)
    wait_until(lambda: states(here, link)[two] == "caught up", "the receipt of the rest")
    assert states(here, link)[one] == "failed over"
    status = here("status", str(link.file), "-o", "json").json
    assert status["totals"]["lag_records"] == 0, "nothing more of it is copied"
    assert [each["topic"] for each in status["states"]] == [one]

    whole = done(here, link, "--wait", "--within", "60s")
    assert whole["done"]
    assert (whole["after"]["lost"], whole["after"]["unknown"], whole["after"]["again"]) == (0, 0, 0)
    [position] = whole["after"]["positions"]
    assert (position["target"], position["exactness"], position["outcome"]) == (
        60,
        "exact",
        "CONFIRMED",
    )
    wait_until(lambda: not run.running, "the run has noticed the seal")
    assert "is sealed" in run.said or "is failed over" in run.said
    end = end_offsets(link.target.bootstrap, two)[1]
    produce(link.source.bootstrap, two, some(60, 5))
    refused = here("failover", str(link.file), "--undo")
    assert refused.code == 4
    assert end_offsets(link.target.bootstrap, two)[1] == end
