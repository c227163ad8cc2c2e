"""Promotions, one after the other on one pair of clusters, with trouble in the middle of each."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.clients.gateways import another, bootstrap_of, served
from tests.support.clients.moving import PARTITIONS, VALUE, Traffic
from tests.support.clients.moving_transactions import (
    Transactions,
    require_processed,
    require_whole_transactions,
)
from tests.support.clients.quick_links import SESSION, light_run
from tests.support.clients.troubles import Trouble
from tests.support.here import Here
from tests.support.kafka import consume, wait_until
from tests.support.links import Link, end
from tests.support.program import Program

OFTEN = {"heartbeat.interval.ms": 500, "session.timeout.ms": 6000}
MEMBERS: dict[str, dict[str, Any]] = {
    "classic": OFTEN,
    "cooperative": {**OFTEN, "partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
RATE = 20
_PATIENCE = 180.0


@dataclass
class Scene:
    """A link with its run and two gateways, which are started again whenever they have ended.

    Args:
        link: The link.
        here: Runs commands.

    Attributes:
        both: The link with each of its gateways.
        gateways: Their processes; `run`, that of the run.
        leader: Which gateway leads promotions: the one that began first.
    """

    link: Link
    here: Here
    both: list[Link] = field(init=False)
    gateways: list[Program] = field(init=False)
    run: Program = field(init=False)
    leader: int = 0

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

    def _serve(self, link: Link) -> Program:
        return served(link, f"orders={link.folder / 'orders'}", "ids")

    @property
    def said(self) -> str:
        """What its processes printed last."""
        every = [self.run, *self.gateways]
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

    def end(self) -> None:
        """End, once all that was written is read and is there once, in order."""
        for each in (*self._sure, self._plain):
            each.end_writing()
        target = self._scene.link.target.bootstrap
        there = consume(target, self._topic, range(PARTITIONS))
        places = {(each.partition, each.offset): each.value or b"" for each in there}
        self._until(lambda: len(self._read()) >= len(places), f"all {len(places)} are read", 60)
        assert self._read() == places, "members read what is on the target"
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

    def _until(self, what: Callable[[], bool], why: str, seconds: float = _PATIENCE) -> None:
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
        wait_until(copied, f"the run copies: {self._scene.said}", _PATIENCE)

    def go_on(self) -> None:
        try:
            self._traffic.go_on(*self._names)
        except AssertionError as error:
            counts = {name: len(self._traffic.committed[name]) for name in self._names}
            told = f"{counts} committed, {self._traffic.errors[-3:]}\n{self._scene.said}"
            raise AssertionError(f"{error}: {told}") from error

    def end(self) -> None:
        self._traffic.end()
        assert self._traffic.failures == []
        target = self._scene.link.target.bootstrap
        require_whole_transactions(self._traffic, target, self._inputs)
        require_processed(target, self._inputs, self._output)

    def close(self) -> None:
        self._traffic.close()


def played(
    scene: Scene,
    topics: Iterator[str],
    dice: random.Random,
    trouble: Trouble,
    *,
    transactions: bool = False,
) -> str:
    """Play one round; return what happened in it.

    Args:
        scene: Where.
        topics: Gives topics that the run has found.
        dice: Draws the kinds of clients.
        trouble: What happens.
        transactions: Whether clients may be transactional.
    """
    begun = time.monotonic()
    clients: Clients | TransactionalClients
    if transactions and dice.random() < 0.25:
        clients = TransactionalClients(scene, next(topics), next(topics), dice)
    else:
        clients = Clients(scene, next(topics), dice)
    names = clients.topics.split(",")
    try:
        clients.begin()
        asked = scene.link.start("promote", "--topics", clients.topics, "-o", "json")
        trouble.happen(scene, asked, names)
        states = _promoted(scene, asked, clients.topics)
        trouble.mend(scene)
        ends = [_ends(scene.link, each) for each in names]
        clients.go_on()
        clients.end()
        assert [_ends(scene.link, each) for each in names] == ends, "nothing came late"
    except AssertionError as error:
        raise AssertionError(f"{trouble} with {clients.kind}: {error}") from error
    finally:
        trouble.mend(scene)
        clients.close()
    took = time.monotonic() - begun
    return f"{trouble} with {clients.kind}: {' '.join(states)}, {took:.1f} s"


def _ends(link: Link, topic: str) -> list[int]:
    """Return where the topic ends at the source; a new leader may not tell at once."""
    ends = [-1]

    def are_told() -> bool:
        ends[:] = [end(link.source, topic, number) for number in range(PARTITIONS)]
        return min(ends) >= 0

    wait_until(are_told, f"the source tells where {topic} ends", _PATIENCE)
    return ends


def _promoted(scene: Scene, asked: Program, topics: str) -> list[str]:
    """Wait for a promotion, and ask again until the topics are promoted; return the outcomes."""
    states, patience = list[str](), time.monotonic() + _PATIENCE
    asked.wait(150)
    said = asked.out.read_text()
    while True:
        told = _outcome(said)
        states.append(told)
        if told in {"promoted", "refused:PROMOTE_NOTHING"}:
            return states
        assert time.monotonic() < patience, f"it is promoted: {states} {said}\n{scene.said}"
        scene.go_on()
        if told.startswith("refused"):
            time.sleep(1)
        said = scene.here("promote", str(scene.link.file), "--topics", topics, "-o", "json").out


def _outcome(said: str) -> str:
    if not said.strip():
        return "killed"
    told = json.loads(said)
    codes = ",".join(each["code"] for each in told["reasons"])
    return f"{told['state']}:{codes}" if codes and told["state"] != "promoted" else told["state"]
