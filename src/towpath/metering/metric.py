"""The description of a metric: its name, type, unit, labels and meaning.

No label holds anything of a record, a client or an error's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a metric, in the words of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    """Two series, their names ending in `_count` and `_sum`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The description of one metric."""

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def series(self) -> tuple[str, ...]:
        """The names of the metric's series, as used in queries."""
        if self.kind is Kind.SUMMARY:
            return (f"{self.name}_count", f"{self.name}_sum")
        return (self.name,)


def counter(name: str, unit: str, meaning: str, labels: tuple[str, ...] = ()) -> Metric:
    """Return a metric that never decreases during a run."""
    return Metric(name, Kind.COUNTER, unit, labels, meaning)


def gauge(name: str, unit: str, meaning: str, labels: tuple[str, ...] = ()) -> Metric:
    """Return a metric that goes up and down."""
    return Metric(name, Kind.GAUGE, unit, labels, meaning)


def summary(name: str, unit: str, meaning: str, labels: tuple[str, ...] = ()) -> Metric:
    """Return a metric that consists of a count and a sum."""
    return Metric(name, Kind.SUMMARY, unit, labels, meaning)
