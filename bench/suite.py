"""Everything, one after the other: data sets, latency, idle partitions."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import latency, throughput
from bench.arena import Arena
from bench.copiers import Before, Copier, MirrorMaker, Towpath, Wish
from bench.data import MIXED, WARM, DataSet, Prepared, prepare

Figures = dict[str, Any]
WARMING = 240.0
"""Seconds within which a copier must have copied what warms it."""
WARM_UP = 20.0
"""Seconds of load before something changes, for the JVMs of brokers and of Spark to compile."""
COPIERS: dict[str, type[Copier]] = {"mm2": MirrorMaker, "towpath": Towpath}


@dataclass(frozen=True, slots=True)
class Scale:
    """How large everything is.

    Attributes:
        records: Factor on the records of each set.
        window: Seconds of a latency window.
        idle: Seconds over which idle CPU is taken.
    """

    records: float
    window: float
    idle: float


SCALES = {"full": Scale(1.0, 20.0, 60.0), "small": Scale(0.05, 5.0, 10.0)}


@dataclass(slots=True)
class Results:
    """All figures; what failed says so in place of its figures."""

    sets: dict[str, Figures] = field(default_factory=dict)
    latency: dict[str, list[Figures]] = field(default_factory=dict)
    idle: dict[str, Figures] = field(default_factory=dict)
    first_record_s: dict[str, list[float]] = field(default_factory=dict)
    peak_mib: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


class Suite:
    """Measures on one arena and keeps what was found."""

    def __init__(
        self,
        arena: Arena,
        home: Path,
        scale: Scale,
        skip: frozenset[str],
        tell: Callable[[str], None],
    ) -> None:
        self._arena, self._home, self._scale, self._tell = arena, home, scale, tell
        self._copiers = {name: kind for name, kind in COPIERS.items() if name not in skip}
        self._warm = prepare(WARM.scaled(max(scale.records, 0.02)))
        self.results = Results()

    def warm_brokers(self) -> None:
        """Let the brokers' compilers see the work before it counts."""
        arena = self._arena
        self._tell("warming the brokers")
        for _ in range(3):
            throughput.load(arena, self._warm, "warm")
            throughput.raw(arena, self._warm, "warm")
            arena.delete(arena.source, "warm")
            arena.await_gone("warm")

    def measure(self, data: DataSet, who: Iterable[str] | None = None) -> None:
        """Measure one set with everybody, or with some."""
        arena, topic = self._arena, data.name
        self._tell(f"{data.name}: making {data.records:,} records")
        prepared = prepare(data)
        of_set: Figures = {
            "about": data.about, "partitions": data.partitions, "records": data.records,
            "record_bytes": prepared.record_bytes, "wire_bytes": prepared.wire_bytes,
        }  # fmt: skip
        self.results.sets[data.name] = of_set
        with self.caught(data.name, "raw"):
            of_set["raw"] = throughput.raw(arena, prepared, f"raw.{topic}")
            self.said(of_set["raw"])
        for name in self._copiers if who is None else who:
            # Filled anew for each, since the trickle of the idle set adds records.
            throughput.load(arena, prepared, topic)
            arena.hide(topic)
            with self.caught(data.name, name):
                of_set[name] = self._copied(name, prepared, topic)
                self.said(of_set[name])
            arena.show(topic)
            arena.delete(arena.source, topic)
            arena.await_gone(topic)

    def in_turns(self, data: DataSet, rounds: int) -> None:
        """Measure one set with everybody and an earlier build, in another order each time.

        Brokers are warmer for whoever copies later.
        """
        who = self.beside_before()
        for turn in range(1, rounds + 1):
            named = replace(data, name=f"{data.name}-{turn}")
            self.measure(named, who if turn % 2 else tuple(reversed(who)))

    def beside_before(self) -> tuple[str, ...]:
        """The copiers, and the earlier build where there is one."""
        return (*self._copiers, *([Before.name] if Before.clone.name else ()))

    def mixed(self, rounds: int) -> None:
        """Measure small batches whose codecs alternate, several times in turn.

        An earlier build crawls through them, so it gets the small sets alone.
        """
        large = tuple(self._copiers)
        few = tuple(name for name in self.beside_before() if name in {Towpath.name, Before.name})
        for turn in range(1, rounds + 1):
            for data in MIXED:
                named = replace(data.scaled(self._scale.records), name=f"{data.name}-{turn}")
                self.measure(named, few if data.name.endswith("few") else large)

    def latencies(self) -> None:
        """Measure how old records are: on the source, then through each copier."""
        arena = self._arena
        names = (None, *self._copiers)
        for number, name in enumerate(names):
            label, topic = name or "source", f"latency-{number}"
            arena.create(arena.source, topic, latency.PARTITIONS)
            found = self.results.latency[label] = []
            with self.caught("latency", label):
                if name is None:
                    found.extend(self._windows(None, topic, latency.LOADS))
                    continue
                wish = Wish((topic, "warm"), "none", latency.PARTITIONS, quick=True)
                with self.warmed(name, wish, topic) as copier:
                    found.extend(self._windows(copier, topic, latency.LOADS))
            arena.delete(arena.source, topic)

    def changes(self) -> None:
        """Measure how old records of a steady topic are while something changes around it."""
        arena, seconds = self._arena, self._scale.window
        if "towpath" not in self._copiers:
            return
        # A round as long as the window ends inside of it once.
        scenes = {
            "nothing changes": Wish((), "none", latency.PARTITIONS, quick=True),
            "a topic each second": Wish((), "none", latency.PARTITIONS, quick=True, discover=1),
            "a round ends": Wish(
                (), "none", latency.PARTITIONS, quick=True, round=f"{round(seconds)}s"
            ),
        }
        for number, (scene, plain) in enumerate(scenes.items()):
            topic, label = f"changes-{number}", f"towpath, {scene}"
            wish = replace(plain, topics=(topic, "warm"), also=f"{topic}[.].*")
            arena.create(arena.source, topic, latency.PARTITIONS)
            found = self.results.latency[label] = []
            with self.caught("changes", scene), self.warmed("towpath", wish, topic) as copier:
                appear = arena.appearing(topic, 1.0) if wish.discover == 1 else nullcontext()
                with appear:
                    found.extend(
                        self._windows(copier, topic, (latency.NATURAL,), first=WARM_UP, beside=True)
                    )
            arena.delete(arena.source, topic)

    def _windows(
        self,
        copier: Copier | None,
        topic: str,
        loads: tuple[latency.Load, ...],
        *,
        first: float = 2.0,
        beside: bool = False,
    ) -> Iterator[Figures]:
        # The first window of a pair of clients is slower than all others.
        latency.window(self._arena, copier, topic, loads[0], first)
        for load in loads:
            found = latency.window(
                self._arena, copier, topic, load, self._scale.window, beside=beside
            )
            self.said(found)
            yield found

    def _copied(self, name: str, prepared: Prepared, topic: str) -> Figures:
        data = prepared.data
        wish = Wish((topic, "warm"), data.codec_name, data.partitions)
        idle = data.name == "idle"
        with self.warmed(name, wish, data.name) as copier:
            quiet = self._resting(copier) if idle else 0.0
            figures = throughput.copied(
                self._arena, copier, prepared, topic, lambda: self._arena.show(topic)
            )
            if idle:
                resting = self._resting(copier)
                (trickle,) = self._windows(copier, topic, (latency.TRICKLE,))
                self.results.idle[name] = {
                    "cpu_per_minute_before": quiet,
                    "cpu_per_minute": resting,
                    "trickle": trickle,
                }
                self.said(self.results.idle[name])
        return figures

    def _resting(self, copier: Copier) -> float:
        """Return the CPU seconds per minute of a copier that has nothing to do."""
        time.sleep(min(10.0, self._scale.idle))
        before, began = copier.watch.cpu(), time.monotonic()
        time.sleep(self._scale.idle)
        return round((copier.watch.cpu() - before) * 60 / (time.monotonic() - began), 2)

    @contextmanager
    def warmed(self, name: str, wish: Wish, label: str) -> Iterator[Copier]:
        """Start a copier and let it copy a topic; note when its first record came."""
        arena, warm = self._arena, self._warm
        throughput.load(arena, warm, "warm")
        partitions, records = warm.data.partitions, warm.data.records
        self._tell(f"{label}: starting {name}, load {os.getloadavg()[0]:.1f}")
        kind = Before if name == Before.name else self._copiers[name]
        copier = kind(arena, wish, self._home, label)
        try:
            with copier:
                copy = copier.copy_of("warm")
                first = arena.await_records(arena.target, copy, partitions, 1, WARMING)
                self.results.first_record_s.setdefault(name, []).append(round(first, 2))
                arena.await_records(arena.target, copy, partitions, records, WARMING)
                yield copier
                self.results.peak_mib[f"{label}, {name}"] = copier.watch.peaks()
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{copier.log_end}") from error
        finally:
            for each in wish.topics:
                arena.delete(arena.target, copier.copy_of(each))
            arena.delete(arena.source, "warm")
            arena.await_gone("warm")

    @contextmanager
    def caught(self, what: str, who: str) -> Iterator[None]:
        """Note what went wrong and go on with the next."""
        self._tell(f"{what}: {who}")
        try:
            yield
        except Exception as error:  # noqa: BLE001 - one failure must not cost the other figures
            self.results.trouble.append(f"{what}, {who}: {type(error).__name__}: {error}")
            self._tell(traceback.format_exc())

    def said(self, figures: Figures) -> None:
        plain = {key: value for key, value in figures.items() if not isinstance(value, dict)}
        self._tell("    " + ", ".join(f"{key} {value}" for key, value in plain.items()))
