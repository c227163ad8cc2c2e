"""Notes in a plan about the archive behind the source (`records.on_gap: archive`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.mirror.gap_archive import archived_topics
from towpath.model.errors import TowpathError
from towpath.model.findings import Cause, Note, Problem
from towpath.model.nouns import ClusterId, TopicId, TopicName
from towpath.settings import GapArchive, LinkConfig

_ABOUT = "records.archive"
_NAMED = 5
"""So many topics are named at most."""


def backing(
    config: LinkConfig, cluster: ClusterId, topics: Mapping[TopicName, TopicId]
) -> Iterator[Note | Problem]:
    """Yield notes on what the archive can replace of the source, if the file names one.

    Args:
        config: The link.
        cluster: The id of the source.
        topics: The topics that are mirrored, with their ids at the source.
    """
    archive = config.records.archive
    if archive is None:
        return
    try:
        archived = archived_topics(archive)
    except TowpathError as error:
        text = f"{error}; until it can be read, partitions whose source deletes records wait for it"
        yield Note(_ABOUT, text)
        return
    clusters = {owner for owner, _ in archived}
    if clusters and cluster not in clusters:
        others = ", ".join(sorted(clusters))
        text = (
            f"the archive of region {archive.region} is of cluster {others}, and the source is"
            f" {cluster}; name the archive of this source"
        )
        yield Problem(_ABOUT, text, Cause.FILE)
        return
    missing = sorted(name for name, number in topics.items() if (cluster, number) not in archived)
    yield Note(_ABOUT, _told(archive, missing, len(topics)))


def _told(archive: GapArchive, missing: list[TopicName], count: int) -> str:
    text = (
        "what the source deletes before it is copied is taken from the archive of region"
        f" {archive.region}"
    )
    if not missing:
        return text
    named = ", ".join(missing[:_NAMED]) + (" and others" if len(missing) > _NAMED else "")
    return f"{text}; it has nothing so far of {len(missing)} of {count} topics: {named}"
