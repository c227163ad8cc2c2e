"""Topics move while nobody runs the link: the command copies the rest by a run of its own."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import psutil
import pytest

from tests.support.clients.gateways import all_read, ends_of, go_on, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.quick_links import light_run
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.program import Program
from towpath.gateway.promotion.promotion_scope import runs
from towpath.ledger.link import open_link
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.model.link_names import back_path
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
COPIES = "this command copies the rest itself"
END = 240


@pytest.mark.timeout(900)
def test_topics_move_there_and_back_and_no_run_is_left_behind(
    gateway_link: Link, here: Here
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    group = f"{link.name}-classic"
    try:
        traffic.write(0)
        copied_once(link, topic)
        traffic.join(group, **OFTEN)
        go_on(traffic, group)
        rehearsed = here("promote", str(link.file), "--dry-run", "-o", "json")
        assert (rehearsed.code, rehearsed.json["reasons"]) == (0, []), rehearsed.said
        assert any(COPIES in each for each in rehearsed.json["told"])
        assert rehearsed.json["own_run"]["to_copy"] > 0
        ended_early(link, topic)
        ends = moves(link, "promote", "promoted", topic)
        go_on(traffic, group)
        turned = FailbackRequest(
            file=link.file, to=back_path(link.file), wins=None, agreed=lambda _: True
        )
        assert failback(load(link.file), turned).done
        back = light_run(link, back_path(link.file))
        there = sum(ends) + 20
        wait_until(lambda: sum(ends_of(link.source, topic)) > there, "it copies back", END)
        assert back.stop() == 0
        moves(link, "revert", "reverted", topic)
        go_on(traffic, group)
        assert ends_of(link.source, topic) > ends
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), group)
    finally:
        traffic.close()
    assert traffic.errors == []
    require_whole(traffic, link.source.bootstrap)
    assert max(Counter(traffic.read[group]).values()) == 1, "nothing is read twice"


@pytest.mark.timeout(600)
def test_groups_move_before_their_topics_without_a_run(reading_link: Link) -> None:
    link = reading_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.read", PARTITIONS)
    before = Traffic(link.source.bootstrap, topic, idempotent=False)
    old, group = Traffic(link.source.bootstrap, topic), f"{link.name}-classic"
    traffic = Traffic(link.gateway.split("'")[1], topic)
    try:
        before.write(1)
        copied_once(link, topic)
        served(link)
        traffic.write(0)
        old.join(group, **OFTEN)
        go_on(old, group)
        old.close()
        traffic.join(group, **OFTEN)
        moves(link, "promote", "promoted", topic, "--groups", group)
        wait_until(lambda: len(traffic.read[group]) > 0, "it reads on the target", 60)
        before.end_writing()
        moves(link, "promote", "promoted", topic)
        traffic.end_writing()
        traffic.sent |= before.sent
        traffic.read[group] += old.read[group]
        all_read(traffic, sum(traffic.sent.values()), group)
    finally:
        for each in (before, old, traffic):
            each.close()
    assert (traffic.errors, old.errors) == ([], [])
    assert max(Counter(traffic.read[group]).values()) == 1, "nothing is read twice"


def copied_once(link: Link, topic: str) -> None:
    """Run the link until its topic is mirrored, and no longer."""
    run = light_run(link)
    wait_for_end(link.target, topic, 20, run)
    assert run.stop() == 0


def ended_early(link: Link, topic: str) -> None:
    """End the command in the middle of it, by a kill and by Ctrl-C: its run ends, too."""
    killed = link.start("promote", "-o", "json")
    run = the_run_of(killed)
    killed.send(signal.SIGKILL)
    wait_until(lambda: not run.is_running(), "its run ends", END)
    interrupted = link.start("promote", "-o", "json")
    run = the_run_of(interrupted)
    interrupted.send(signal.SIGINT)
    assert interrupted.wait(END) == 3
    assert interrupted.json["error"]["code"] == "STOPPED", interrupted.said
    assert not run.is_running()
    assert end(link.source, topic) > end(link.target, topic), "nothing has moved"


def the_run_of(command: Program) -> psutil.Process:
    """Return the run that a command has started."""
    wait_until(
        lambda: COPIES in command.said and bool(found(command)), lambda: f"{command.said}", END
    )
    (run,) = found(command)
    return run


def found(command: Program) -> list[psutil.Process]:
    try:
        return [*psutil.Process(command.pid).children()]
    except psutil.NoSuchProcess:
        return []


def moves(link: Link, command: str, state: str, topic: str, *more: str) -> list[int]:
    """Move; where the machine was too slow, everything went on as before, so do it again."""
    told: Any = None
    for _ in range(3):
        made = link.start(command, *more, "-o", "json")
        code, told = made.wait(END), made.json
        assert told.get("own_run"), made.said
        assert told["own_run"]["to_copy"] > 0, made.said
        if told["state"] == "undone":
            continue
        assert (code, told["state"]) == (0, state), made.said
        assert told["own_run"]["exit_code"] == 0, made.said
        break
    assert told["state"] == state, told
    file = back_path(link.file) if command == "revert" else link.file
    with open_link(load(file)) as opened:
        assert not runs(opened), "it has ended, and said so"
    return ends_of(link.source, topic)
