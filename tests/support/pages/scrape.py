"""What a run serves, as Prometheus would get it."""

from __future__ import annotations

import urllib.request
from collections import defaultdict

from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """One answer of `/metrics`."""

    def __init__(self, address: str) -> None:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            self.kind: str = answer.headers["Content-Type"]
            self.text: str = answer.read().decode()
        self.families = list(text_string_to_metric_families(self.text))
        self.labels: dict[str, set[str]] = defaultdict(set)
        """The labels of each series by its name."""
        self._values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in self.families:
            for sample in family.samples:
                self.labels[sample.name] |= sample.labels.keys()
                self._values[sample.name, frozenset(sample.labels.items())] = sample.value

    def get(self, name: str, **labels: str) -> float | None:
        """Return the value of the one series with exactly these labels."""
        return self._values.get((name, frozenset(labels.items())))

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the values of all series of this name by their labels' values, in their order."""
        return {
            tuple(value for _, value in sorted(labels)): number
            for (found, labels), number in self._values.items()
            if found == name
        }
