"""Java clients read from the target before their topics move, and no application is told of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.clients.gateways import ends_of, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.moving_java import MovingClient, configs_of
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


def read_on(*readers: MovingClient) -> None:
    known = {each.name: len(each.read) for each in readers}
    wait_until(
        lambda: all(len(each.read) > known[each.name] + 50 for each in readers),
        lambda: f"members read on: {[each.failures for each in readers]}",
        120,
    )


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("version", "protocols"),
    [
        ("3.9.2", ["classic"]),
        ("4.1.2", ["classic", "consumer"]),
        ("4.4.0", ["classic", "consumer"]),
    ],
)
def test_java_members_wait_then_go_on_where_they_were(
    reading_link: Link, here: Here, version: str, protocols: list[str]
) -> None:
    link, old = reading_link, reading_link.folder / "old"
    old.mkdir()
    topic = create_topic(link.source.bootstrap, f"{link.name}.java", PARTITIONS)
    run, bootstrap = link.run_inside(), link.gateway.split("'")[1]
    served(link)
    writers = [MovingClient(link.folder, version, "write", str(n), topic) for n in range(2)]
    ways = [
        [
            MovingClient(folder, version, "read", f"{link.name}-{each}", topic, configs_of(each))
            for each in protocols
        ]
        for folder in (old, link.folder)
    ]
    before, readers = ways
    every = [*writers, *before, *readers]
    traffic = Traffic(bootstrap, topic)
    try:
        wait_for_end(link.target, topic, -1, run)
        for each in writers:
            each.start(bootstrap)
        for each in before:
            each.start(link.source.bootstrap)
        read_on(*before)
        wait_for_end(link.target, topic, 20, run)
        for each in readers:
            each.start(bootstrap)
        for each in before:
            each.stop()
        assert [each.read for each in readers] == [[] for _ in readers], "members wait"
        for each in readers:
            promoted(here, link, "--groups", each.name)
        read_on(*readers)
        there = promoted(here, link)
        ends = ends_of(link.source, topic)
        read_on(*readers)
        for each in writers:
            each.stop()
            traffic.sent[int(each.name)] = each.number("SENT")
        total = sum(traffic.sent.values())
        pairs = [*zip(before, readers, strict=True)]
        wait_until(
            lambda: all(len({*one.read, *two.read}) >= total for one, two in pairs),
            f"all {total} are read",
            120,
        )
        for each in readers:
            each.stop()
    finally:
        for each in every:
            each.kill()
    assert [each.failures for each in every] == [[] for _ in every]
    assert ends_of(link.source, topic) == ends, "nothing came to the source any more"
    require_whole(traffic, link.target.bootstrap)
    for first, second in pairs:
        assert max(Counter([*first.read, *second.read]).values()) == 1, f"{first.name} read twice"
    longest = [each.number("LONGEST") for each in writers]
    print(f"{version}: held {there['held_ms']} ms; longest send {longest} ms")  # noqa: T201
