"""Metric families of the last look at a migration to KRaft, made for each scrape."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from towpath.kraft.metrics import names
from towpath.metrics.collector import family


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftCounts:
    """The numbers of one look.

    Attributes:
        at: When, in ms since 1970.
        state: Number of KIP-866's state; None where there is none.
        kafka_state: Number of Kafka's own metric; None where it cannot be told.
        stages: 1 for the present stage, 0 for all others.
        alarms: 1 for raised alarms, 0 for all others.
        differences: By kind; empty where nothing was compared.
        brokers: Number of brokers by mode.
        unseen: Number of things that could not be looked at.
    """

    at: int
    state: int | None
    kafka_state: int | None
    stages: Mapping[str, int]
    alarms: Mapping[str, int]
    differences: Mapping[str, int]
    brokers: Mapping[str, int]
    unseen: int


class KraftMeter:
    """The numbers of the last look, written by one thread and read by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: KraftCounts | None = None
        self._turned = time.monotonic()
        self._step: float | None = None

    def step(self, begun: float | None) -> None:
        """Keep when the present step was begun, in seconds since 1970; None between steps."""
        with self._lock:
            self._step = begun

    @property
    def step_begun(self) -> float | None:
        """The time at which the present step began, in seconds since 1970; None between steps."""
        with self._lock:
            return self._step

    def tell(self, counts: KraftCounts) -> None:
        """Keep what the last look found."""
        with self._lock:
            self._counts, self._turned = counts, time.monotonic()

    def read(self) -> KraftCounts | None:
        """Return the numbers of the last look; None before the first one."""
        with self._lock:
            return self._counts

    @property
    def idle(self) -> float:
        """Seconds since the last look, or since the start."""
        return time.monotonic() - self._turned

    @property
    def ready(self) -> bool:
        """Whether there was a look."""
        return self.read() is not None


class KraftCollector(Collector):
    """Collector that reads the meter of a migration for each scrape.

    Args:
        meter: What is read.
        version: The version of Towpath.
        migration: The name of the migration.
    """

    def __init__(self, meter: KraftMeter, version: str, migration: str) -> None:
        self._meter, self._about = meter, (version, migration)

    def collect(self) -> Iterator[Family]:
        """Yield every metric, also those without a series now."""
        now = self._meter.read()
        yield family(names.KRAFT_INFO, [(self._about, 1)])
        yield family(names.KRAFT_STATE, _one(now.state if now else None))
        yield family(names.KAFKA_STATE, _one(now.kafka_state if now else None))
        yield family(names.KRAFT_STAGE, _each(now.stages if now else {}))
        yield family(names.KRAFT_ALARM, _each(now.alarms if now else {}))
        yield family(names.KRAFT_DIFFERENCES, _each(now.differences if now else {}))
        yield family(names.KRAFT_BROKERS, _each(now.brokers if now else {}))
        yield family(names.KRAFT_UNSEEN, _one(now.unseen if now else None))
        yield family(names.KRAFT_LOOK, _one(now.at / 1000 if now else None))
        yield family(names.KRAFT_STEP, _one(self._meter.step_begun))


def _one(value: float | None) -> list[tuple[tuple[str, ...], float]]:
    return [] if value is None else [((), value)]


def _each(values: Mapping[str, int]) -> list[tuple[tuple[str, ...], float]]:
    return [((label,), value) for label, value in sorted(values.items())]
