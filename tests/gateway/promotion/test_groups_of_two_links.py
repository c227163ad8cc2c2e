"""A group of the same name on two sources, which two links move to one target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.clients.gateways import all_read, bootstrap_of, ends_of, go_on, promoted, served
from tests.support.clients.moving import PARTITIONS, Traffic, require_whole
from tests.support.clients.quick_links import light_run, quick_link
from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.clusters import Clusters
from tests.support.here import Here
from tests.support.kafka import create_topic
from tests.support.links import Link, wait_for_end
from towpath.cluster.admin import Admin
from towpath.model.groups import ClientGroup
from towpath.model.nouns import Side
from towpath.settings import ClusterConfig

pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.timeout(600)]
OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
SOON = 5.0
"""Seconds for which a member reads nothing at most, where its group is not held."""


@pytest.fixture
def links(
    clusters: Clusters, source: SharedCluster, tmp_path: Path, new_name: Callable[[str], str]
) -> Iterator[tuple[Link, Link]]:
    made = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(quick_link(clusters, folder, new_name(name)))
    first, second = made
    yield first, replace(second, source=source, programs=second.programs)
    for link in made:
        for program in link.programs:
            program.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_second_one_waits_until_the_group_of_the_first_has_nobody_there(
    links: tuple[Link, Link], here: Here, protocol: str
) -> None:
    group = f"of-both-{links[0].name}"
    begun = [begin(link, group, protocol) for link in links]
    (first, second), (ours, theirs) = links, begun
    try:
        for traffic in begun:
            go_on(traffic, group)
        assert codes(here, second, "--dry-run") == []
        promoted(here, first, "--topics", ours.topic)
        go_on(ours, group)
        assert codes(here, second, "--dry-run") == ["PROMOTE_MEMBERS_THERE"]
        since = len(theirs.times[group])
        assert codes(here, second, "--topics", theirs.topic) == ["PROMOTE_MEMBERS_THERE"]
        go_on(theirs, group)
        at = theirs.times[group][since:]
        assert max(b - a for a, b in pairwise(at)) < SOON, "nobody was held"
        ours.end_writing()
        all_read(ours, sum(ours.sent.values()), group)
        ours.close()
        before = positions(first, group)
        ends = dict(enumerate(ends_of(first.target, ours.topic)))
        assert before == {f"{ours.topic}-{part}": each for part, each in ends.items()}
        promoted(here, second, "--topics", theirs.topic)
        go_on(theirs, group)
        theirs.end_writing()
        all_read(theirs, sum(theirs.sent.values()), group)
        after = positions(first, group)
    finally:
        for traffic in begun:
            traffic.close()
    assert {place: after[place] for place in before} == before, "those of the first link stay"
    for traffic in begun:
        require_whole(traffic, first.target.bootstrap)
        assert traffic.errors == []


def begin(link: Link, group: str, protocol: str) -> Traffic:
    """Let a producer and a member of a group come to the gateway of a link that runs."""
    topic = create_topic(link.source.bootstrap, f"{link.name}.moved", PARTITIONS)
    run = light_run(link)
    served(link)
    traffic = Traffic(bootstrap_of(link), topic)
    traffic.write(0)
    wait_for_end(link.target, topic, 20, run)
    traffic.join(group, **(OFTEN if protocol == "classic" else {"group.protocol": "consumer"}))
    return traffic


def codes(here: Here, link: Link, *more: str) -> list[str]:
    done = here("promote", str(link.file), *more, "-o", "json")
    return [each["code"] for each in done.json["reasons"]]


def positions(link: Link, group: str) -> dict[str, int]:
    """Return the offsets of a group on the target."""
    config = ClusterConfig.model_validate({"bootstrap": link.target.bootstrap})
    with Admin(config, Side.TARGET) as target:
        found = target.groups.offsets([ClientGroup(group)])
    return {str(tp): each.offset for theirs in found.values() for tp, each in theirs.items()}
