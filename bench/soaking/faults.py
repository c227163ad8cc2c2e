"""The faults of a soak: which and when, by a seed, and how each is done and undone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import psutil

from bench.soaking.ends import Lag
from bench.soaking.kinds import kind_of
from bench.soaking.load import Load
from bench.soaking.readers import Readers
from bench.soaking.stage import PROXIED, SOURCE, TARGET, Run, Stage

PATIENCE = 180.0
"""Seconds within which everything must be copied once a fault is over."""
COMMAND = 120.0
_FIRST, _GAPS = 30.0, (18.0, 90.0)
"""Seconds before the first fault, and the bounds of those between two."""
_FREEZE, _CUT, _AWAY = (4.0, 15.0), (0.5, 6.0), (0.5, 5.0)
ENDING = ("kill run", "recreate, replace")
"""Faults that end the run: they come in the first half, so that memory has a long stretch."""
OTHERS = (
    "kill worker", "kill source", "kill target", "freeze source", "freeze target", "freeze run",
    "freeze registry", "cut source", "cut target", "recreate, keep",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that is planned.

    Attributes:
        at: Seconds since the load began.
        what: Its kind.
        lasts: Seconds for which something is frozen, cut or away.
        pick: A random number below 1, which picks one of several victims.
    """

    at: float
    what: str
    lasts: float
    pick: float

    def __str__(self) -> str:
        return f"{self.at:.0f} s {self.what}" + (f" for {self.lasts:.1f} s" if self.lasts else "")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A fault that was done.

    Attributes:
        fault: What was planned.
        began: Seconds since the load began.
        lasted: Seconds until it was undone.
        recovered: Seconds from there until all that the source had was copied, `None` for never.
        victim: What was hit.
        trouble: What went wrong while it was done, "" for nothing.
    """

    fault: Fault
    began: float
    lasted: float = 0.0
    recovered: float | None = None
    victim: str = ""
    trouble: str = ""


def plan(seed: int, seconds: float) -> list[Fault]:
    """Return the faults of a soak; the same seed and length give the same ones."""
    rng = random.Random(seed)
    gap = min(max(seconds / 40, _GAPS[0]), _GAPS[1])
    found, at, deck = list[Fault](), _FIRST, list[str]()
    while at < seconds - _GAPS[0]:
        if not deck:
            deck = rng.sample((*OTHERS, *ENDING), len(OTHERS) + len(ENDING))
        what = deck.pop()
        if what in ENDING and at > seconds / 2:
            continue
        lasts = next(
            (rng.uniform(*span) for word, span in _LASTING.items() if what.startswith(word)), 0.0
        )
        found.append(Fault(at, what, round(lasts, 1), rng.random()))
        at += gap * rng.uniform(0.75, 1.25)
    return found


_LASTING = {"freeze": _FREEZE, "cut": _CUT, "kill source": _AWAY, "kill target": _AWAY}


class Faults:
    """Does faults, and measures how long everything takes to recover."""

    def __init__(
        self, stage: Stage, run: Run, load: Load, readers: Readers, lag: Lag, begun: float
    ) -> None:
        self._stage, self._run, self._load = stage, run, load
        self._readers, self._lag, self._begun = readers, lag, begun
        self.kept: dict[tuple[str, int], int] = {}
        """Records of earlier topics that mirror topics keep, by partition."""
        side = (SOURCE, TARGET)
        self._deeds: Mapping[str, Callable[[Fault], str]] = {
            "kill run": self._kill_run,
            "kill worker": self._kill_worker,
            **{f"kill {each}": self._on(each, self._kill_broker) for each in side},
            **{f"freeze {each}": self._on(each, self._freeze_broker) for each in side},
            **{f"cut {each}": self._on(each, self._cut) for each in side},
            "freeze run": self._freeze_run,
            "freeze registry": self._freeze_registry,
            "recreate, keep": self._recreate_keep,
            "recreate, replace": self._recreate_replace,
        }

    def do(self, fault: Fault) -> Outcome:
        """Do a fault, undo it, and wait until all that the source has then is copied."""
        began = time.monotonic()
        outcome = Outcome(fault, round(began - self._begun, 1))
        try:
            victim = self._deeds[fault.what](fault)
        except Exception as error:  # noqa: BLE001 - told on the page, and the soak fails
            outcome = replace(outcome, trouble=f"{type(error).__name__}: {error}")
            victim = ""
        lasted = round(time.monotonic() - began, 1)
        recovered = self._lag.await_copied(PATIENCE)
        return replace(
            outcome,
            victim=victim,
            lasted=lasted,
            recovered=None if recovered is None else round(recovered, 1),
        )

    def _on(self, side: str, deed: Callable[[str, Fault], str]) -> Callable[[Fault], str]:
        return lambda fault: deed(side, fault)

    def _kill_run(self, _: Fault) -> str:
        left = self._run.kill()
        return f"driver; what it had started ended within {left:.1f} s"

    def _kill_worker(self, fault: Fault) -> str:
        workers = self._run.program.workers()
        if not workers:
            return "none was there"
        victim = workers[int(fault.pick * len(workers))]
        victim.kill()
        return f"one of {len(workers)}"

    def _kill_broker(self, side: str, fault: Fault) -> str:
        self._stage.clusters[side].kill9(1)
        time.sleep(fault.lasts)
        self._stage.clusters[side].restart(1)
        return "broker 1"

    def _freeze_broker(self, side: str, fault: Fault) -> str:
        self._stage.clusters[side].pause(1)
        try:
            time.sleep(fault.lasts)
        finally:
            self._stage.clusters[side].resume(1)
        return "broker 1"

    def _cut(self, side: str, fault: Fault) -> str:
        cluster = self._stage.clusters[side].through(PROXIED)
        self._stage.proxy.cut(cluster)
        try:
            time.sleep(fault.lasts)
        finally:
            self._stage.proxy.heal(cluster)
        return "all connections of the link"

    def _freeze_run(self, fault: Fault) -> str:
        program = self._run.program
        victims = {
            "driver": [psutil.Process(program.pid)],
            "JVM": program.jvms(),
            "worker": program.workers()[:1],
            "all": [psutil.Process(program.pid), *program.children()],
        }
        name = list(victims)[int(fault.pick * len(victims))]
        _freeze(victims[name], fault.lasts)
        return name

    def _freeze_registry(self, fault: Fault) -> str:
        side = SOURCE if fault.pick < 0.5 else TARGET
        _freeze([psutil.Process(self._stage.registries[side].pid)], fault.lasts)
        return side

    def _recreate_keep(self, fault: Fault) -> str:
        """Delete a topic and make it again while the run goes on, and keep the mirror topic."""
        with self._recreated(fault) as topic:
            self._lag.leave_out(topic)
            for number, count in self._load.forget(topic).items():
                place = topic, number
                self.kept[place] = self.kept.get(place, 0) + count
            self._restart(topic, "--keep")
        return topic

    def _recreate_replace(self, fault: Fault) -> str:
        """Delete a topic and make it again, and its mirror topic, too, while nothing runs."""
        with self._recreated(fault) as topic:
            for number in self._load.forget(topic):
                self.kept.pop((topic, number), None)
            self._run.stop()
            try:
                self._restart(topic, "--replace")
            finally:
                self._run.start()
        return topic

    @contextmanager
    def _recreated(self, fault: Fault) -> Iterator[str]:
        """Delete a topic whose records are all copied, and make it again; nobody uses it."""
        candidates = [
            topic
            for topic in self._stage.topics
            if not kind_of(topic).transactional and not kind_of(topic).mapped
            and topic in self._lag.topics
        ]  # fmt: skip
        topic = candidates[int(fault.pick * len(candidates))]
        self._load.pause(topic)
        if self._lag.await_copied(PATIENCE, [topic]) is None:
            self._load.go_on(topic)
            raise TimeoutError(f"{topic} was not copied within {PATIENCE:.0f} s")
        self._readers.stop()
        try:
            self._stage.delete(topic)
            self._stage.create(topic)
            self._lag.renew()
            yield topic
        finally:
            self._readers.start()
            self._load.go_on(topic)

    def _restart(self, topic: str, how: str) -> None:
        words = ("restart", str(self._stage.file), "--topics", topic, how, "--yes")
        done = self._run.command(*words, name=f"restart-{time.monotonic_ns()}")
        if done.wait(COMMAND):
            raise RuntimeError(f"towpath restart {how} failed: {done.said}")


def _freeze(victims: list[psutil.Process], seconds: float) -> None:
    for each in victims:
        each.suspend()
    try:
        time.sleep(seconds)
    finally:
        for each in victims:
            each.resume()
