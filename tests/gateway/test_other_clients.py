"""Clients of all makers move to the target and back, and no application is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest

from tests.support.clients.gateways import promoted, reverted, served, turned_round
from tests.support.clients.moving import PARTITIONS
from tests.support.clients.others.programs import OtherClient, go_on, require_whole
from tests.support.here import Here
from tests.support.kafka import create_topic, wait_until
from tests.support.links import Link, end, wait_for_end
from towpath.runtime.clock import now_ms

Configs = Mapping[str, str]
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]


@dataclass(frozen=True)
class Library:
    """A library, and how its clients are configured.

    Attributes:
        name: The library, with its version where the test chooses it.
        idempotent: Configs of an idempotent producer; `plain`, of others.
        groups: Configs of the members of some groups.
        instance: The config that makes a member a static one.
        survives: Whether it goes on after all brokers that it knows were away.
        again: The groups whose members may read some records twice where they rebalance.
    """

    name: str
    idempotent: Configs
    plain: Sequence[Configs]
    groups: Mapping[str, Configs]
    instance: str
    survives: bool = True
    again: Sequence[str] = ("cooperative-sticky",)


def _acks(name: str, **more: str) -> list[Configs]:
    return [{name: each, **more} for each in ("0", "1", "-1")]


_SESSION = "30000"
"""Longer than a gateway is away that is killed and started: else members lose their partitions, and
read again what they have not committed."""


def _session(assignor: str) -> Configs:
    return {"assignor": assignor, "session_timeout_ms": _SESSION, "heartbeat_interval_ms": "500"}


def _java(version: str) -> Library:
    session = {"session.timeout.ms": _SESSION, "heartbeat.interval.ms": "500"}
    package = "org.apache.kafka.clients.consumer"
    groups: dict[str, Configs] = {
        name: {"partition.assignment.strategy": f"{package}.{kind}Assignor", **session}
        for name, kind in (
            ("range", "Range"),
            ("roundrobin", "RoundRobin"),
            ("sticky", "Sticky"),
            ("cooperative-sticky", "CooperativeSticky"),
        )
    }
    if not version.startswith("3."):
        for each in ("uniform", "range"):
            groups[f"server-{each}"] = {"group.protocol": "consumer", "group.remote.assignor": each}
    plain = [{"enable.idempotence": "false", **each} for each in _acks("acks")]
    return Library(f"kafka-clients {version}", {}, plain, groups, "group.instance.id")


_CLASSIC = ("range", "roundrobin", "sticky")
_COOPERATIVE = "cooperative-sticky"
_RDKAFKA = {"session.timeout.ms": _SESSION, "heartbeat.interval.ms": "500"}
LIBRARIES = [
    Library(
        "kafka-python",
        {},
        [{"enable_idempotence": "false", **each} for each in _acks("acks")],
        {each: _session(each) for each in (*_CLASSIC, _COOPERATIVE)},
        "group_instance_id",
        again=(*_CLASSIC, _COOPERATIVE),
    ),
    Library(
        "aiokafka",
        {"enable_idempotence": "true"},
        _acks("acks"),
        {each: _session(each) for each in _CLASSIC},
        "group_instance_id",
    ),
    Library(
        "franz-go",
        {},
        _acks("acks", idempotent="false"),
        {each: {"assignor": each} for each in (*_CLASSIC, _COOPERATIVE, "server")},
        "instance",
    ),
    Library(
        "kcat",
        {"enable.idempotence": "true"},
        _acks("acks"),
        {
            each: {"partition.assignment.strategy": each, **_RDKAFKA}
            for each in ("range", "roundrobin", _COOPERATIVE)
        },
        "group.instance.id",
        survives=False,
    ),
    _java("3.9.2"),
    _java("4.1.2"),
    _java("4.4.0"),
]


class _Producers:
    """Producers that begin with numbers of their own."""

    def __init__(self, link: Link, topic: str, library: str) -> None:
        self._link, self._topic, self._library = link, topic, library
        self.every: list[OtherClient] = []
        self.sent: dict[str, int] = {}

    def begin(self, *configs: Configs) -> list[OtherClient]:
        made = []
        for each in configs:
            name, folder = str(len(self.every)), self._link.folder
            client = OtherClient(folder, self._library, "write", name, self._topic, each)
            self.every.append(client)
            made.append(client)
            client.start(self._link.gateway.split("'")[1])
        return made

    def end(self, *clients: OtherClient) -> None:
        for each in clients:
            each.stop()
            self.sent[each.name] = each.number("SENT")


def _members(link: Link, topic: str, library: Library) -> dict[str, list[OtherClient]]:
    """Return two members of each group, of which one is static."""
    found = {}
    for name, configs in library.groups.items():
        group = f"{link.name}-{name}"
        static = {**configs, library.instance: f"{group}-static"}
        found[name] = [
            OtherClient(link.folder, library.name, "read", group, topic, of, label)
            for label, of in (("a", configs), ("b", static))
        ]
    return found


def _read(members: Sequence[OtherClient]) -> Counter[tuple[int, int]]:
    return Counter(each for member in members for each in member.read)


def _again(members: Sequence[OtherClient], killed: tuple[int, int]) -> int:
    """Return how many records were read twice, but for those after the gateway was killed.

    Members that join anew then read again what they have not committed.
    """
    known, again = set[tuple[int, int]](), 0
    for at, place in sorted(each for member in members for each in member.times):
        again += place in known and not killed[0] <= at <= killed[1]
        known.add(place)
    return again


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name.replace(" ", "-"))
def test_clients_move_and_come_back_without_an_error(
    gateway_link: Link, here: Here, library: Library
) -> None:
    link = gateway_link
    topic = create_topic(link.source.bootstrap, f"{link.name}.others", PARTITIONS)
    run, gateway = link.run_inside(), served(link)
    producers = _Producers(link, topic, library.name)
    groups = _members(link, topic, library)
    readers = [member for members in groups.values() for member in members]
    try:
        (lasting,) = producers.begin(library.idempotent)
        plain = producers.begin(*library.plain)
        for each in readers:
            each.start(link.gateway.split("'")[1])
        go_on(*readers)
        wait_for_end(link.target, topic, 20, run)
        spans = [now_ms()]
        there = promoted(here, link)
        begun = end(link.source, topic)
        go_on(*readers)
        spans.append(now_ms())
        # What is sent without a number is lost or doubled by any broker that is killed.
        producers.end(*plain)
        if library.survives:
            gateway.kill9()
            gateway = served(link)
        go_on(*readers)
        spans.append(now_ms())
        plain = producers.begin(*library.plain)
        run = turned_round(link)
        wait_for_end(link.source, topic, begun + 20, run)
        back = reverted(here, link)
        go_on(*readers)
        spans.append(now_ms())
        producers.end(lasting, *plain)
        total = sum(producers.sent.values())
        wait_until(
            lambda: all(len(_read(each)) >= total for each in groups.values()),
            lambda: (
                f"all {total} are read: {[(k, len(_read(each))) for k, each in groups.items()]}"
            ),
            120,
        )
        for each in readers:
            each.stop()
    finally:
        for each in [*producers.every, *readers]:
            each.kill()
    told = [told for each in [*producers.every, *readers] for told in each.failures]
    assert told == []
    require_whole(producers.sent, link.source.bootstrap, topic)
    twice = {name: _again(each, (spans[1], spans[2])) for name, each in groups.items()}
    print(f"\n{library.name}: held {there['held_ms']}, {back['held_ms']} ms, read twice {twice}")  # noqa: T201
    for each in producers.every:
        print(f"  {each}: longest {each.number('LONGEST')} ms")  # noqa: T201
    for each in readers:
        silent = [each.silent(*span) for span in pairwise(spans)]
        print(f"  {each}: silent {silent} ms there, killed, back")  # noqa: T201
    again = {name for name, count in twice.items() if count}
    assert again <= {*library.again}, f"read twice: {twice}"
