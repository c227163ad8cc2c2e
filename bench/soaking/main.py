"""`scripts/soak --topics N --rate N --for DURATION`: load, faults, samples, proof, and the page."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from os import getloadavg
from pathlib import Path
from typing import Any

from bench.copiers import towpath_environment
from bench.meter import machine, role_of, tree
from bench.pages import publish
from bench.soaking.ends import Lag
from bench.soaking.faults import Fault, Faults, Outcome, plan
from bench.soaking.kinds import Facts, kind_of
from bench.soaking.load import Load
from bench.soaking.page import figures, page
from bench.soaking.profiles import Profiles
from bench.soaking.proof import Proof, proven
from bench.soaking.readers import Readers
from bench.soaking.samples import EVERY, CpuClock, Sample, memory_of, resident
from bench.soaking.stage import SOURCE, TARGET, Run, Stage
from bench.soaking.wish import Wish, wish
from bench.telling import end_on_signals, tell

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0
"""Seconds that each part of the proof may take, and the last records, after the load ends."""
PROVERS = 2
"""Processes that read both sides at the end."""
EVOLVE = 120.0
"""Seconds between two new versions of schemas."""


@dataclass(slots=True)
class Found:
    """What a soak found.

    Attributes:
        begun: When the load began, in monotonic seconds.
        faults: Those that were done.
        samples: Of memory and CPU.
        lags: (Seconds since the load began, source offsets not copied).
        ended: Starts of the run that ended by themselves.
        codes: Exit codes of the commands at the end, by command.
        records: Numbers by kind of topic: at the source, compared, in aborted transactions.
        groups: Records read by group.
        problems: What makes the soak fail.
    """

    begun: float = 0.0
    faults: list[Outcome] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    lags: list[tuple[float, int]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    records: dict[str, dict[str, int]] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Soak:
    """One soak on a stage.

    Args:
        asked: What is asked for.
        stage: Where it is played.
        folder: Where what programs print goes.
        profiles: What is profiled.
    """

    def __init__(self, asked: Wish, stage: Stage, folder: Path, profiles: Profiles) -> None:
        self._asked, self._stage, self._profiles = asked, stage, profiles
        boots, topics = stage.bootstraps, stage.topics
        self.run = Run(stage, folder, profiles.env)
        self.load = Load(boots[SOURCE], topics, asked.rate, asked.seed, stage.frame)
        self.readers = Readers(boots[SOURCE], topics)
        self.lag = Lag(
            lambda: (stage.admin(SOURCE), stage.admin(TARGET)),
            [topic for topic in topics if not kind_of(topic).mapped],
            asked.partitions,
        )
        self.found = Found()
        self._cpu = CpuClock(self._roots)
        self._over = threading.Event()
        self._faults: Faults | None = None
        self._evolved = 0

    def play(self, faults: Sequence[Fault]) -> None:
        """Play everything: load and faults, then the end, then the proof."""
        watch = threading.Thread(target=self._watch, name="soak-watch")
        with ExitStack() as stack:
            stack.callback(self.run.close)
            self.run.start()
            self.load.start()
            stack.callback(self.load.stop)
            self.readers.start()
            stack.callback(self.readers.stop)
            if self.lag.await_copied(PATIENCE) is None:
                raise TimeoutError(f"nothing was copied within {PATIENCE:.0f} s")
            self.found.begun = time.monotonic()
            self.lag.start()
            stack.callback(self.lag.stop)
            watch.start()
            stack.callback(watch.join)
            stack.callback(self._over.set)
            self._disturb(faults)
            self._end()
        self._commands()
        self._prove()

    def _disturb(self, faults: Sequence[Fault]) -> None:
        """Do the faults when they are due, until the time is over."""
        begun, found = self.found.begun, self.found
        self._faults = Faults(self._stage, self.run, self.load, self.readers, self.lag, found.begun)
        for fault in faults:
            if time.monotonic() - begun > self._asked.seconds:
                break
            time.sleep(max(0.0, begun + fault.at - time.monotonic()))
            outcome = self._faults.do(fault)
            tell(f"{fault}: {outcome.victim or outcome.trouble}, recovered: {outcome.recovered} s")
            found.faults.append(outcome)
            if outcome.trouble:
                found.problems.append(f"{fault}: {outcome.trouble}")
            if outcome.recovered is None:
                found.problems.append(f"{fault}: not everything was copied behind it")
        time.sleep(max(0.0, begun + self._asked.seconds - time.monotonic()))

    def _end(self) -> None:
        """Let producers stop, the link catch up, and groups stand still."""
        self.load.stop()
        took = self.lag.await_copied(PATIENCE)
        tell(f"the last records were copied within {took} s")
        if took is None:
            self.found.problems.append(f"the last records were not copied in {PATIENCE:.0f} s")
        self.lag.stop()
        self.readers.stop()
        self._over.set()
        self._profiles.stop()
        self.found.ended = self.run.ended
        self.found.codes["run"] = self.run.stop()
        self.found.lags = [(at - self.found.begun, lag) for at, lag in self.lag.seen]
        self.found.groups = dict(self.readers.read)

    def _watch(self) -> None:
        while not self._over.is_set():
            began = time.monotonic()
            try:
                self._look(began)
            except Exception as error:  # noqa: BLE001 - told on the page, and the soak fails
                self.found.problems.append(f"watching: {type(error).__name__}: {error}")
            self._over.wait(max(0.0, began + EVERY - time.monotonic()))

    def _look(self, began: float) -> None:
        self.run.look()
        self.found.samples.append(self._sample(began))
        self._profiles.follow(self.run.life, self.run.pid)
        if began - self.found.begun > EVOLVE * (self._evolved + 1):
            self._evolve()

    def _evolve(self) -> None:
        """Write topics with schemas under another version from now on."""
        self._evolved += 1
        framed = [topic for topic in self._stage.topics if kind_of(topic).framed]
        if framed:
            with suppress(OSError):  # it may be frozen
                self._stage.evolve(framed[self._evolved % len(framed)])

    def _sample(self, now: float) -> Sample:
        brokers = {
            side: resident(each.pid for each in cluster.identities)
            for side, cluster in self._stage.clusters.items()
        }
        lags = self.lag.seen[-1:]
        return Sample(
            at=round(now - self.found.begun, 1),
            life=self.run.life,
            memory=memory_of(self.run.pid),
            brokers=brokers,
            cpu=self._cpu.look(),
            lag=lags[0][1] if lags and now - lags[0][0] < EVERY else None,
            records=self.load.acked.total(),
            load=round(getloadavg()[0], 2),
        )

    def _roots(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {
            side: [each.pid for each in cluster.identities]
            for side, cluster in self._stage.clusters.items()
        }
        root = self.run.pid
        for process in [] if root is None else tree(root):
            try:
                found.setdefault(role_of(process, root or 0) or "other", []).append(process.pid)
            except Exception:  # noqa: BLE001, S112 - it has just ended
                continue
        return found

    def _commands(self) -> None:
        """Let Towpath end what is left, and prove it in its own way."""
        file = str(self._stage.file)
        for words in (
            ("run", file, "--until-caught-up", "-o", "json"),
            ("groups", "sync", file),
            ("groups", "diff", file),
            ("status", file, "-o", "json"),
            ("verify", file, "-o", "json"),
        ):
            name = " ".join(word for word in words[:2] if word != file)
            done = self.run.command(*words, name=f"end-{name.replace(' ', '-')}")
            code = done.wait(PATIENCE)
            self.found.codes[f"{name} at the end" if name == "run" else name] = code
            tell(f"towpath {name}: exit code {code}")
            if code:
                self.found.problems.append(f"towpath {name} ended with {code}: {_short(done.said)}")

    def _prove(self) -> None:
        """Compare both sides by a client of our own."""
        boots, partitions = self._stage.bootstraps, self._asked.partitions
        cluster = self._stage.clusters[SOURCE].cluster_id.encode()
        facts = Facts(cluster, self._stage.ids())
        stands = {side: self.readers.committed(boots[side], partitions) for side in boots}
        kept = self._faults.kept if self._faults else {}
        proofs: list[Proof] = []
        for topic in self._stage.topics:
            kind = kind_of(topic)
            told = self.found.records.setdefault(
                kind.name, {"topics": 0, "written": 0, "compared": 0, "earlier": 0}
            )
            told["topics"] += 1
            proofs += [
                Proof(
                    place, kind, facts, kept.get(place, 0),
                    self.load.acked[place], self.load.unknown[place],
                    {
                        group: (at[place], stands[TARGET][group].get(place))
                        for group, at in stands[SOURCE].items()
                        if place in at
                    },
                )
                for place in ((topic, number) for number in range(partitions))
            ]  # fmt: skip
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(PROVERS, context) as pool:
            each_of = pool.map(proven, proofs, repeat(boots[SOURCE]), repeat(boots[TARGET]))
            for result in each_of:
                told = self.found.records[kind_of(result.topic).name]
                told["written"] += result.written
                told["compared"] += result.compared
                told["earlier"] += result.kept
                self.found.problems += result.problems
        tell(f"compared: {self.found.records}")


def _short(text: str) -> str:
    return " ".join(text.split())[-600:]


def main() -> int:
    """Soak; return 1 if something was lost, doubled or changed, or memory rises too fast."""
    asked = wish()
    end_on_signals()
    towpath_environment(ROOT)
    day = datetime.now(UTC).date()
    profiles = Profiles(asked.profile, asked.out / f"{day}-soak-{asked.profile}")
    faults = [] if asked.calm else plan(asked.seed, asked.seconds)
    tell(f"--seed {asked.seed}; " + ", ".join(map(str, faults)))
    if asked.home:
        asked.home.mkdir(parents=True, exist_ok=True)
    folder, told = Path(tempfile.mkdtemp(prefix="towpath-soak-", dir=asked.home)), machine()
    found = Found()
    try:
        with Stage(asked, folder) as stage:
            soak = Soak(asked, stage, folder, profiles)
            found = soak.found
            soak.play(faults)
    except KeyboardInterrupt:
        found.problems.append("interrupted")
    except Exception as error:  # noqa: BLE001 - told on the page
        found.problems.append(f"{type(error).__name__}: {error}")
    finally:
        profiles.stop()
    figured = figures(asked, found)
    found.problems += figured["rises"]
    data = {"machine": told, "wish": _plain(asked), **figured, "problems": found.problems}
    publish(asked.out, "soak", data, page(asked, told, found, figured))
    if found.problems and asked.home:
        tell(f"{folder} stays, as there are problems")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if found.problems else 0


def _plain(asked: Wish) -> Any:
    said = {name: value for name, value in asdict(asked).items() if name not in {"out", "home"}}
    return json.loads(json.dumps(said))


if __name__ == "__main__":
    sys.exit(main())
