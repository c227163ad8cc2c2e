"""A link with two gateways, and clients of these, for rounds of trouble."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from tests.support.clients.gateways import another, bootstrap_of, served
from tests.support.clients.moving import PARTITIONS, VALUE, Traffic
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.clients.quick_links import SESSION, light_run
from tests.support.here import Here
from tests.support.kafka import consume, wait_until
from tests.support.links import Link, end
from tests.support.program import Program
from towpath.ledger.topic import TOPIC
from towpath.mirror.failback.failback import failback
from towpath.mirror.failback.request import FailbackRequest
from towpath.settings import load

OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
MEMBERS: dict[str, dict[str, Any]] = {
    "classic": OFTEN,
    "cooperative": {**OFTEN, "partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
RATE = 12
PATIENCE = 180.0


@dataclass
class Scene:
    """A link with its run and two gateways, which are started again whenever they have ended.

    Args:
        link: The link.
        here: Runs commands.

    Attributes:
        both: The link with each of its gateways.
        gateways: Their processes; `run`, that of the run.
        back: The run of the link back, while there is one.
        leader: Which gateway leads promotions: the one that began first.
    """

    link: Link
    here: Here
    both: list[Link] = field(init=False)
    gateways: list[Program] = field(init=False)
    run: Program = field(init=False)
    back: Program | None = None
    leader: int = 0
    _back_file: Path | None = None

    def __post_init__(self) -> None:
        self.both = [self.link, another(self.link)]
        self.run = light_run(self.link)
        self.gateways = [self._serve(each) for each in self.both]

    def go_on(self) -> None:
        """Start what has ended."""
        for number, each in enumerate(self.both):
            if not self.gateways[number].running:
                self.gateways[number] = self._serve(each)
                self.leader = 1 - number
        if not self.run.running:
            self.run = light_run(self.link)
        if self.back is not None and not self.back.running:
            self.back = light_run(self.link, self._back_file)

    def turn_round(self) -> None:
        """Turn round what was promoted, and begin to run the link back."""
        folder = self.link.folder
        self._back_file = folder / f"back-{len(self.link.programs)}.yaml"
        asked = FailbackRequest(
            file=self.link.file, to=self._back_file, wins=None, agreed=lambda _: True
        )
        report = failback(load(self.link.file), asked)
        assert report.done, report
        self.back = light_run(self.link, self._back_file)

    def end_back(self) -> None:
        """Stop the run of the link back, so that the next one need not wait for it."""
        if self.back is not None:
            self.back.send(signal.SIGTERM)
            with suppress(AssertionError):
                self.back.wait(20)
            self.back.close()
        self.back = None

    def kept_ledgers(self) -> Path:
        """Write what both ledgers say to a file; return the file."""
        file = self.link.folder / "ledgers.txt"
        with file.open("w") as kept:
            for each in (self.link.target, self.link.source):
                with suppress(KafkaException):  # the source has one once topics went back
                    for entry in consume(each.bootstrap, TOPIC, (0, 1)):
                        kept.write(f"{each.bootstrap} {entry}\n")
        return file

    def _serve(self, link: Link) -> Program:
        return served(link, f"orders={link.folder / 'orders'}", "ids")

    @property
    def said(self) -> str:
        """What its processes printed last."""
        every = [self.run, *filter(None, [self.back]), *self.gateways]
        return "\n".join(each.said[-1500:] for each in every)


class Clients:
    """Producers and members of a group of one round, at both gateways.

    Args:
        scene: Where they are.
        topic: What they write and read.
        dice: Draws what kind they are.
    """

    def __init__(self, scene: Scene, topic: str, dice: random.Random) -> None:
        self._scene, self._topic = scene, topic
        self._kind = dice.choice(sorted(MEMBERS))
        self._group = f"{topic}-{self._kind}"
        at = [bootstrap_of(each) for each in scene.both]
        self._sure = [Traffic(each, topic, rate=RATE) for each in at]
        self._plain = Traffic(dice.choice(at), topic, idempotent=False, rate=RATE)
        self.topics, self.kind = topic, self._kind

    def begin(self) -> None:
        for number, each in enumerate([*self._sure, self._plain]):
            each.write(number)
        for each in self._sure:
            each.join(self._group, **MEMBERS[self._kind])
        self._until(lambda: min(self._reached()) > 5, "members read")
        self._until(lambda: end(self._scene.link.target, self._topic) > 10, "the run copies")

    def go_on(self) -> None:
        """Wait until producers go on at both gateways, and any members read on."""
        waits, read = [len(each.waits) for each in self._sure], self._reached()
        self._until(
            lambda: (
                all(len(each.waits) > n + 10 for each, n in zip(self._sure, waits, strict=True))
                and all(now > n + 10 for now, n in zip(self._reached(), read, strict=True))
            ),
            "producers and members go on",
            90,
        )

    def _reached(self) -> list[int]:
        """Return how many records of each partition were read."""
        parts = Counter(part for part, _ in self._read())
        return [parts[number] for number in range(PARTITIONS)]

    def _read(self) -> dict[tuple[int, int], bytes]:
        found = dict[tuple[int, int], bytes]()
        for each in self._sure:
            found |= each.values[self._group].copy()
        return found

    def end(self, bootstrap: str) -> None:
        """End, once all that was written is read and is there once, in order.

        Args:
            bootstrap: The cluster that has the topic then.
        """
        for each in (*self._sure, self._plain):
            each.end_writing()
        there = consume(bootstrap, self._topic, range(PARTITIONS))
        places = {(each.partition, each.offset): each.value or b"" for each in there}
        self._until(lambda: len(self._read()) >= len(places), f"all {len(places)} are read", 60)
        assert self._read() == places, "members read what is there"
        self._require_whole(there)
        strange = [e for each in self._sure for e in each.errors if "another record" in e]
        assert strange == []

    def _require_whole(self, there: list[Any]) -> None:
        found = Counter(VALUE.unpack(each.value or b"") for each in there)
        for traffic in (*self._sure, self._plain):
            for number, count in traffic.sent.items():
                lost = [n for n in range(count) if (number, n) not in found]
                assert not lost, f"{number} lost {lost[:20]} of {count}"
        sure = {number for each in self._sure for number in each.sent}
        doubled = [each for each, times in found.items() if times > 1 and each[0] in sure]
        assert not doubled, f"doubled: {doubled[:20]}"
        for number in sure:
            for part in range(PARTITIONS):
                own = [
                    n
                    for who, n in (
                        VALUE.unpack(each.value or b"") for each in there if each.partition == part
                    )
                    if who == number
                ]
                assert own == sorted(own), "none overtook another"

    def close(self) -> None:
        for each in (*self._sure, self._plain):
            each.close()

    def _until(self, what: Callable[[], bool], why: str, seconds: float = PATIENCE) -> None:
        try:
            wait_until(what, why, seconds)
        except AssertionError as error:
            read = [len(each.read[self._group]) for each in self._sure]
            sent = [len(each.waits) for each in (*self._sure, self._plain)]
            errors = [each.errors[-3:] for each in (*self._sure, self._plain)]
            told = f"{read} read, {sent} acknowledged, {self._kind} {errors}\n{self._scene.said}"
            raise AssertionError(f"{error}: {told}") from error


class TransactionalClients:
    """A transactional producer, and a program that processes what it writes."""

    kind = "transactions"

    def __init__(self, scene: Scene, inputs: str, output: str, dice: random.Random) -> None:
        self._scene, self._inputs, self._output = scene, inputs, output
        self.topics = f"{inputs},{output}"
        self._traffic = Transactions(bootstrap_of(dice.choice(scene.both)), session=SESSION)
        self._names = f"{inputs}-writer", f"{inputs}-app"

    def begin(self) -> None:
        writer, app = self._names
        self._traffic.write(writer, self._inputs)
        group = f"{self._inputs}-group"
        self._traffic.process(
            app, group, self._inputs, self._output, **{"group.protocol": "consumer"}
        )
        self.go_on()
        copied = lambda: end(self._scene.link.target, self._output) > 5  # noqa: E731
        wait_until(copied, lambda: f"the run copies: {self._scene.said}", PATIENCE)

    def go_on(self) -> None:
        try:
            self._traffic.go_on(*self._names)
        except AssertionError as error:
            counts = {name: len(self._traffic.committed[name]) for name in self._names}
            told = f"{counts} committed, {self._traffic.errors[-3:]}\n{self._scene.said}"
            raise AssertionError(f"{error}: {told}") from error

    def end(self, bootstrap: str) -> None:
        self._traffic.end()
        assert self._traffic.failures == []
        require_whole_transactions(self._traffic, bootstrap, self._inputs)
        require_processed(bootstrap, self._inputs, self._output)

    def close(self) -> None:
        self._traffic.close()
