"""The clusters, registries and proxies of a soak, and the run of its link."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psutil
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.support.clusters.brokers import Listener, SharedCluster
from tests.support.network.toxiproxy import Toxiproxy
from tests.support.network.toxiproxy import fetch as fetch_toxiproxy
from tests.support.program import Program
from tests.support.registries.registry import LocalRegistry, record
from tests.support.registries.registry import fetch as fetch_registry

from bench.soaking.kinds import kind_of, topic_names
from bench.soaking.wish import Wish
from towpath.dev.distribution import NEWEST

SOURCE, TARGET = "source", "target"
SOURCE_VERSION = "3.9.2"
HEAP = "384m"
PROXIED = "PROXIED"
PATIENCE = 60.0
LINK = "soak"
LEFT = 180.0
"""Seconds that Spark's processes may take to notice that their driver was killed."""
RESTART = 2.0
"""Seconds after which a run that ended by itself is started again, as a service manager does."""


class Stage:
    """Everything that a soak needs around the program that it watches, while it is entered.

    Args:
        wish: What is asked for.
        folder: Where data and logs go.
    """

    def __init__(self, wish: Wish, folder: Path) -> None:
        self._wish, self._folder = wish, folder
        self.topics = topic_names(wish.topics)
        listeners = {PROXIED: Listener(proxied=True)}
        self.clusters = {
            side: SharedCluster(version, home=folder / side, heap=HEAP, listeners=listeners)
            for side, version in ((SOURCE, SOURCE_VERSION), (TARGET, NEWEST))
        }
        self.registries: dict[str, LocalRegistry] = {}
        self._frames: dict[str, bytes] = {}
        self._schemas = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        programs = fetch_registry(), fetch_toxiproxy()
        if None in programs:
            raise SystemExit("the schema registry and the proxy are built with Go: install it")
        registry, toxiproxy = (each for each in programs if each is not None)
        with ExitStack() as stack:
            self.proxy = Toxiproxy(toxiproxy, self._folder / "toxiproxy.log")
            stack.callback(self.proxy.stop)
            for side, cluster in self.clusters.items():
                stack.enter_context(cluster)
                self.proxy.stand_before(cluster)
                self.registries[side] = LocalRegistry(registry, self._folder / f"registry-{side}")
                stack.callback(self.registries[side].stop)
            self._prepare_registries()
            for topic in self.topics:
                self.create(topic)
                if kind_of(topic).framed:
                    self.evolve(topic)
            self.file = self._write_file()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def bootstraps(self) -> Mapping[str, str]:
        """The addresses for clients that no proxy disturbs, by side."""
        return {side: cluster.bootstrap for side, cluster in self.clusters.items()}

    def admin(self, side: str) -> AdminClient:
        """Return a new admin client; an old one remembers topics that are gone."""
        return AdminClient({"bootstrap.servers": self.clusters[side].bootstrap, "log_level": 0})

    def create(self, topic: str) -> None:
        """Create a topic at the source."""
        admin = self.admin(SOURCE)
        admin.create_topics([NewTopic(topic, self._wish.partitions, 1)])[topic].result(PATIENCE)

    def delete(self, topic: str) -> None:
        """Delete a topic at the source, and wait until it is gone."""
        admin = self.admin(SOURCE)
        admin.delete_topics([topic], operation_timeout=PATIENCE)[topic].result(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while topic in admin.list_topics(timeout=PATIENCE).topics:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} was deleted, and is still there")
            time.sleep(0.2)

    def evolve(self, topic: str) -> None:
        """Register another version of a topic's schema, and write with it from now on."""
        self._schemas += 1
        fields = [f"f{number}" for number in range(self._schemas)]
        schema = record(topic.replace("-", "_"), *fields)
        number = self.registries[SOURCE].register(f"{topic}-value", schema)
        self._frames[topic] = number.to_bytes(4, "big")

    def frame(self, topic: str) -> bytes:
        """Return the id with which a topic is written now."""
        return self._frames.get(topic, b"\0\0\0\0")

    def ids(self) -> dict[int, int]:
        """Return the schema ids of the target by those of the source, as both registries say."""
        there = self.registries[TARGET].schemas()
        return {
            number: there[version][0]
            for version, (number, _) in self.registries[SOURCE].schemas().items()
            if version in there
        }

    def _prepare_registries(self) -> None:
        self.registries[SOURCE].ask("PUT", "/config", {"compatibility": "NONE"})
        for number in range(7):  # so that ids differ on both sides
            self.registries[TARGET].register(f"other-{number}", record(f"Other{number}", "a"))

    def _write_file(self) -> Path:
        file = self._folder / "link.yaml"
        names = sorted({kind_of(topic).name for topic in self.topics})
        changes = (
            f"  - {{topics: ['soak-{kind_of(topic).name}-.*'], {kind_of(topic).change}}}\n"
            for topic in self.topics[: len(names)]
        )
        sides = (
            f"{side}: {{bootstrap: '{cluster.through(PROXIED).bootstrap}', request_timeout: 10s}}\n"
            for side, cluster in self.clusters.items()
        )
        urls = {side: {"url": registry.url} for side, registry in self.registries.items()}
        schemas = json.dumps({**urls, "ids": "translate", "interval": "5s"})
        file.write_text(
            f"{''.join(sides)}link: {LINK}\ntopics: {{include: ['soak-.*']}}\n"
            f"groups: {{include: ['soak-.*'], interval: 5s}}\n"
            f"schemas: {schemas}\nchanges:\n{''.join(changes)}"
        )
        return file


class Run:
    """`towpath run`, started again whenever it ends by itself.

    Args:
        stage: What it runs on.
        folder: Where what it prints goes.
        env: What it has in its environment besides ours.

    Attributes:
        life: Number of starts so far.
        ended: What it said when it ended by itself, a text each.
    """

    def __init__(self, stage: Stage, folder: Path, env: Mapping[str, str]) -> None:
        self._file, self._folder, self._env = stage.file, folder, env
        self.life = 0
        self.ended: list[str] = []
        self._program: Program | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The process of now, `None` while it is stopped."""
        program = self._program
        return program.pid if program is not None and program.running else None

    @property
    def program(self) -> Program:
        """The process of now."""
        assert self._program is not None  # noqa: S101 - told to the type checker only
        return self._program

    def start(self) -> None:
        """Start it."""
        with self._lock:
            self._start()

    def stop(self) -> int:
        """Ask it to end, as a service manager does; return its exit code."""
        with self._lock:
            code = self.program.stop()
            self._program = None
            return code

    def kill(self) -> float:
        """Kill it by -9, and start it again at once, as a service manager does.

        Returns:
            The seconds until the last process that the killed one had started was gone.

        Raises:
            TimeoutError: Some outlive it.
        """
        with self._lock:
            children, began = self.program.children(), time.monotonic()
            self.program.send(signal.SIGKILL)
            self.program.wait(PATIENCE)
            self._start()
        _, left = psutil.wait_procs(children, LEFT)
        if left:
            words = "; ".join(" ".join(each.cmdline())[:80] for each in left)
            raise TimeoutError(f"processes outlive a killed run by {LEFT:.0f} s: {words}")
        return time.monotonic() - began

    def look(self) -> None:
        """Start it again if it ended by itself."""
        with self._lock:
            if self._program is None or self._program.running:
                return
            code = self._program.wait(1)
            lines = "\n".join(self._program.said.splitlines()[-20:])
            self.ended.append(f"start {self.life} ended with {code}: {lines}")
            time.sleep(RESTART)
            self._start()

    def close(self) -> None:
        """Leave nothing of it behind."""
        with self._lock:
            if self._program is not None:
                for each in self._program.children() if self._program.running else []:
                    with contextlib.suppress(psutil.Error):
                        each.resume()
                self._program.close()

    def command(self, *words: str, name: str) -> Program:
        """Start another command of Towpath on the link."""
        return Program(self._folder, *words, name=name)

    def _start(self) -> None:
        self.life += 1
        words = ("run", str(self._file), "--log-level", "warning")
        self._program = Program(self._folder, *words, name=f"run-{self.life}", env=self._env)
