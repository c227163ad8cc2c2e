"""The process of a node: its exact version and heap, from command line and open files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile

from towpath.kraft.errors import DriverError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.look.cached import Remembered
from towpath.kraft.reach.driver import Driver

_VERSION = r"-(\d+\.\d+\.\d+[^/:\s]*?)(?:-test)?\.jar\b"
_JARS = (re.compile(rf"/kafka_\d+\.\d+{_VERSION}"), re.compile(rf"/kafka-clients{_VERSION}"))
"""Jars with Kafka's version, such as `kafka_2.13-3.9.2.jar`; plugins may have other clients."""
_HEAP = re.compile(r"^-Xmx(\d+)([kmgt]?)$", re.I | re.M)
_VARIABLE = re.compile(r"^(KAFKA_[A-Z_]*ZOOKEEPER_CONNECT)=$", re.MULTILINE)
_MAIN = frozenset({"kafka.Kafka", "io.confluent.support.metrics.SupportedKafka"})
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_AGAIN = 30.0
"""Seconds for which what a host told of a process is taken as true."""


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """The observed Kafka process of a node.

    Attributes:
        build: Its version with the patch level, such as "3.9.2"; None where it cannot be told.
        heap: Its largest heap, in bytes (`-Xmx`); None where it names none.
        arguments: Those of Kafka: its properties file, and what overrides that; None where they
            cannot be told.
        variables: Names of its variables from which images make properties files.
    """

    build: str | None = None
    heap: int | None = None
    arguments: tuple[str, ...] | None = None
    variables: tuple[str, ...] = ()


def process_of(told: str) -> ProcessSeen:
    """Parse a process's command line and open files into version, heap and arguments."""
    builds = next(filter(None, (set(jar.findall(told)) for jar in _JARS)), set[str]())
    sizes = _HEAP.findall(told)
    heap = int(sizes[-1][0]) << _UNITS[sizes[-1][1].lower()] if sizes else None
    build = builds.pop() if len(builds) == 1 else None
    return ProcessSeen(build, heap, _arguments(told), tuple(_VARIABLE.findall(told)))


def _arguments(told: str) -> tuple[str, ...] | None:
    """Return what stands behind the main class; open jars and variables come behind all words."""
    words = told.splitlines()
    begin = next((at for at, word in enumerate(words, 1) if word in _MAIN), None)
    if begin is None:
        return None
    return tuple(takewhile(_is_argument, words[begin:]))


def _is_argument(word: str) -> bool:
    return not (word.endswith(".jar") or _VARIABLE.fullmatch(word))


class Processes:
    """The processes of nodes, cached for some seconds.

    Args:
        clock: Tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[NodeId, Remembered[ProcessSeen]] = {}

    def look(self, node: NodeId, driver: Driver, *, running: bool) -> ProcessSeen:
        """Return the process of a node as its host shows it; an empty value if it is stopped."""
        if not running:
            self._told.pop(node, None)
            return ProcessSeen()
        told = self._told.setdefault(node, Remembered(_AGAIN, self._clock))
        return told.get(lambda: _ask(driver))


def _ask(driver: Driver) -> ProcessSeen:
    with suppress(DriverError):
        return process_of(driver.process() or "")
    return ProcessSeen()
