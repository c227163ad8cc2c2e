"""Detection of records at the source that a restore wrote there.

Two regions that archive and restore each other's topics would send their records round and round.
A restore writes under producer ids of its own, and the ledger names them before the first record is
written. So an archive that looks at the source first, and reads the ledger then, knows the ids of
all that it has seen (docs/decisions/0052).

What a restore of this very archive wrote comes from no other region: no circle, and part of the
topic as it is now. It is archived like any other record, so that the topic can come back from its
newest life alone (docs/decisions/0082).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from towpath.archive.config import RestoredRecords
from towpath.archive.model import first_history
from towpath.archive.read.feed.restore_work import archived_region
from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.entries import (
    LinkIdentity,
    Opened,
    ReadEntry,
    Repaired,
    TransactionalProducer,
    Unreadable,
)
from towpath.ledger.entries.coding import EntryKey
from towpath.ledger.ledger import Ledger
from towpath.ledger.producers import generations
from towpath.ledger.topic import TOPIC
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.nouns import LinkName, ProducerId, Side, TopicId, TopicName
from towpath.settings import ClusterConfig

_KINDS = frozenset({LinkIdentity.kind, Opened.kind, Repaired.kind, TransactionalProducer.kind})


@dataclass(slots=True)
class _Restored:
    """The traces of one restore: its producer ids, their incarnations, and its topics."""

    region: str = ""
    topics: dict[TopicId, TopicName] = field(default_factory=dict)
    of: dict[ProducerId, TopicId] = field(default_factory=dict)
    """The topic that each incarnation writes to."""
    given: dict[ProducerId, set[ProducerId]] = field(default_factory=dict)
    """Producer ids that the cluster gave out for an incarnation."""
    origins: set[TopicId] = field(default_factory=set)
    """The archived topics that it restored."""


class RestoredHere:
    """Knows which records at the source were written by restores.

    Args:
        source: The source.
        where: The same, as the file has it.
        rule: What the file says of such records.
        own: Whether this archive has a topic of an id.
    """

    def __init__(
        self,
        source: Admin,
        where: ClusterConfig,
        rule: RestoredRecords | None,
        own: Callable[[TopicId], bool],
    ) -> None:
        self._source, self._where, self._rule, self._own = source, where, rule, own
        self._client: Client | None = None
        self._ledger: Ledger | None = None
        self._links: dict[LinkName, _Restored] = {}

    def close(self) -> None:
        """Close the connection to the source's ledger."""
        if self._client is not None:
            self._client.close()

    def look(self) -> None:
        """Read new ledger entries of restores, if the source has a ledger.

        Raises:
            ClusterError: The ledger cannot be read, so nobody knows.
            LedgerError: An entry is of a newer version, so nobody knows.
        """
        if self._rule is RestoredRecords.KEEP:
            return
        if self._ledger is None:
            if self._source.topics.find(TOPIC) is None:
                return
            self._client = Client(self._where, Side.SOURCE, self._source)
            self._ledger = Ledger(self._source, self._client)
        for entry in self._ledger.read(wanted=_is_about_writers):
            self.take(entry)

    def require_decided(self, topics: Collection[TopicId]) -> None:
        """Raise unless the file says how to treat restored records, if there are any.

        Args:
            topics: The topics that are archived.

        Raises:
            ConfigError: It does not.
        """
        if self._rule is not None:
            return
        found = self._found(topics)
        if found:
            told = ", ".join(f"{name} (restore {link}, of region {region})" for name, link, region
                             in found)  # fmt: skip
            text = (
                f"is not given, and restores have written to {told}: `leave_out` archives only"
                " what others wrote, as regions need that restore each other's archives, and a"
                " restore of this archive then lacks the rest, which only the archive of that"
                " region can bring back; `keep` archives all, as after a move to this cluster"
            )
            raise ConfigError((ConfigProblem("restored", text),))

    def ids(self, topics: Collection[TopicId]) -> dict[TopicId, frozenset[ProducerId]]:
        """Return the producer ids under which restores have written to topics, where they did."""
        found: defaultdict[TopicId, set[ProducerId]] = defaultdict(set)
        for link in filter(self._is_left_out, self._links.values()):
            for first, topic in link.of.items():
                if topic in topics:
                    found[topic].update(generations(first), link.given.get(first, ()))
        return {topic: frozenset(ids) for topic, ids in found.items()}

    def told(self, topics: Collection[TopicId]) -> tuple[str, ...]:
        """Return sentences about restored records that are left out."""
        return tuple(
            f"{name}: records that restore {link} wrote, of region {region}, are left out; a"
            " restore of this archive lacks them"
            for name, link, region in self._found(topics)
        )

    def _found(self, topics: Collection[TopicId]) -> list[tuple[TopicName, LinkName, str]]:
        return sorted(
            (name, link, each.region)
            for link, each in self._links.items()
            if self._is_left_out(each)
            for number, name in each.topics.items()
            if number in topics
        )

    def _is_left_out(self, link: _Restored) -> bool:
        """Whether a restore brought what another archive has."""
        return bool(link.region) and not any(map(self._own, link.origins))

    def take(self, entry: ReadEntry) -> None:
        """Process an entry of the ledger.

        Raises:
            LedgerError: It is of a newer version, so nobody knows what it says.
        """
        match entry:
            case LinkIdentity() if archived_region(entry.source_cluster):
                self._of(entry.link).region = archived_region(entry.source_cluster)
            case Opened():
                link = self._of(entry.link)
                link.topics[entry.target_topic_id] = entry.target_topic
                link.of[entry.producer_id] = entry.target_topic_id
                link.origins.add(first_history(entry.source_topic_id))
            case Repaired():
                link = self._of(entry.link)
                if (topic := link.of.get(entry.producer_id)) is not None:
                    link.of[entry.successor] = topic
            case TransactionalProducer():
                given = self._of(entry.link).given
                given.setdefault(entry.producer_id, set()).add(entry.writer)
            case Unreadable():
                raise entry.error  # it may be about records that must be left out
            case _:
                pass

    def _of(self, link: LinkName) -> _Restored:
        return self._links.setdefault(link, _Restored())


def _is_about_writers(key: EntryKey) -> bool:
    return key.kind in _KINDS
