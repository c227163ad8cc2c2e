"""Changes at the source and its registry that are not committed yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import Capture, CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.write.capturing import GroupCaptures, TopicCaptures
from towpath.archive.write.capturing_access import AccessCaptures
from towpath.archive.write.capturing_schemas import SchemaCaptures
from towpath.archive.write.restored_records import RestoredHere
from towpath.archive.write.source_cluster import require_cluster
from towpath.archive.write.source_look import SourceLook, SourceLooks
from towpath.archive.write.standings import Standings
from towpath.archive.write.unread_records import deleted_topics, unseen_topics
from towpath.cluster.admin import Admin
from towpath.model.nouns import ProducerId, TopicId
from towpath.store import Store


class SourceNews:
    """Observes the source, and keeps its changes until they are committed.

    Args:
        config: The archive.
        source: The source.
        store: The store, which gets schemas.
        log: The commit log, which says what is known.
        standings: Told what each look finds.
        woken: Called in another thread when a registry was looked at.

    Attributes:
        due: When the source is looked at next, by the monotonic clock.
        changed: What has changed besides records, and is not committed.
        new: Partitions that were never committed.
    """

    def __init__(
        self,
        config: ArchiveConfig,
        source: Admin,
        store: Store,
        log: CommitLog,
        standings: Standings,
        woken: Callable[[], None],
    ) -> None:
        self._every, self._standings = config.run.discover, standings
        self._config, self._log = config, log
        self._source = source
        self._looks = SourceLooks(source, config.topics)
        self._restored = RestoredHere(source, config.source, config.restored, self._has)
        self._topics = TopicCaptures(source, log.state, log.where)
        self._groups = GroupCaptures(source, config.groups, config.group, log.state)
        self._access = AccessCaptures(source, log.state, wanted=config.access)
        self._schemas = SchemaCaptures(
            config.schemas, store, config.region, log.state, log.where, woken
        )
        self._look: SourceLook | None = None
        self._unseen: tuple[str, ...] = ()
        self._own, self._own_version = frozenset[TopicId](), -1
        self.due = 0.0
        self.changed: list[Capture] = []
        self.new: set[PartitionId] = set()

    def close(self) -> None:
        """Stop the requests to the source's ledger and to the registry."""
        self._schemas.close()
        self._restored.close()

    def look(self) -> SourceLook:
        """Observe the source. Returns its topics and log ends.

        Raises:
            ClusterError: It could not be reached, or is another cluster than the archived one.
            LedgerError: Its ledger has an entry of a newer version.
        """
        look = self._looks.look(self._standings.epochs)
        require_cluster(self._config, self._log.state, look.cluster)
        self._restored.look()  # behind it, so that it names the writers of all that was seen
        self._look = look
        self.due = time.monotonic() + self._every
        self.new |= {each.id for each in self._standings.saw(look)}
        unread = self._standings.unread(look)
        deleted = deleted_topics(self._source, look, unread)
        self._unseen = unseen_topics(
            each
            for each, number in unread
            if number not in deleted and self._config.topics.matches(each)
        )
        for gap in self._standings.lost_with_topics(deleted):
            self._standings[gap.partition_id].took([gap])
        self.changed += self._topics.changed(look)
        self.changed += self._groups.changed(look)
        self.changed += self._access.changed(look)
        return look

    def hear(self) -> None:
        """Take new captures from the registry's thread."""
        self.changed += self._schemas.changed()

    def _has(self, topic: TopicId) -> bool:
        """Whether the archive has a topic of this id."""
        if self._own_version != (version := self._log.state.version):
            self._own = frozenset(each.source.topic_id for each in self._log.state.partitions)
            self._own_version = version
        return topic in self._own

    @property
    def settled(self) -> bool:
        """Whether everything that is archived besides records is committed."""
        return self._schemas.settled and not self.changed

    def committed(self) -> None:
        """Record that all changes are committed."""
        self.changed, self.new = [], set()

    def require_decided(self) -> None:
        """Raise unless the file says how to treat restored records, if the source has any.

        Raises:
            ConfigError: It does not.
        """
        if self._look is not None:
            self._restored.require_decided(self._look.topics)

    def left_out(self, topics: Collection[TopicId]) -> Mapping[TopicId, frozenset[ProducerId]]:
        """Return the producer ids whose records of topics are left out, for those with any."""
        return self._restored.ids(topics)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Sentences about topics that could not be observed."""
        found = {**self._standings.hidden, **self._topics.failed}
        told = (f"{name}: {error}" for name, error in sorted(found.items()))
        return (*told, *self._unseen)

    @property
    def beside(self) -> tuple[str, ...]:
        """Sentences about captures (groups, access, schemas) that are incomplete."""
        groups, schemas = self._groups.trouble, self._schemas.trouble
        told = (
            f"positions of groups are not archived: {groups}" if groups else "",
            f"schemas are not archived: {schemas}" if schemas else "",
        )
        return (*filter(None, told), *self._schemas.untold)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about everything that is not archived, with reasons."""
        if self._look is None:
            return ()
        untold = self._access.untold.items()
        return (
            *self._schemas.notes,
            *self._restored.told(self._look.topics),
            *(f"{what} are not archived: {why}" for what, why in untold),
        )
