"""The observation of the source for `towpath archive status`."""

from __future__ import annotations

from dataclasses import replace

from towpath.archive.config import ArchiveConfig
from towpath.archive.log import ArchiveState
from towpath.archive.write.source_cluster import require_cluster
from towpath.archive.write.source_look import SourceLook, SourceLooks
from towpath.archive.write.unread_records import deleted_topics
from towpath.cluster.admin import Admin
from towpath.model.errors import ClusterError
from towpath.model.nouns import Side, TopicId
from towpath.settings.naming import fits


def look_at_source(
    config: ArchiveConfig, state: ArchiveState, topics: tuple[str, ...]
) -> tuple[SourceLook | None, str, frozenset[TopicId]]:
    """Return the source's partitions, why the source did not answer, and the deleted topics.

    Args:
        config: The archive.
        state: What is archived.
        topics: Expressions of the topics that are looked at; by default all.
    """
    try:
        with Admin(config.source, Side.SOURCE) as source:
            seen = SourceLooks(source, config.topics).look()
            require_cluster(config, state, seen.cluster)
            left = {
                (known.topic, each.source.topic_id)
                for each, known in state.partitions.items()
                if each.source.topic_id not in seen.topics
                and known.topic not in seen.hidden
                and known.stable_end > known.archived_to
                and each.later not in state.partitions
            }
            deleted = deleted_topics(source, seen, left)
    except ClusterError as error:
        return None, str(error), frozenset()
    return (_only(seen, topics) if topics else seen), "", deleted


def _only(seen: SourceLook, topics: tuple[str, ...]) -> SourceLook:
    """Return what the source has of some topics."""
    ids = {number for number, info in seen.topics.items() if fits(info.name, topics)}
    return replace(
        seen,
        topics={each: info for each, info in seen.topics.items() if each in ids},
        ends={each: ends for each, ends in seen.ends.items() if each.topic_id in ids},
        failed={each: why for each, why in seen.failed.items() if each.topic_id in ids},
        hidden={name: why for name, why in seen.hidden.items() if fits(name, topics)},
    )
