"""Topics and groups move to the target, and back, while their clients write and read."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.clients.moving import PARTITIONS, Read, Traffic, require_whole
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import create_topic, end_offsets, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.mirror.failback.failback import FailbackRequest, failback
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def link(
    tmp_path: Path, source: SharedCluster, target: SharedCluster, new_name: Callable[[str], str]
) -> Iterator[Link]:
    of = [
        next(iter(AdminClient({"bootstrap.servers": each.bootstrap}).list_topics().brokers))
        for each in (source, target)
    ]
    first, one, two = (f"127.0.0.1:{each}" for each in ports.reserve(3))
    gateway = f"{{listen: '{first}', nodes: {{{of[0]}: '{one}'}}, targets: {{{of[1]}: '{two}'}},"
    gateway += " hold: 15s}"
    made = Link(tmp_path, source, target, new_name("moves"), gateway=gateway, timeout="10s")
    yield made
    for program in made.programs:
        program.close()


def served(link: Link, *faults: str) -> Program:
    if faults:
        module, name = "tests.support.gateway_victim", f"victim-{len(link.programs)}"
        program = Program(link.folder, str(link.file), *faults, name=name, module=module)
        link.programs.append(program)
    else:
        program = link.start("gateway")
    wait_until(lambda: "listening on" in program.said, f"a gateway listens: {program.said}", 60)
    return program


def promoted(here: Here, link: Link, *more: str) -> Any:
    return moved(here, link, "promote", "promoted", *more)


def reverted(here: Here, link: Link, *more: str) -> Any:
    return moved(here, link, "revert", "reverted", *more)


def moved(here: Here, link: Link, command: str, state: str, *more: str) -> Any:
    """Move; where the machine was too slow, everything went on as before, so do it again."""
    done = here(command, str(link.file), *more, "-o", "json")
    for _ in range(3):
        if done.json["state"] == "undone":
            done = here(command, str(link.file), *more, "-o", "json")
    assert (done.code, done.json["state"]) == (0, state), done.said
    return done.json


def turned_round(link: Link) -> RunInside:
    """Turn the link round, and run the link back."""
    back = link.file.with_name(f"{link.name}-back.yaml")
    asked = FailbackRequest(file=link.file, to=back, wins=None, agreed=lambda _: True)
    report = failback(load(link.file), asked)
    assert report.done, report
    run = RunInside(back)
    link.programs.append(run)
    return run


def ends_of(cluster: SharedCluster | LocalCluster, topic: str) -> list[int]:
    return [end_offsets(cluster.bootstrap, topic, n)[1] for n in range(PARTITIONS)]


def test_clients_move_and_come_back_and_notice_nothing(link: Link, here: Here) -> None:
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    bootstrap = link.gateway.split("'")[1]
    traffic = Traffic(bootstrap, topic)
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    done: Any = {}
    back: Any = {}
    ends, left, errors = list[int](), list[int](), list[str]()
    twice, before = dict[str, int](), dict[str, set[Read]]()
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(classic, **{"heartbeat.interval.ms": 500, "session.timeout.ms": 6000})
        traffic.join(new, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]), "all read", 60)
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)

        told = here("promote", str(link.file), "--dry-run", "-o", "json")
        assert (told.code, told.json["state"]) == (0, "told"), told.said
        assert f"group {classic}: 1 of 1 member came through this gateway" in told.json["told"]
        done = promoted(here, link)
        ends = ends_of(link.source, topic)
        go_on(traffic, classic, new)
        errors = [*traffic.errors]
        twice = {group: max(Counter(read).values()) for group, read in traffic.read.items()}
        gateway.kill9()
        served(link)
        go_on(traffic, classic, new)
        assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
        before, seen = {group: {*read} for group, read in traffic.read.items()}, len(traffic.errors)
        refused = here("revert", str(link.file), "-o", "json")
        assert [each["code"] for each in refused.json["reasons"]] == ["REVERT_NO_LINK"]
        run = turned_round(link)
        wait_until(lambda: end(link.source, topic) > ends[0] + 20, f"it copies back: {run.said}")
        back = reverted(here, link)
        left = ends_of(link.target, topic)
        go_on(traffic, classic, new)
        errors += traffic.errors[seen:]
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), classic, new)
    finally:
        traffic.close()
    assert errors == []
    assert twice == {classic: 1, new: 1}, "nothing is read twice"
    assert ends_of(link.target, topic) == left, "nothing came to the target any more"
    require_whole(traffic, link.source.bootstrap)
    for group in (classic, new):
        again = Counter(read for read in traffic.read[group] if read not in before[group])
        assert max(again.values()) == 1, f"{group} read nothing twice on the way back"
    silent = {
        group: max(b - a for a, b in pairwise(times)) for group, times in traffic.times.items()
    }
    held = f"held {done['held_ms']} and {back['held_ms']} ms"
    print(f"{held}; longest send {max(traffic.waits):.2f} s; silent {silent}")  # noqa: T201


def test_what_fails_before_the_record_is_undone_and_no_client_notices(
    link: Link, here: Here
) -> None:
    """Two promotions race in the end: one of them wins, though the answer to its record is lost."""
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
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
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


def go_on(traffic: Traffic, *groups: str) -> None:
    before = {group: len(traffic.read[group]) for group in groups}
    wait_until(
        lambda: all(len(traffic.read[each]) > before[each] + 30 for each in groups),
        f"members read on: {traffic.errors}",
        60,
    )


def all_read(traffic: Traffic, total: int, *groups: str) -> None:
    wait_until(
        lambda: all(len({*traffic.read[each]}) >= total for each in groups),
        f"all {total} are read",
        90,
    )


STEPS = 27
"""About how often a gateway writes until a promotion is done, before and behind each time."""


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(3, STEPS, 6))
def test_a_gateway_that_is_killed_around_each_write_loses_nothing(
    link: Link, here: Here, first: int
) -> None:
    """The record is one of them: before it all goes on at the source, behind it at the target."""
    run = link.run_inside()
    states: dict[int, str] = {}

    def play(step: int) -> None:
        topic = create_topic(link.source.bootstrap, f"{link.name}.s{step}", PARTITIONS)
        gateway = served(link, f"kill={step}")
        traffic = Traffic(link.gateway.split("'")[1], topic)
        group = f"{link.name}-{step}"
        try:
            traffic.write(0)
            traffic.join(group, **{"group.protocol": "consumer"})
            wait_until(lambda: len(traffic.read[group]) > 20, "all read", 60)
            wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
            asked = link.start("promote", "--topics", topic, "-o", "json")
            wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)
            died = not gateway.running
            gateway.close()
            gateway = served(link)
            asked.wait()
            states[step] = f"{asked.json['state']}{'' if died else ', not killed'}"
            if asked.json["state"] != "promoted":
                promoted(here, link, "--topics", topic)
            go_on(traffic, group)
            traffic.end_writing()
            all_read(traffic, sum(traffic.sent.values()), group)
        finally:
            traffic.close()
            gateway.close()
        require_whole(traffic, link.target.bootstrap)

    for step in range(first, first + 6):
        play(step)
    print(states)  # noqa: T201
    assert "undone" in states.values() or first > 3
    assert "promoted" in states.values() or first < STEPS - 6


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
def test_a_gateway_that_is_killed_at_any_moment_loses_nothing(
    link: Link, here: Here, seed: int
) -> None:
    dice = random.Random(seed)
    topic = create_topic(link.source.bootstrap, f"{link.name}.killed", PARTITIONS)
    run = link.run_inside()
    gateway = served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    group = f"{link.name}-new"
    try:
        for number in range(2):
            traffic.write(number)
        traffic.join(group, **{"group.protocol": "consumer"})
        wait_until(lambda: len(traffic.read[group]) > 20, "all read", 60)
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
        for _ in range(4):
            asked = link.start("promote")
            time.sleep(dice.uniform(0, 12))  # wherever it is then
            if dice.random() < 0.3:
                asked.close()
            gateway.kill9()
            gateway = served(link)
            if asked.running:
                asked.wait()
            if is_promoted(here, link):
                break
        else:
            promoted(here, link)
        count = len(traffic.read[group])
        wait_until(lambda: len(traffic.read[group]) > count + 50, "members read on", 90)
        traffic.end_writing()
        total = sum(traffic.sent.values())
        wait_until(lambda: len({*traffic.read[group]}) >= total, f"all {total} are read", 90)
    finally:
        traffic.close()
    require_whole(traffic, link.target.bootstrap)


def is_promoted(here: Here, link: Link) -> bool:
    told = here("promote", str(link.file), "--dry-run", "-o", "json").json
    return any(each["code"] == "PROMOTE_NOTHING" for each in told["reasons"])
