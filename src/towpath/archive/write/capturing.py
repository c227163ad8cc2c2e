"""Captures of changed topic descriptions and consumer group offsets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from towpath.archive.config.file import ArchivedGroups
from towpath.archive.log import ArchiveState, Capture
from towpath.archive.log.captures import (
    GROUP,
    CapturedOffset,
    GroupCapture,
    TopicCapture,
    captured_topics,
)
from towpath.archive.write.source_look import SourceLook
from towpath.cluster.admin import Admin
from towpath.cluster.metadata import ConfigEntry, TopicInfo
from towpath.model.errors import ClusterError
from towpath.model.groups import ClientGroup, Commit
from towpath.model.nouns import ClusterId, TopicId, TopicName, TopicPartition
from towpath.topics.observe import described

_EVERY = 300.0
"""Seconds between two looks at the configs of all topics."""


class TopicCaptures:
    """Finds topics whose description changed since the last capture.

    Args:
        source: The source.
        state: The archive when the run begins.
        where: Its commit log, for messages.

    Attributes:
        failed: Why the configs of topics could not be read, by name.

    Raises:
        BrokenLogError: A capture of the archive cannot be read.
    """

    def __init__(self, source: Admin, state: ArchiveState, where: str) -> None:
        self._source = source
        self._next = 0.0
        self._known = captured_topics(state, where)
        self._shapes: dict[TopicId, tuple[str, int, int]] = {}
        """Name, partitions and replicas of each topic when it was looked at."""
        self.failed: Mapping[TopicName, ClusterError] = {}

    def changed(self, look: SourceLook) -> list[Capture]:
        """Return captures of new or changed topics.

        Configs are compared now and then, the number of partitions always.

        Raises:
            ClusterError: The source could not be reached.
        """
        is_due = time.monotonic() >= self._next
        wanted = [
            topic_id
            for topic_id, info in look.topics.items()
            if is_due or self._shapes.get(topic_id) != _shape(info)
        ]
        if not wanted:
            return []
        configs = self._source.configs.describe(look.topics[each].name for each in wanted)
        self.failed = configs.failed
        self._next = time.monotonic() + _EVERY if is_due else self._next
        found = (self._capture(look, topic_id, configs) for topic_id in wanted)
        return [each.capture() for each in found if each is not None]

    def _capture(
        self,
        look: SourceLook,
        topic_id: TopicId,
        configs: Mapping[TopicName, Mapping[str, ConfigEntry]],
    ) -> TopicCapture | None:
        """Return the capture of a topic, `None` if it says nothing new.

        A topic whose configs are hidden just now keeps those that are known.
        """
        info, before = look.topics[topic_id], self._known.get(topic_id)
        topic = described(info, configs.get(info.name, {}))
        now = TopicCapture(
            cluster=look.cluster,
            id=topic_id,
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            own=topic.own,
            configs=topic.configs,
        )
        if before is not None and info.name not in configs:
            now = replace(now, own=before.own, configs=before.configs)
        self._known[topic_id], self._shapes[topic_id] = now, _shape(info)
        return None if now == before else now


class GroupCaptures:
    """Finds consumer groups whose offsets changed since the last capture.

    Args:
        source: The source.
        wanted: Which groups, and how often.
        own: The group that this archive commits for, which nobody consumes with.
        state: The archive when the run begins.

    Attributes:
        trouble: Why the last look failed, "" if it did not.
    """

    def __init__(
        self, source: Admin, wanted: ArchivedGroups, own: str | None, state: ArchiveState
    ) -> None:
        self._source, self._wanted, self._own = source, wanted, own
        self._next = 0.0
        known = (item for item in state.captures.items() if item[0][0] == GROUP)
        self._known: dict[str, object] = {name: each.value for (_, name), each in known}
        self.trouble = ""

    def changed(self, look: SourceLook) -> list[Capture]:
        """Return captures of groups that moved or disappeared. Never raises `ClusterError`.

        Records are archived whether groups can be asked or not.
        """
        if time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + self._wanted.every
        try:
            return self._looked(look)
        except ClusterError as error:
            self.trouble = str(error)
            return []

    def _looked(self, look: SourceLook) -> list[Capture]:
        listing = self._source.groups.listed()
        wanted = [
            each.group
            for name, each in listing.groups.items()
            if self._wanted.takes(name) and name != self._own
        ]
        found = self._source.groups.offsets(wanted)
        self.trouble = str(next(iter(found.failed.values()))) if found.failed else ""
        ids = {info.name: topic_id for topic_id, info in look.topics.items()}
        made = []
        for group, commits in found.items():
            capture = _group(look.cluster, group, commits, ids)
            if self._known.get(group.name) != capture.value:
                self._known[group.name] = capture.value
                made.append(capture)
        if not listing.failed and not found.failed:
            made += self._gone({each.name for each in wanted})
        return made

    def _gone(self, there: set[str]) -> Iterable[Capture]:
        """Yield the captures of groups that were deleted, or expired."""
        for name in [*self._known]:
            if name not in there:
                del self._known[name]
                yield Capture(kind=GROUP, name=name, value=None)


def _group(
    cluster: ClusterId,
    group: ClientGroup,
    commits: Mapping[TopicPartition, Commit],
    ids: Mapping[TopicName, TopicId],
) -> Capture:
    offsets = tuple(
        CapturedOffset(
            topic_id=ids[tp.topic],
            topic=tp.topic,
            partition=tp.partition,
            offset=commit.offset,
            metadata=commit.metadata,
        )
        for tp, commit in sorted(commits.items())
        if tp.topic in ids
    )
    return GroupCapture(cluster=cluster, group=group, offsets=offsets).capture()


def _shape(info: TopicInfo) -> tuple[str, int, int]:
    replicas = max((len(each.replicas) for each in info.partitions), default=1)
    return info.name, len(info.partitions), replicas
