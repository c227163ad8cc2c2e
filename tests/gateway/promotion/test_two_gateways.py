"""Topics and groups move while their clients are connected to two gateways of the link."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import (
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_clients_of_two_gateways_move_together(gateway_link: Link, here: Here) -> None:
    """Members of one group are at both, and one gateway ends afterwards."""
    link, second = gateway_link, another(gateway_link)
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateways = [served(link), served(second)]
    both = [Traffic(bootstrap_of(each), topic) for each in (link, second)]
    classic, new = f"{link.name}-classic", f"{link.name}-new"
    often = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
    try:
        for number, each in enumerate(both):
            each.write(number)
            each.join(classic, **often)
            each.join(new, **{"group.protocol": "consumer"})
        for each in both:
            wait_until(lambda: all(each.read[group] for group in (classic, new)), "all read", 60)  # noqa: B023
        wait_until(lambda: end(link.target, topic) > 20, f"the run copies: {run.said}", 240)
        told = here("promote", str(link.file), "--dry-run", "-o", "json").json["told"]
        assert f"group {classic}: 2 of 2 members came through the gateways" in told
        assert sum("would take part" in each for each in told) == 1, told
        done = promoted(here, link)
        ends = ends_of(link.source, topic)
        for each in both:
            go_on(each, classic, new)
        assert [each.errors for each in both] == [[], []]
        for traffic in both:
            traffic.end_writing()
        gateways[0].kill9()
        total = sum(count for each in both for count in each.sent.values())
        whole = Traffic("", topic, sent=both[0].sent | both[1].sent)
        for group in (classic, new):
            whole.read[group] = both[0].read[group]
        all_read_by(both, total, classic, new)
    finally:
        for each in both:
            each.close()
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(whole, link.target.bootstrap)
    print(f"held {done['held_ms']}; silent {done['silent_ms']}; longest send",  # noqa: T201
          *(f"{max(each.waits):.2f}" for each in both))  # fmt: skip


def all_read_by(both: list[Traffic], total: int, *groups: str) -> None:
    """All is read, by members at either gateway."""

    def found(group: str) -> Counter[tuple[int, int]]:
        return Counter(read for each in both for read in each.read[group])

    wait_until(lambda: all(len(found(each)) >= total for each in groups), f"all {total}", 90)
