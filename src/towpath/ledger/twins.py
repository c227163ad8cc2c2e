"""The links that write to a cluster under private producer ids, by its ledger. Pure.

A twin is a link that copies the same topics in the other direction (docs/decisions/0093).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from towpath.ledger.entries import LinkIdentity, Opened, ReadEntry
from towpath.ledger.producers import GENERATIONS, producer_id
from towpath.model.nouns import ClusterId, LinkName, ProducerId, TopicPartition

KINDS = frozenset({LinkIdentity.kind, Opened.kind})
"""The kinds of entries that tell who writes under which private producer id."""
_PURPOSES = ("data", "filler", "marker")


@dataclass(frozen=True, slots=True)
class Direction:
    """The path of a link's batches, from a source partition to a mirror partition.

    Attributes:
        origin: The cluster that the records come from.
        source: The partition there.
        mirror: The partition that they are written to.
    """

    origin: ClusterId
    source: TopicPartition
    mirror: TopicPartition

    def back(self, cluster: ClusterId) -> Direction:
        """Return the opposite direction, from the mirror partition to the source partition.

        Args:
            cluster: The cluster that this one writes to.
        """
        return Direction(cluster, self.mirror, self.source)


@dataclass(slots=True)
class PrivateWriters:
    """The private producer ids of all links that write to one cluster.

    Each is claimed in the ledger before the first batch under it is written.
    """

    _clusters: dict[LinkName, ClusterId] = field(default_factory=dict)
    _opened: dict[ProducerId, Opened] = field(default_factory=dict)
    """What stands in the ledger of each producer id of generation 0, whatever its purpose."""

    def take(self, entry: ReadEntry) -> None:
        """Add one ledger entry of any link; entries of newer versions are ignored."""
        if isinstance(entry, LinkIdentity) and entry.link not in self._clusters:
            self._clusters[entry.link] = entry.source_cluster
            # A raised feature level has moved the identity behind claims that came after it.
            for claim in [each for each in self._opened.values() if each.link == entry.link]:
                self._claim(claim)
        elif isinstance(entry, Opened):
            self._claim(entry)

    def _claim(self, entry: Opened) -> None:
        for first in self._ids(entry):
            self._opened[first] = entry

    def _ids(self, entry: Opened) -> Iterator[ProducerId]:
        yield entry.producer_id  # a repair gives another one than the derived one
        cluster = self._clusters.get(entry.link)
        if cluster is not None:
            ids = entry.link, cluster, entry.source_topic_id, entry.target_topic_id, entry.tp
            yield from (producer_id(*ids, purpose=each) for each in _PURPOSES)

    def direction(self, producer: ProducerId) -> Direction | None:
        """Return the direction written under a private producer id, `None` if unclaimed."""
        for number in range(GENERATIONS):
            opened = self._opened.get(ProducerId(producer - number))
            if opened is not None and opened.link in self._clusters:
                return Direction(self._clusters[opened.link], opened.tp, opened.target)
        return None

    def by_direction(self) -> Mapping[Direction, frozenset[ProducerId]]:
        """Return the producer ids of generation 0, for data, filler and markers, by direction."""
        found = defaultdict[Direction, set[ProducerId]](set)
        for first in self._opened:
            if (direction := self.direction(first)) is not None:
                found[direction].add(first)
        return {direction: frozenset(ids) for direction, ids in found.items()}
