"""Runs of a link on a target that forgets producer ids: frozen, cut off, killed, taken over."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from unittest.mock import patch

from confluent_kafka import Producer

from tests.support.clusters.brokers import SharedCluster
from tests.support.copying.chaos import Copiers
from tests.support.mirror import Mirror
from tests.support.network.proxy import Proxy
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.mirror.run.rounds import RoundPlan, plan_round
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side
from towpath.records import permit, session
from towpath.records.copy import copy
from towpath.records.session import LinkSession
from towpath.records.work import CopySlice

DAY_MS = 86_400_000
AGES_MS = (40 * DAY_MS, 25 * DAY_MS // 24, 0)
"""Records of 40 days ago, of 25 hours ago, and of now."""
FASTER = 4
"""Leases and takeovers go by so much faster than in life, so that rounds are short."""
PARTITIONS = 2


@contextmanager
def faster() -> Iterator[None]:
    """Let leases and takeovers go by faster in this process."""
    times = {
        (permit, "FRESH"): permit.FRESH, (permit, "_PAUSE"): permit._PAUSE,
        (session, "TAKEOVER"): permit.TAKEOVER, (session, "_SILENCE"): session._SILENCE,
        (session, "_BEAT"): session._BEAT,
    }  # fmt: skip
    patches = [patch.object(*where, value / FASTER) for where, value in times.items()]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def drain(work: CopySlice) -> None:
    """Copy a slice in a process of its own; it may find no cluster at all when it starts."""
    with faster(), suppress(ClusterError):
        for _ in copy(work):
            pass


@dataclass
class Proxied(Mirror):
    """A mirror that finds its target behind a proxy."""

    def address(self, cluster: LocalCluster) -> str:
        if cluster is not self.target:
            return cluster.bootstrap
        assert isinstance(cluster, SharedCluster)
        return cluster.through("PROXIED").bootstrap


@dataclass
class Writer:
    """Writes records of all ages, each value once; those of a burst are of one age, or mixed."""

    bootstrap: str
    topic: str
    rng: random.Random
    number: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._write, name="writer")
        self._thread.start()

    def stop(self) -> None:
        """Deliver what is under way, and end."""
        self._stop.set()
        self._thread.join(90)
        assert not self._thread.is_alive()

    def _write(self) -> None:
        configs = {"bootstrap.servers": self.bootstrap, "enable.idempotence": True}
        producer = Producer({**configs, "linger.ms": 1, "batch.num.messages": 20})
        while not self._stop.wait(0.02):
            ages = [self.rng.choice(AGES_MS)] if self.rng.random() < 0.8 else AGES_MS
            for _ in range(self.rng.choice((1, 5, 60))):
                self.number += 1
                at = int(time.time() * 1000) - self.rng.choice(ages)  # noqa: TID251  # of records
                partition = self.rng.randrange(PARTITIONS)
                value = b"%d" % self.number
                producer.produce(self.topic, value, b"k", partition=partition, timestamp=at)
            producer.flush(60)


class Run:
    """One run of a link: a session, and copiers of its slices in processes of their own."""

    def __init__(self, mirror: Mirror, copiers: Copiers) -> None:
        self._mirror, self._copiers = mirror, copiers
        self._admin = Admin(mirror.config.target, Side.TARGET)
        self._session = LinkSession(mirror.config.link, mirror.config.target, self._admin)
        # In life a dead driver is known by its process; here all of them are this one.
        with patch("towpath.records.session.is_gone", lambda _: False):
            self._session.start()
        self._session.wait(threading.Event())
        self.processes: list[BaseProcess] = []

    def begin(self) -> None:
        """Start a copier for each slice."""
        self.processes = [self._copiers.start(work, drain) for work in self._slices(once=False)]

    def catch_up(self) -> None:
        """Copy what is left in this process, and end."""
        for work in self._slices(once=True):
            for done in copy(work):
                assert not done.error, f"{done.tp}: {done.error}"
        self._fall_silent()

    def _slices(self, *, once: bool) -> list[CopySlice]:
        settled, run_id = self._session.settled.before, self._session.run_id
        config = self._mirror.config
        return plan_round(RoundPlan(config, run_id, 1, once, settled=settled), 1)

    def die(self) -> None:
        """Kill the copiers as a power cut would; no goodbye is said."""
        for process in self.processes:
            self._copiers.kill(process)
        self._fall_silent()

    def freeze(self) -> None:
        """Stop the copiers and the signs of life, as where a machine is suspended."""
        for process in self.processes:
            _signal(process, signal.SIGSTOP)
        self._fall_silent()

    def wake(self) -> None:
        """Let frozen copiers go on; they find out that they were replaced."""
        for process in self.processes:
            _signal(process, signal.SIGCONT)

    def await_end(self) -> None:
        """Wait until the copiers have ended by themselves."""
        for process in self.processes:
            process.join(60)
            assert process.exitcode == 0, "a replaced copier does not end"
            self._copiers.alive.remove(process)

    def _fall_silent(self) -> None:
        self._session._stopped.set()
        self._session._thread.join(30)
        self._session._client.close()
        self._admin.close()


def _signal(process: BaseProcess, number: signal.Signals) -> None:
    assert process.pid is not None
    with suppress(ProcessLookupError):  # it ended by itself
        os.kill(process.pid, number)


@dataclass
class Trouble:
    """What happens to a run in a round; it ends with no copier of the run at work."""

    proxy: Proxy
    target: LocalCluster
    rng: random.Random
    frozen: list[tuple[Run, float]] = field(default_factory=list)
    """Frozen runs, and when they wake (seconds of the monotonic clock)."""

    def strike(self, run: Run) -> str:
        """Do one thing at random; return its name."""
        run.begin()
        time.sleep(self.rng.uniform(0.3, 2.0))
        kind = self.rng.choice(("kill", "freeze", "freeze", "answers", "broker"))
        if kind == "answers":
            self.proxy.mute = True
            time.sleep(self.rng.uniform(0.1, 1.0))
            self.proxy.cut()
            time.sleep(self.rng.uniform(0.1, 3.0))
            self.proxy.heal()
            time.sleep(self.rng.uniform(0.5, 8.0))
        elif kind == "broker":
            self.target.pause(1)
            time.sleep(self.rng.uniform(1.0, 8.0))
            self.target.resume(1)
            time.sleep(self.rng.uniform(0.5, 2.0))
        if kind == "freeze":
            run.freeze()
            wakes = time.monotonic() + self.rng.choice((1.0, 5.0, 20.0, 60.0))
            self.frozen.append((run, wakes))
        else:
            run.die()
        return kind

    def wake_due(self, *, everything: bool = False) -> None:
        """Wake the frozen runs whose time has come, and see them end."""
        due = [run for run, at in self.frozen if everything or at <= time.monotonic()]
        self.frozen = [(run, at) for run, at in self.frozen if run not in due]
        for run in due:
            run.wake()
        for run in due:
            run.await_end()
