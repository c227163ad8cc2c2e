"""Clients that read from the target go back to the source and read there, then forth again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

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
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.program import Program
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.settings import load

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}


@pytest.mark.timeout(900)
def test_clients_that_read_from_the_target_go_back_and_forth_again(
    reading_link: Link, here: Here
) -> None:
    link = reading_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.back", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    classic, new, late = (f"{link.name}-{each}" for each in ("classic", "new", "late"))
    try:
        wait_for_end(link.target, topic, -1, run)
        for number in range(2):
            traffic.write(number)
        traffic.join(classic, **OFTEN)
        traffic.join(new, **{"group.protocol": "consumer"})
        go_on(traffic, classic, new)
        promoted(here, link)
        go_on(traffic, classic, new)
        run.stop()
        left = end(link.source, topic)
        back = turned_round(link)
        wait_for_end(link.source, topic, left + 20, back)
        part = here("revert", str(link.file), "--topics", f"{topic}-other", "-o", "json")
        assert part.json["state"] == "refused", part.said
        reverted(here, link)
        back.stop()
        ends = ends_of(link.target, topic)
        go_on(traffic, classic, new)
        traffic.join(late, **OFTEN)
        go_on(traffic, late)
        errors = [*traffic.errors]
        twice = {group: max(Counter(traffic.read[group]).values()) for group in (classic, new)}
        assert ends_of(link.target, topic) == ends, "nothing came to the target any more"
        gateway.kill9()
        gateway = served(link)
        go_on(traffic, classic, new, late)

        forth_again(link, here, gateway, topic, lambda: go_on(traffic, classic, new, late))
        ends = ends_of(link.source, topic)
        go_on(traffic, classic, new, late)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), classic, new, late)
    finally:
        traffic.close()
    assert errors == [], "no application was told anything"
    assert twice == {classic: 1, new: 1}, "nothing is read twice, until the gateway is killed"
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)


def forth_again(
    link: Link, here: Here, gateway: Program, topic: str, go_on: Callable[[], None]
) -> None:
    """Move all groups, then the topic, with the link that the link back is turned into."""
    file = link.file.with_name(f"{link.name}-2.yaml")
    first = link.file.with_name(f"{link.name}-back.yaml")
    asked = FailbackRequest(file=first, to=file, wins=None, agreed=lambda _: True)
    assert failback(load(first), asked).done
    file.write_text(f"{file.read_text()}\ngateway: {link.gateway}\n")
    known = end(link.target, topic)
    again = RunInside(file)
    link.programs.append(again)
    gateway.stop()
    gateway = Program(link.folder, "gateway", str(file), name="gateway-again")
    link.programs.append(gateway)
    wait_until(lambda: "listening on" in gateway.said, lambda: f"it listens: {gateway.said}", 60)
    wait_for_end(link.target, topic, known + 20, again)
    groups = ",".join(f"{link.name}-{each}" for each in ("classic", "new", "late"))

    def moved(*more: str) -> bool:
        done = here("promote", str(file), *more, "-o", "json")
        return bool(done.json["state"] == "promoted")

    # Sessions of members that the last gateway had must end first.
    wait_until(lambda: moved("--groups", groups), "the groups move once more", 180)
    go_on()
    wait_until(moved, "the topic moves once more", 180)
