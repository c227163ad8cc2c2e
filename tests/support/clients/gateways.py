"""A gateway of a link, topics that move through it and back, and what its clients see of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.support.clients.moving import PARTITIONS, Read, Traffic
from tests.support.clients.moving_java import JavaTraffic
from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.inside import RunInside
from tests.support.here import Here
from tests.support.kafka import end_offsets, wait_until
from tests.support.links import Link, end, wait_for_end
from tests.support.network.proxy import Proxy
from tests.support.program import Program
from towpath.dev import ports
from towpath.dev.broker import LocalCluster
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.settings import load

INFORMED = ("Connect to", "Disconnected", "_ALL_BROKERS_DOWN")
"""What librdkafka tells of an address that leads nowhere for a moment."""


def served(link: Link, *faults: str) -> Program:
    if faults:
        module, name = "tests.support.gateway_victim", f"victim-{len(link.programs)}"
        words = str(link.file), *faults
        program = Program(link.folder, *words, name=name, module=module, nursery=link.nursery)
        link.programs.append(program)
    else:
        program = link.start("gateway")
    told = lambda: f"a gateway listens: {program.said}"  # noqa: E731
    wait_until(lambda: "listening on" in program.said, told, 60)
    return program


def another(link: Link) -> Link:
    """Return the same link with a gateway of its own, at other addresses."""
    folder = link.folder / "another"
    folder.mkdir(exist_ok=True)
    made = replace(link, folder=folder, programs=link.programs)
    for each in re.findall(r"127\.0\.0\.1:\d+", link.gateway):
        made.gateway = made.gateway.replace(each, f"127.0.0.1:{ports.reserve(1)[0]}")
    return made


def adopting(link: Link, told: str) -> None:
    """Let the gateway of a link take over the address that clients know of its only broker."""
    (node,) = re.findall(r", nodes: \{(\d+):", link.gateway)
    adopting_all(link, {int(node): told})


def adopting_all(link: Link, told: Mapping[int, str]) -> None:
    """Let the gateway of a link take over all addresses that clients know of its source."""
    nodes = ", ".join(f"{node}: '{each}'" for node, each in told.items())
    link.gateway = re.sub(
        r", nodes: \{[^}]*\}", f", adopt: true, nodes: {{{nodes}}}", link.gateway, count=1
    )


def adopted(link: Link) -> str:
    """Let it take over those behind a proxy; return them."""
    assert isinstance(link.source, SharedCluster)
    told = link.source.through("PROXIED").bootstrap
    adopting(link, told)
    return told


def bootstrap_of(link: Link) -> str:
    """Return where clients of a link's gateway begin."""
    return link.gateway.split("'")[1]


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


def ends_of(cluster: LocalCluster, topic: str) -> list[int]:
    return [end_offsets(cluster.bootstrap, topic, n)[1] for n in range(PARTITIONS)]


def begin_clients(traffic: Traffic, name: str) -> tuple[str, str]:
    """Begin two producers and a member of a group of each protocol; return the two groups."""
    classic, new = f"{name}-classic", f"{name}-new"
    for number in range(2):
        traffic.write(number)
    traffic.join(classic, **{"heartbeat.interval.ms": 500, "session.timeout.ms": 6000})
    traffic.join(new, **{"group.protocol": "consumer"})
    return classic, new


def go_on(traffic: Traffic, *groups: str) -> None:
    before = {group: len(traffic.read[group]) for group in groups}
    wait_until(
        lambda: all(len(traffic.read[each]) > before[each] + 30 for each in groups),
        lambda: f"members read on: {traffic.errors}",
        60,
    )


def come_and_move(
    link: Link,
    here: Here,
    traffic: Traffic,
    groups: tuple[str, str],
    run: RunInside,
    address: Proxy,
) -> None:
    """Take over running clients with the source's address, promote, and read all that they send."""
    (classic, new), topic = groups, traffic.topic
    wait_until(lambda: len(traffic.read[classic]) > 50 < len(traffic.read[new]), "all read", 60)
    wait_for_end(link.target, topic, 20, run)
    address.close()
    gateway = served(link)
    go_on(traffic, classic, new)
    promoted(here, link)
    begun = end(link.source, topic)
    go_on(traffic, classic, new)
    assert end(link.source, topic) == begun, gateway.said
    traffic.end_writing()
    all_read(traffic, sum(traffic.sent.values()), classic, new)


def java_come_and_move(
    link: Link,
    here: Here,
    clients: JavaTraffic,
    run: RunInside,
    bootstrap: str,
    addresses: Sequence[Proxy],
) -> tuple[Program, int]:
    """Take over running Java clients with the source's addresses, promote, and let them go on.

    Returns:
        The gateway, and where the topic ended at the source when it moved.
    """
    topic = clients.topic
    clients.start(bootstrap)
    wait_for_end(link.target, topic, 20, run)
    for each in addresses:
        each.close()
    gateway = served(link)
    clients.go_on()
    promoted(here, link)
    begun = end(link.source, topic)
    clients.go_on()
    assert end(link.source, topic) == begun, "nothing came to the source any more"
    return gateway, begun


def all_read(traffic: Traffic, total: int, *groups: str) -> None:
    wait_until(
        lambda: all(len({*traffic.read[each]}) >= total for each in groups),
        f"all {total} are read",
        90,
    )


def all_read_by(both: list[Traffic], total: int, *groups: str) -> None:
    """Wait until all is read, by members at any of several gateways."""

    def found(group: str) -> set[Read]:
        return {read for each in both for read in each.read[group]}

    wait_until(lambda: all(len(found(each)) >= total for each in groups), f"all {total} read", 90)
