"""Conversion of measurements to metric families of the Prometheus client, for each scrape.

What is no longer there therefore leaves no series behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from towpath.metering.measurement import Measurement
from towpath.metering.metric import Kind

Measure = Callable[[], Iterable[Measurement]]
"""Yields every metric, also those without a series now."""
_ENDINGS = {Kind.COUNTER: "_total"}


class MeasurementCollector(Collector):
    """A Prometheus collector that measures anew for each scrape.

    Args:
        measure: Called for each scrape, from threads of their own.
    """

    def __init__(self, measure: Measure) -> None:
        self._measure = measure

    def collect(self) -> Iterator[Family]:
        """Yield the families of all metrics."""
        return map(_family, self._measure())


def _family(measured: Measurement) -> Family:
    metric = measured.metric
    ending = _ENDINGS.get(metric.kind, "")
    made = Family(metric.name.removesuffix(ending), metric.meaning, metric.kind)
    for values, value in measured.samples:
        labels = dict(zip(metric.labels, values, strict=True))
        if isinstance(value, tuple):
            number, total = value
            made.add_sample(f"{metric.name}_count", labels, number)
            made.add_sample(f"{metric.name}_sum", labels, total)
        else:
            made.add_sample(metric.name, labels, value)
    return made
