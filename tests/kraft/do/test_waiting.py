"""What steps say of that which keeps them waiting."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event, Timer
from typing import Any

import pytest

from tests.support.kraft.worlds import kraft_config, start_of, with_broker
from towpath.kraft.config.file import KraftLimits
from towpath.kraft.do.waiting import StepWaits, not_gone, not_in_sync, not_serving
from towpath.kraft.errors import NodeEndedError, StepLateError, StepStoppedError
from towpath.kraft.facts.image import ClusterImage, PartitionImage, TopicImage
from towpath.kraft.facts.nouns import BrokerMode, NodeId
from towpath.kraft.facts.seen import Observation

ONE = NodeId(1)


class Stopped:
    """A driver of a node that does not run."""

    def incarnation(self) -> str | None:
        return None

    def log(self, lines: int) -> str:
        return f"the last {lines} lines"


class Supervised(Stopped):
    """A driver of a node whose process ends, and is started again each time."""

    def __init__(self) -> None:
        self._starts = 0

    def incarnation(self) -> str:
        self._starts += 1
        return str(self._starts)


def seen(**partition: Any) -> Observation:
    start = start_of(kraft_config())
    facts: dict[str, Any] = {"replicas": (0, 1), "isr": (0, 1), "leader": 0}
    made = PartitionImage(**{**facts, "leader_epoch": 0, "partition_epoch": 0, **partition})
    image = ClusterImage(topics={"orders": TopicImage("id", {0: made})})
    assert start.zookeeper is not None
    return replace(start, zookeeper=replace(start.zookeeper, image=image))


def waits(config: Any, told: list[str], look: Observation, **drivers: Any) -> StepWaits:
    known, stop = drivers.get("drivers", {}), drivers.get("stop", Event())
    return StepWaits(config.limits, known, lambda _: look, told.append, stop)


def test_a_replica_that_is_not_in_sync_keeps_its_broker_waiting() -> None:
    behind = seen(isr=(0,))
    assert not_in_sync(seen()) is None
    assert not_in_sync(behind) == "not all replicas in sync in 1 partitions: orders-0"
    assert not_in_sync(behind, ONE) == "broker 1 not in sync in 1 partitions: orders-0"
    assert not_in_sync(behind, NodeId(0)) is None, "another broker is what it waits for"
    assert not_in_sync(seen(isr=(0,), adding=(1,))) is None
    assert not_in_sync(replace(seen(), zookeeper=None)) == "the state of partitions was not seen"


def test_a_broker_serves_once_it_runs_in_its_mode_and_is_registered() -> None:
    start = seen()
    assert not_serving(start, ONE, BrokerMode.ZOOKEEPER, None) is None
    silent = with_broker(start, 1, mode=None)
    assert not_serving(silent, ONE, BrokerMode.ZOOKEEPER, None) == "broker 1 does not answer yet"
    assert not_serving(start, ONE, BrokerMode.KRAFT, None) == (
        "broker 1 runs in zookeeper mode, as its file says: something else writes that file"
    )
    ahead = with_broker(start, ONE, stale=True)
    said = not_serving(ahead, ONE, BrokerMode.ZOOKEEPER, None) or ""
    assert said.startswith("the file of broker 1 is newer than its process; `touch` it")
    unused = with_broker(start, ONE, mode=BrokerMode.MIGRATION)
    said = not_serving(unused, ONE, BrokerMode.ZOOKEEPER, None) or ""
    assert said.endswith("its file is for zookeeper mode: it may be started with another file, or"
                         " with `--override`")  # fmt: skip
    assert start.zookeeper is not None
    gone = replace(start, zookeeper=replace(start.zookeeper, brokers=frozenset({NodeId(0)})))
    text = "broker 1 answers, and is not registered or is fenced"
    assert not_serving(gone, ONE, BrokerMode.ZOOKEEPER, None) == text
    assert not_gone(start, ONE) == "/brokers/ids/1 is still there"
    assert not_gone(gone, ONE) is None


def test_a_wait_says_what_it_waits_for_and_what_it_saw_at_its_end() -> None:
    config, told = (
        kraft_config().model_copy(update={"limits": KraftLimits.model_validate({"start": "1s"})}),
        list[str](),
    )
    with pytest.raises(StepLateError) as caught:
        waits(config, told, seen()).until("the sun rises", "start", lambda _: "it is dark")
    assert told == ["waiting until the sun rises: it is dark"]
    assert str(caught.value).startswith(
        "this did not come within 1 s (`limits.start`): the sun rises; seen last: it is dark;"
    )


def test_a_wait_ends_at_once_where_the_user_asks_to_end() -> None:
    config, stop = kraft_config(), Event()
    waiting = waits(config, [], seen(), stop=stop)
    Timer(0.05, stop.set).start()
    began = time.monotonic()
    with pytest.raises(StepStoppedError) as caught:
        waiting.until("the sun rises", "start", lambda _: "it is dark")
    assert time.monotonic() - began < 5
    text = "while this was waited for: the sun rises; nothing was changed by this step"
    assert caught.value.what == text
    with pytest.raises(StepStoppedError, match="rises; broker 1 was restarted"):
        waiting.until(
            "the sun rises", "start", lambda _: "no", left=lambda: "broker 1 was restarted"
        )


def test_a_wait_goes_on_where_the_rest_of_the_step_must_follow() -> None:
    """As a broker is stopped, and is to be started once ZooKeeper has forgotten it."""
    stop, nights = Event(), iter(["it is dark", "it dawns", None])
    stop.set()
    waiting = waits(kraft_config(), [], seen(), stop=stop)
    assert waiting.until("the sun rises", "start", lambda _: next(nights), left=None) == seen()


def test_what_is_there_already_is_not_waited_for_even_if_the_user_asks_to_end() -> None:
    stop = Event()
    stop.set()
    assert (
        waits(kraft_config(), [], seen(), stop=stop).until("x", "start", lambda _: None) == seen()
    )


@pytest.mark.parametrize("driver", [Stopped(), Supervised()])
def test_a_node_that_ends_meanwhile_is_told_with_its_log(driver: Stopped) -> None:
    config, told = kraft_config(), list[str]()
    waiting = waits(config, told, seen(), drivers={ONE: driver})
    with pytest.raises(NodeEndedError, match=r"node 1 ended by itself (.|\n)*the last 25 lines"):
        waiting.until("broker 1 serves", "start", lambda _: "no", [ONE])
