"""Topics and groups move to the target, and back, while their clients write and read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from tests.support.clients.gateways import (
    all_read,
    ends_of,
    go_on,
    promoted,
    reverted,
    served,
    turned_round,
)
from tests.support.clients.moving import PARTITIONS, Read, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic, end_offsets, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.pages.scrape import Scrape
from towpath.gateway import metric_names
from towpath.ledger.entries import PromotionStep

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@dataclass
class Moved:
    """What clients saw of their way there and back.

    Attributes:
        held: How long producers were held, each time, in ms.
        ends: Where a cluster ended when it was left, each time.
        errors: What applications were told, but for the time when their gateway was killed.
        before: What each group had read before the way back.
    """

    held: list[int] = field(default_factory=list)
    ends: list[list[int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    before: dict[str, list[Read]] = field(default_factory=dict)


def test_clients_move_and_come_back_and_notice_nothing(gateway_link: Link, here: Here) -> None:
    link, seen = gateway_link, Moved()
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    classic, sticky, new = (f"{link.name}-{each}" for each in ("classic", "sticky", "new"))
    groups = classic, sticky, new
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(classic, **often)
        traffic.join(sticky, **often, **{"partition.assignment.strategy": "cooperative-sticky"})
        traffic.join(new, **{"group.protocol": "consumer"})
        go_on(traffic, *groups)
        wait_for_end(link.target, topic, 20, run)
        go_there(link, here, traffic, seen, *groups)
        gateway.kill9()
        served(link)
        go_on(traffic, *groups)
        assert ends_of(link.source, topic) == seen.ends[0], "nothing came to the source any more"
        go_back(link, here, traffic, seen, *groups)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), *groups)
    finally:
        traffic.close()
    assert seen.errors == []
    assert ends_of(link.target, topic) == seen.ends[1], "nothing came to the target any more"
    require_whole(traffic, link.source.bootstrap)
    for group in groups:
        known = {*seen.before[group]}
        again = Counter(read for read in traffic.read[group] if read not in known)
        assert max(again.values()) == 1, f"{group} read nothing twice on the way back"
    silent = {
        group: max(b - a for a, b in pairwise(times)) for group, times in traffic.times.items()
    }
    print(f"held {seen.held}; longest send {max(traffic.waits):.2f} s; silent {silent}")  # noqa: T201


def go_there(link: Link, here: Here, traffic: Traffic, seen: Moved, *groups: str) -> None:
    """Promote, under traffic."""
    seen_before = here("promote", str(link.file), "--dry-run", "-o", "json")
    assert (seen_before.code, seen_before.json["state"]) == (0, "told"), seen_before.said
    said = seen_before.json["told"]
    assert any("would be held, for 15s at most" in each for each in said)
    assert f"group {groups[0]}: 1 of 1 member came through this gateway" in said
    done = promoted(here, link)
    assert [each["step"] for each in done["steps"]] == [*PromotionStep]
    told = {each["what"]: each["facts"] for each in history_of(link, here)}["promotion.ended"]
    assert (told["state"], told["topics"], told["held"]) == (
        "promoted", [traffic.topic], done["held_ms"],
    )  # fmt: skip
    assert {*told["groups"]} == {*groups}
    seen.held.append(done["held_ms"])
    seen.ends.append(ends_of(link.source, traffic.topic))
    go_on(traffic, *groups)
    seen.errors += traffic.errors
    shown = here("link", "show", str(link.file), "-o", "json").json
    (row,) = shown["topics"]
    assert (row["promoted"], row["reasons"], len(shown["link"]["gateways"])) == (True, [], 1)
    rows = here("status", str(link.file), "-o", "json").json["partitions"]
    assert {each["state"] for each in rows} == {"promoted"}
    metrics = link.gateway.split("'")[-2]
    wait_until(
        lambda: Scrape(metrics).get("towpath_gateway_promoted_topics") == 1,
        "the meter is told, which it is each second",
    )
    assert_counted(Scrape(metrics))
    twice = {group: max(Counter(read).values()) for group, read in traffic.read.items()}
    assert twice == dict.fromkeys(groups, 1), "nothing is read twice"


def history_of(link: Link, here: Here) -> list[Any]:
    """Return the events of a link; those of a promotion are written beside its answer."""

    def events() -> list[Any]:
        found: list[Any] = here("history", str(link.file), "-o", "json").json["events"]
        return found

    is_told = lambda: any(each["what"] == "promotion.ended" for each in events())  # noqa: E731
    wait_until(is_told, "the history tells of the promotion")
    return events()


def assert_counted(got: Scrape) -> None:
    """What a gateway serves tells of its clients, and that a topic moved once."""
    assert {each.name.removesuffix("_total") for each in metric_names.ALL} == {
        each.name for each in got.families
    }
    assert got.get("towpath_gateway_moves_total", way="promote", outcome="done") == 1
    assert got.get("towpath_gateway_held_seconds_count", way="promote") == 1
    for name in ("connections", "broker_connections", "promoted_topics"):
        assert (got.get(f"towpath_gateway_{name}") or 0) > 0, name
    for direction in ("request", "answer"):
        assert (got.get("towpath_gateway_bytes_total", direction=direction) or 0) > 10_000


def go_back(link: Link, here: Here, traffic: Traffic, seen: Moved, *groups: str) -> None:
    """Revert, under traffic."""
    known = len(traffic.errors)
    seen.before |= {group: [*traffic.read[group]] for group in groups}
    refused = here("revert", str(link.file), "-o", "json")
    assert [each["code"] for each in refused.json["reasons"]] == ["REVERT_NO_LINK"]
    rehearsed = here("revert", str(link.file), "--topics", "no", "--dry-run", "-o", "json")
    assert (rehearsed.code, rehearsed.json["state"]) == (3, "told"), "it could not go back"
    assert [each["code"] for each in rehearsed.json["reasons"]] == ["REVERT_NOTHING"]
    there = seen.ends[0][0] + 20
    wait_until(
        lambda: end(link.target, traffic.topic) > there,
        lambda: f"producers go on behind the gateway that was killed: {traffic.errors}",
    )
    run = turned_round(link)
    wait_for_end(link.source, traffic.topic, there, run)
    seen.held.append(reverted(here, link)["held_ms"])
    seen.ends.append(ends_of(link.target, traffic.topic))
    go_on(traffic, *groups)
    seen.errors += traffic.errors[known:]


@pytest.mark.spark(long=True)
def test_what_fails_before_the_record_is_undone_and_no_client_notices(
    gateway_link: Link, here: Here
) -> None:
    """Two promotions race in the end: one of them wins, though the answer to its record is lost."""
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.undone", PARTITIONS)
    run = link.run_inside()
    link.gateway = link.gateway.replace("15s", "5s")
    gateway = served(link, "late", "away", "fenced", "lost")
    traffic = Traffic(link.gateway.split("'")[1], topic)
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    try:
        traffic.write(0)
        traffic.join(classic, **{"heartbeat.interval.ms": 500})
        traffic.join(new, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[classic]) > 20 < len(traffic.read[new]), "all read", 60)
        wait_for_end(link.target, topic, 20, run)
        for said in ("`gateway.hold` was over", "it is away", "has begun after this one"):
            undone_by(here, link, said)
            go_on(traffic, classic, new)
        raced(link)
        ends = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
        go_on(traffic, classic, new)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        all_read(traffic, total, classic, new)
    finally:
        traffic.close()
    assert traffic.errors == [], gateway.said
    after = [end_offsets(link.source.bootstrap, topic, n)[1] for n in range(PARTITIONS)]
    assert after == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)
    for group in (classic, new):
        assert max(Counter(traffic.read[group]).values()) == 1, f"{group} read nothing twice"


def undone_by(here: Here, link: Link, said: str) -> None:
    """Promote until this fault comes; a machine that is too slow undoes it before."""
    why: Any = None
    for _ in range(5):
        done = here("promote", str(link.file), "-o", "json")
        assert (done.code, done.json["state"]) == (3, "undone"), done.said
        (why,) = done.json["reasons"]
        if said in why["text"]:
            reached = [each["step"] for each in done.json["steps"]]
            assert reached == [*PromotionStep][: len(reached)], "what was done before is told"
            assert reached
            return
    raise AssertionError(f"{said} did not come: {why}")


def raced(link: Link) -> None:
    """Ask twice at once."""
    ended: list[tuple[int, Any]] = []
    for _ in range(3):
        asked = [link.start("promote", "-o", "json") for _ in range(2)]
        ended = [(each.wait(), each.json) for each in asked]
        if any(told["state"] == "promoted" for _, told in ended):
            break
    (lost, won) = sorted(ended, key=lambda each: each[1]["state"] == "promoted")
    assert (won[0], won[1]["state"]) == (0, "promoted"), ended
    assert lost[0] == 3, ended
    assert lost[1]["state"] in {"refused", "undone"}, ended
