"""What both clusters say of the partitions that `towpath verify` compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import Answers, ConfigEntry
from towpath.ledger.books import LinkBooks
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.mirror.verify.gone import SEEN, UnseenConfigs
from towpath.mirror.verify.ranges import Bounds
from towpath.model.cleaner import is_cleaned
from towpath.model.nouns import Side, TopicName, TopicPartition
from towpath.topics.cleaners import RUNS, look_at_cleaner
from towpath.topics.configs import compacts


class Observed:
    """The state of both clusters for the partitions to compare.

    Args:
        books: What the ledger knows of the link.
        source: The source.
        target: The target.
        since_offset: Compare from this source offset on.
        since_ms: Compare from the first record of this time on instead, in ms since 1970.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
    """

    def __init__(
        self,
        books: LinkBooks,
        source: Admin,
        target: Admin,
        since_offset: int = 0,
        since_ms: int | None = None,
    ) -> None:
        self._books, self._source, self._target = books, source, target
        self._since_offset, self._since_ms = since_offset, since_ms
        known = {tp.topic for tp, each in books.partitions.items() if each.opened is not None}
        self._source_topics = source.topics.describe(known)
        copies = {each.opened.target_topic for each in books.partitions.values() if each.opened}
        self._target_topics = target.topics.describe(copies)
        self._unseen: dict[TopicPartition, UnseenConfigs] = {}
        self._cleaner = RUNS

    def trouble(self, tp: TopicPartition, row: PartitionStatus) -> str:
        """Return why a partition cannot be compared, "" if it can."""
        opened = self._books.of(tp).opened
        if opened is None:
            return "never copied"
        source = self._source_topics.get(tp.topic)
        target = self._target_topics.get(opened.target_topic)
        if source is None or tp.partition >= len(source.partitions):
            return "it is no more at the source"
        if source.id != opened.source_topic_id:
            return "the topic was deleted and created again at the source since it was copied"
        if target is None or row.partition >= len(target.partitions):
            return f"{opened.target} is no more at the target"
        if target.id != opened.target_topic_id:
            return "the topic was deleted and created again at the target since it was copied"
        return ""

    def bounds(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """Ask for log start offsets, and which topics are compacted.

        Raises:
            ClusterError: A cluster could not be reached, refused us, or knows no such offset.
        """
        targets = {tp: opened.target for tp in tps if (opened := self._books.of(tp).opened)}
        if not targets:
            return {}
        earliest = self._source.offsets.earliest(targets)
        target_earliest = self._target.offsets.earliest(targets.values())
        target_latest = self._target.offsets.latest(targets.values())
        since = self._since(targets)
        source_configs = self._source.configs.describe({tp.topic for tp in targets})
        target_configs = self._target.configs.describe({tp.topic for tp in targets.values()})
        kept = self._kept(source_configs)
        self._unseen |= {
            tp: UnseenConfigs(
                source=str(source_configs.failed.get(tp.topic, "")),
                target=str(target_configs.failed.get(there.topic, "")),
                cleaner=self._cleaner.unknown,
            )
            for tp, there in targets.items()
        }
        return {
            tp: Bounds(
                earliest.sure(tp),
                target_earliest.sure(there),
                since.sure(tp),
                _may_compact(source_configs.get(tp.topic)),
                _may_compact(target_configs.get(there.topic)),
                target_latest.sure(there),
                source_keeps=tp.topic in kept,
            )
            for tp, there in targets.items()
        }

    def unseen_of(self, tp: TopicPartition) -> UnseenConfigs:
        """Return the configs of a partition's topics that could not be read."""
        return self._unseen.get(tp, SEEN)

    def _kept(self, configs: Mapping[TopicName, Mapping[str, ConfigEntry]]) -> frozenset[TopicName]:
        """Return the topics with a policy of `compact` that the source does not compact."""
        values = {
            name: {key: each.value for key, each in entries.items() if each.value is not None}
            for name, entries in configs.items()
        }
        self._cleaner = look_at_cleaner(self._source, Side.SOURCE, values.values())
        stops = self._cleaner.stops
        return frozenset(
            name
            for name, each in values.items()
            if compacts(each) and not is_cleaned({**each, **stops})
        )

    def _since(self, tps: Iterable[TopicPartition]) -> Answers[TopicPartition, int]:
        if self._since_ms is not None:
            return self._source.offsets.at_time(tps, self._since_ms)
        return Answers(dict.fromkeys(tps, self._since_offset), {})


def _may_compact(configs: Mapping[str, ConfigEntry] | None) -> bool:
    """Whether a topic is compacted, or may be because the login cannot see its configs."""
    policy = configs.get("cleanup.policy") if configs else None
    return policy is None or "compact" in (policy.value or "")
