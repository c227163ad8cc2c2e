"""The values of a metric at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from towpath.metering.metric import Metric

Labels = tuple[str, ...]
Value = float | tuple[int, float]
"""A number; of a summary, how many things and their sum."""
Samples = Iterable[tuple[Labels, Value]]
"""Values by labels, which come in the order in which the metric names them."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric with its current values; without values it is served without a series.

    Attributes:
        metric: The metric.
        samples: Its values by labels.
    """

    metric: Metric
    samples: Samples


def alone(metric: Metric, value: Value | None) -> Measurement:
    """Return the measurement of a metric without labels.

    Args:
        metric: The metric.
        value: Its value, of a summary number and sum; `None` where it is not known, which is no
            series.
    """
    return Measurement(metric, [] if value is None else [((), value)])


def labelled(metric: Metric, values: Mapping[str, float]) -> Measurement:
    """Return the measurement of a metric with one label.

    Args:
        metric: The metric.
        values: Its values by that label.
    """
    return Measurement(metric, [((label,), value) for label, value in sorted(values.items())])
