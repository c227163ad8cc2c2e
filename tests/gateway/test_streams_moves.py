"""Kafka Streams applications move to the target and back, and count each record once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import pytest

from tests.support.clients.applications import JavaApplication, Writer
from tests.support.clients.gateways import (
    another,
    bootstrap_of,
    promoted,
    reverted,
    served,
    turned_round,
)
from tests.support.here import Here
from tests.support.kafka import consume, create_topic, wait_until
from tests.support.links import Link, end, wait_for_end

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.soak]
PARTITIONS, _WRITES = 2, 35
FORMS = [
    ("4.4.0", "streams", "at_least_once"),
    ("4.4.0", "streams", "exactly_once_v2"),
    ("4.4.0", "classic", "at_least_once"),
    ("4.4.0", "classic", "exactly_once_v2"),
    ("3.9.2", "classic", "at_least_once"),
    ("3.9.2", "classic", "exactly_once_v2"),
]


class Counting:
    """A Streams application of two instances that counts what a writer writes.

    Args:
        link: The link, whose topics all of it has.
        version: The version of Kafka Streams.
        protocol: The protocol of its group.
        guarantee: What it guarantees.
    """

    def __init__(self, link: Link, version: str, protocol: str, guarantee: str) -> None:
        self.link = link
        at = link.source.bootstrap
        self.topic = create_topic(at, f"{link.name}.words", PARTITIONS)
        self.counts = create_topic(at, f"{link.name}.counts", PARTITIONS)
        configs = {"auto.offset.reset": "earliest", "processing.guarantee": guarantee}
        if protocol == "streams":
            configs["group.protocol"] = protocol
        else:
            configs |= {"session.timeout.ms": "10000", "heartbeat.interval.ms": "1000"}
        self.parts = [
            JavaApplication(
                link.folder, "streams", f"{link.name}-app", self.topic, self.counts, configs,
                version, instance=name,
            )
            for name in ("a", "b")
        ]  # fmt: skip
        self.writer = Writer(self.topic, PARTITIONS)

    def start(self, second: Link | None = None) -> None:
        """Begin through the gateway, one instance through that of `second`, if there is one."""
        first, other = (
            {"bootstrap.servers": bootstrap_of(each)} for each in (self.link, second or self.link)
        )
        self.writer.start(first)
        for each, at in zip(self.parts, (first, other), strict=True):
            each.start(at)

    def results(self, of: str) -> dict[str, list[int]]:
        """Return the counts of each word on a cluster, as they follow each other."""
        found = defaultdict[str, list[int]](list)
        for each in consume(of, self.counts, range(PARTITIONS)):
            found[(each.key or b"").decode()].append(int(each.value or 0))
        return found

    def go_on(self, of: str) -> None:
        """Wait until it has counted some more."""

        def counted() -> int:
            for each in self.parts:
                each.check()
            return sum(map(len, self.results(of).values()))

        known = counted()
        wait_until(lambda: counted() > known + 60, lambda: f"it counts: {self.said}", 120)

    @property
    def said(self) -> list[str]:
        """What its instances said last."""
        return [each.said[-800:] for each in self.parts]

    def wait_until_ready(self, here: Here) -> None:
        """Wait until nothing forbids a promotion: the link copies all topics."""

        def reasons() -> list[dict[str, str]]:
            found = here("promote", str(self.link.file), "--dry-run", "-o", "json").json["reasons"]
            return [*found]

        wait_until(lambda: not reasons(), "nothing forbids it", 240)

    def require_all_topics(self, here: Here) -> None:
        """Fail unless a promotion without its inner topics is refused by name."""
        told = here(
            "promote", str(self.link.file), "--topics", self.topic, "--dry-run", "-o", "json"
        ).json
        said = {each["code"]: each["text"] for each in told["reasons"]}
        assert f"{self.link.name}-app-counts-changelog" in said["PROMOTE_STREAMS_TOPICS"]
        assert f"{self.link.name}-app-byword-repartition" in said["PROMOTE_STREAMS_TOPICS"]

    def end(self, of: str) -> None:
        """End the writer, and the application once it has counted all; fail unless all is once."""
        self.writer.stop()
        wanted = Counter(value.split(b":")[0].decode() for value in self.writer.delivered)
        right = {word: [*range(1, count + 1)] for word, count in wanted.items()}
        done: Callable[[], bool] = lambda: all(  # noqa: E731
            max(found, default=0) >= wanted[word] for word, found in self.results(of).items()
        )
        wait_until(done, lambda: f"all is counted: {self.said}", 120)
        for each in self.parts:
            each.stop()
        assert self.results(of) == right, "each record is counted once, and in order"

    def kill(self) -> None:
        """Leave nothing of it behind."""
        self.writer.leave()
        for each in self.parts:
            each.kill()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("version", "protocol", "guarantee"), FORMS)
def test_a_streams_application_moves_and_comes_back(
    gateway_link: Link, here: Here, version: str, protocol: str, guarantee: str
) -> None:
    link = gateway_link
    run = link.run_inside()
    served(link)
    application = Counting(link, version, protocol, guarantee)
    try:
        application.start()
        application.go_on(link.source.bootstrap)
        application.wait_until_ready(here)
        application.require_all_topics(here)
        there = promoted(here, link)
        application.go_on(link.target.bootstrap)
        begun = end(link.source, application.counts)
        run = turned_round(link)
        wait_for_end(link.source, application.counts, begun, run)
        back = reverted(here, link)
        application.go_on(link.source.bootstrap)
        application.end(link.source.bootstrap)
    finally:
        application.kill()
    print(f"{version} {protocol} {guarantee}: {there} {back}")  # noqa: T201


@pytest.mark.timeout(900)
@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_instances_at_two_gateways_move_together(
    gateway_link: Link, here: Here, protocol: str
) -> None:
    link, second = gateway_link, another(gateway_link)
    run = link.run_inside()
    gateways = [served(link), served(second)]
    application = Counting(link, "4.4.0", protocol, "at_least_once")
    try:
        application.start(second)
        application.go_on(link.source.bootstrap)
        application.wait_until_ready(here)
        promoted(here, link)
        application.go_on(link.target.bootstrap)
        application.end(link.target.bootstrap)
    finally:
        application.kill()
    assert run.running
    assert all(each.running for each in gateways)


@pytest.mark.timeout(900)
def test_an_instance_that_was_closed_is_waited_for(gateway_link: Link, here: Here) -> None:
    """It stays a member until its session timeout, as Kafka Streams does not leave its group."""
    link = gateway_link
    run = link.run_inside()
    served(link)
    application = Counting(link, "4.4.0", "classic", "exactly_once_v2")
    try:
        application.start()
        application.go_on(link.source.bootstrap)
        application.wait_until_ready(here)
        application.parts.pop().stop()
        done = promoted(here, link)
        assert done["silent_ms"] > 4000, "the source held it for a member for ten seconds"
        application.go_on(link.target.bootstrap)  # from what the changelogs on the target tell
        application.end(link.target.bootstrap)
    finally:
        application.kill()
    assert run.running


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", [3, 5])
@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_a_gateway_that_is_killed_around_writes_of_a_move_counts_nothing_twice(
    gateway_link: Link, here: Here, protocol: str, first: int
) -> None:
    """Until a kill comes behind the record, the application goes on at the source."""
    link, states = gateway_link, dict[int, str]()
    run = link.run_inside()
    gateway = served(link)
    application = Counting(link, "4.4.0", protocol, "exactly_once_v2")
    try:
        application.start()
        application.go_on(link.source.bootstrap)
        application.wait_until_ready(here)
        for step in range(first, _WRITES, 4):
            gateway.close()
            gateway = served(link, f"kill={step}")
            application.go_on(link.source.bootstrap)
            asked = link.start("promote", "-o", "json")
            wait_until(lambda: not (gateway.running and asked.running), "one ends", 120)  # noqa: B023
            gateway.close()
            gateway = served(link)
            asked.wait()
            states[step] = str(asked.json["state"])
            if states[step] == "promoted":
                break
            application.go_on(link.source.bootstrap)
        else:
            promoted(here, link)
        application.go_on(link.target.bootstrap)
        application.end(link.target.bootstrap)
    finally:
        application.kill()
    print(f"{protocol}: {states} {run.running}")  # noqa: T201
    assert "undone" in states.values()
