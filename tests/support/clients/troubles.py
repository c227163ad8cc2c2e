"""What may happen to the processes of a link and to its brokers while topics move."""

from __future__ import annotations

import random
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import psutil
from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.clients.moving import PARTITIONS
from tests.support.program import Program
from tests.support.whole_files import write_whole
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.topic import TOPIC
from towpath.model.nouns import Side, TopicName
from towpath.model.nouns import TopicPartition as Place
from towpath.settings import ClusterConfig

if TYPE_CHECKING:
    from tests.support.clients.troubled import Scene

BROKERS = (1, 2, 3)


@dataclass
class Trouble:
    """Something that happens once.

    Attributes:
        what: What, as the report of a round says it.
        happened: Whether it has happened.
    """

    what: str
    happened: bool = False

    def happen(self, scene: Scene, asked: Program, topics: list[str]) -> None:
        """Let it happen, once a promotion was asked for."""

    def mend(self, scene: Scene) -> None:
        """Start again what ended."""
        scene.go_on()

    def __str__(self) -> str:
        return self.what


@dataclass
class AtStep(Trouble):
    """A gateway ends, freezes, or finds another time at one of its writes."""

    leads: bool = True
    order: str = ""
    frozen: float = 0.0

    def happen(self, scene: Scene, asked: Program, topics: list[str]) -> None:
        del topics
        gateway = scene.leader if self.leads else 1 - scene.leader
        program, orders = scene.gateways[gateway], scene.both[gateway].folder / "orders"
        write_whole(orders, self.order)
        while asked.running and program.running and not _is_stopped(program):
            time.sleep(0.02)
        self.happened = not program.running or _is_stopped(program)
        if _is_stopped(program):
            time.sleep(self.frozen)
            _send(program, signal.SIGCONT)
        # What is not done yet shall not be done in the next round.
        write_whole(orders, "none 0")


@dataclass
class AtMoment(Trouble):
    """A process or a broker is killed or frozen at any moment."""

    who: str = ""
    after: float = 0.0
    frozen: float = 0.0
    again: float = 0.0
    gently: bool = False

    def happen(self, scene: Scene, asked: Program, topics: list[str]) -> None:
        del topics
        time.sleep(self.after)
        if self.who.startswith(("source", "target")):
            self._broker(scene)
            return
        found = {"run": scene.back or scene.run, "command": asked}
        program = found.get(self.who) or scene.gateways[int(self.who[-1])]
        if program.running and self.gently:
            program.stop()
        elif program.running:
            program.kill9()
        if self.again:
            time.sleep(self.again)
            scene.go_on()

    def _broker(self, scene: Scene) -> None:
        cluster = scene.link.source if self.who.startswith("source") else scene.link.target
        broker = int(self.who[-1])
        if self.frozen:
            cluster.pause(broker)
            time.sleep(self.frozen)
            cluster.resume(broker)
        else:
            cluster.kill9(broker)
            time.sleep(self.again)
            cluster.restart(broker)


@dataclass
class LedgerAway(Trouble):
    """The broker that leads the ledger freezes while members are held."""

    told: str = "their offsets are being written"
    frozen: float = 20.0

    def happen(self, scene: Scene, asked: Program, topics: list[str]) -> None:
        del topics
        while asked.running and self.told not in asked.said:
            time.sleep(0.02)
        self.happened = asked.running
        cluster = scene.link.target
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        leader = admin.list_topics(TOPIC, timeout=20).topics[TOPIC].partitions[0].leader
        cluster.pause(leader)
        time.sleep(self.frozen)
        cluster.resume(leader)


@dataclass
class Elections(Trouble):
    """Other brokers of the source lead the partitions, again and again."""

    after: float = 0.0
    often: int = 1
    dice: random.Random = field(default_factory=random.Random)

    def happen(self, scene: Scene, asked: Program, topics: list[str]) -> None:
        del asked
        time.sleep(self.after)
        for _ in range(self.often):
            elect(scene.link.source, topics, self.dice)


def elect(cluster: LocalCluster, topics: list[str], dice: random.Random) -> None:
    """Let any of its replicas lead each partition."""
    places = [(topic, part) for topic in topics for part in range(PARTITIONS)]
    wanted = {Place(TopicName(topic), part): dice.sample(BROKERS, 3) for topic, part in places}
    access = ClusterConfig.model_validate({"bootstrap": cluster.bootstrap})
    with Admin(access, Side.SOURCE) as admin:
        admin.replicas.assign(wanted)
    admin_client = AdminClient({"bootstrap.servers": cluster.bootstrap})
    with suppress(KafkaException):  # one that leads already
        found = [TopicPartition(topic, part) for topic, part in places]
        admin_client.elect_leaders(ElectionType.PREFERRED, found).result(30)


def killed_at(number: int, *, leads: bool) -> AtStep:
    """Return the end of a gateway at one of its writes."""
    return AtStep(f"{_role(leads)} killed at {number}", leads=leads, order=f"kill {number}")


def frozen_at(number: int, seconds: float, *, leads: bool) -> AtStep:
    """Return a gateway that is frozen at one of its writes."""
    what = f"{_role(leads)} frozen at {number} for {seconds:g} s"
    return AtStep(what, leads=leads, order=f"stop {number}", frozen=seconds)


def jumped_at(number: int, seconds: int, *, leads: bool) -> AtStep:
    """Return a gateway whose wall clock jumps at one of its writes."""
    what = f"the clock of the {_role(leads)} jumps by {seconds} s at {number}"
    return AtStep(what, leads=leads, order=f"jump {number} {seconds}")


def drawn(dice: random.Random) -> Trouble:
    """Return any trouble of processes."""
    leads = dice.random() < 0.6
    number = dice.randint(1, 40 if leads else 16)
    frozen = dice.choice((0.5, 2.0, 6.0, 20.0))
    after, again = round(dice.uniform(0, 6), 2), dice.choice((0.0, 0.5, 3.0))
    jump = dice.choice((-3600, 3600))
    moment = partial(AtMoment, after=after, again=again)
    some: list[tuple[int, Trouble]] = [
        (8, killed_at(number, leads=leads)),
        (5, frozen_at(number, frozen, leads=leads)),
        (1, jumped_at(number, jump, leads=leads)),
        (2, moment(f"gateway 0 killed after {after} s", who="gateway 0")),
        (2, moment(f"gateway 1 killed after {after} s", who="gateway 1")),
        (2, moment(f"gateway 0 stopped after {after} s", who="gateway 0", gently=True)),
        (2, moment(f"gateway 1 stopped after {after} s", who="gateway 1", gently=True)),
        (2, moment(f"the run killed after {after} s", who="run")),
        (1, moment(f"the run stopped after {after} s", who="run", gently=True)),
        (2, AtMoment(f"the command killed after {after} s", who="command", after=after)),
    ]
    return dice.choices([each for _, each in some], [often for often, _ in some])[0]


def drawn_of_brokers(dice: random.Random) -> Trouble:
    """Return any trouble of brokers."""
    broker = f"{dice.choice(('source', 'target'))} broker {dice.choice(BROKERS)}"
    after, again = round(dice.uniform(0, 6), 2), dice.choice((0.0, 0.5, 3.0))
    frozen = dice.choice((0.5, 2.0, 6.0, 20.0))
    of = partial(AtMoment, who=broker, after=after)
    some: list[tuple[int, Trouble]] = [
        (3, of(f"{broker} killed for {again} s after {after} s", again=again)),
        (2, of(f"{broker} frozen for {frozen} s after {after} s", frozen=frozen)),
        (3, _elections(dice, after)),
    ]
    return dice.choices([each for _, each in some], [often for often, _ in some])[0]


def _elections(dice: random.Random, after: float) -> Elections:
    often = dice.randint(1, 4)
    what = f"{often} elections at the source after {after} s"
    return Elections(what, after=after, often=often, dice=dice)


def _role(leads: bool) -> str:
    return "leader" if leads else "follower"


def _is_stopped(program: Program) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(program.pid).status() == psutil.STATUS_STOPPED)
    return False


def _send(program: Program, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        program.send(number)
