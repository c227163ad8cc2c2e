"""Topics and groups move while their clients are at several gateways, and processes, of a link."""

from __future__ import annotations

import re

import psutil
import pytest

from tests.support.clients.gateways import (
    all_read_by,
    another,
    bootstrap_of,
    ends_of,
    go_on,
    promoted,
    served,
)
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.spark(long=True)
def test_clients_of_two_gateways_move_together(gateway_link: Link, here: Here) -> None:
    """Members of one group are at both, and at two processes of the first one, which ends last."""
    link, second = gateway_link, another(gateway_link)
    link.gateway = re.sub(r" metrics: '.*'", " processes: 2", link.gateway)
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = link.run_inside()
    gateways = [served(link), served(second)]
    both_listen = lambda: gateways[0].said.count("listening on") == 2  # noqa: E731
    wait_until(both_listen, lambda: f"both processes listen: {gateways[0].said}", 60)
    processes = psutil.Process(gateways[0].pid).children()
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
        wait_for_end(link.target, topic, 20, run)
        told = here("promote", str(link.file), "--dry-run", "-o", "json").json["told"]
        assert f"group {classic}: 2 of 2 members came through the gateways" in told
        assert sum("would take part" in each for each in told) == 2, told
        done = promoted(here, link)
        ends = ends_of(link.source, topic)
        for each in both:
            go_on(each, classic, new)
        assert [each.errors for each in both] == [[], []]
        for traffic in both:
            traffic.end_writing()
        total = sum(count for each in both for count in each.sent.values())
        all_read_by(both, total, classic, new)
    finally:  # members that cannot reach their coordinator any more take a minute to leave
        for each in both:
            each.close()
    gateways[0].kill9()
    psutil.wait_procs(processes, timeout=30)
    assert not any(each.is_running() for each in processes), "none is left without its parent"
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(Traffic("", topic, sent=both[0].sent | both[1].sent), link.target.bootstrap)
    strays_are_kept(link, here, run, topic)
    print(f"held {done['held_ms']}; silent {done['silent_ms']}; longest send",  # noqa: T201
          *(f"{max(each.waits):.2f}" for each in both))  # fmt: skip


def strays_are_kept(link: Link, here: Here, run: RunInside, topic: str) -> None:
    """Records that still come to the source are kept aside by the run, and replayed once."""
    for number in range(2):
        produce(link.source.bootstrap, topic, [Record(b"k", b"stray %d" % number)])
        said = f"kept aside: {number + 1} record"
        wait_until(
            lambda: any(said in each for each in run.progress.strays),  # noqa: B023
            lambda: f"{run.progress.strays} {run.said}",
            60,
        )
    rows = here("status", str(link.file), "-o", "json").json["partitions"]
    assert sum(row["stray_records"] for row in rows) == 2
    assert sum(row["stray_offsets_not_kept"] for row in rows) == 0
    done = here("salvage", "replay", str(link.file), "--topics", topic, "--yes", "-o", "json")
    assert (done.code, done.json["left"]) == (0, 0), done.said
    there = [each.value for each in consume(link.target.bootstrap, topic, range(PARTITIONS))]
    assert [there.count(b"stray %d" % number) for number in range(2)] == [1, 1]
