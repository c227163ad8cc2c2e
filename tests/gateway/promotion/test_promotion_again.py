"""Topics that came back move once more, by the next link and its own gateway."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import (
    all_read,
    begin_clients,
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


@pytest.mark.timeout(900)
def test_topics_that_came_back_move_again(gateway_link: Link, here: Here) -> None:
    """Both clusters know the producers from before, with sequences that are long past."""
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.again", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    traffic = Traffic(link.gateway.split("'")[1], topic)
    try:
        classic, new = begin_clients(traffic, link.name)
        go_on(traffic, classic, new)
        wait_for_end(link.target, topic, 20, run)
        promoted(here, link)
        go_on(traffic, classic, new)
        run.stop()
        left = end(link.source, topic)
        back = turned_round(link)
        wait_for_end(link.source, topic, left + 20, back)
        reverted(here, link)
        back.stop()
        go_on(traffic, classic, new)

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
        wait_until(
            lambda: "listening on" in gateway.said, lambda: f"it listens: {gateway.said}", 60
        )
        go_on(traffic, classic, new)
        wait_for_end(link.target, topic, known + 20, again)
        done = here("promote", str(file), "-o", "json")
        for _ in range(3):
            if done.json["state"] == "undone":
                done = here("promote", str(file), "-o", "json")
        assert done.json["state"] == "promoted", done.said
        ends = ends_of(link.source, topic)
        go_on(traffic, classic, new)
        traffic.end_writing()
        all_read(traffic, sum(traffic.sent.values()), classic, new)
    finally:
        traffic.close()
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)
    for group in (classic, new):
        # What a member had read and not committed when its gateway was stopped comes once more.
        assert max(Counter(traffic.read[group]).values()) <= 2
