"""A link whose records go through a query, and what its topics hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.kafka import Record, consume, produce
from towpath.dev.broker import LocalCluster

T0 = 1_700_000_000_000
QUERY = """
select key, concat(value, '!') as value, headers, timestamp, partition
from records where cast(substring(cast(value as string), 2) as int) % 10 != 3
"""
"""Drops what ends with 3, and marks the rest."""


@dataclass
class TransformedLink:
    """A link with a query, and its file."""

    source: LocalCluster
    target: LocalCluster
    topic: str
    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / f"{self.topic}.yaml"

    @property
    def clean(self) -> str:
        return f"{self.topic}.clean"

    def write(self, transform: Any, **sections: Any) -> Path:
        topics = {"include": [self.topic], "rename": "{topic}.clean"}
        content = {
            "source": {"bootstrap": self.source.bootstrap},
            "target": {"bootstrap": self.target.bootstrap},
            "link": self.topic,
            "topics": {**topics, **sections.pop("topics", {})},
            **({"transform": transform} if transform else {}),
            **sections,
        }
        self.file.write_text(json.dumps(content))
        return self.file

    def produced(self, numbers: Iterable[int]) -> None:
        records = [
            Record(b"k%d" % n, b"v%d" % n, (("h", b"%d" % n),), T0 + n, partition=n % 2)
            for n in numbers
        ]
        produce(self.source.bootstrap, self.topic, records)

    def written(self, partitions: int = 2) -> list[Record]:
        found = consume(self.target.bootstrap, self.clean, range(partitions))
        return sorted(found, key=lambda each: (each.partition, each.offset))

    def values(self, partitions: int = 2) -> Counter[bytes]:
        return Counter(each.value or b"" for each in self.written(partitions))


def through_query(numbers: Iterable[int]) -> Counter[bytes]:
    """What `QUERY` makes of what was produced."""
    return Counter(b"v%d!" % n for n in numbers if n % 10 != 3)
