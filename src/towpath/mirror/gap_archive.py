"""The archive from which a link fills gaps: the only seam between links and archives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from towpath.model.nouns import ClusterId, TopicId
from towpath.settings import GapArchive

if TYPE_CHECKING:  # a plan needs no Spark, and these import numba
    from towpath.records.copy import Feeding
    from towpath.records.work import CopySlice


def feeding(work: CopySlice) -> Feeding | None:
    """Return a factory for a slice's feed, `None` if the source alone feeds the slice."""
    if work.archive is None:
        return None
    # Reading archives takes a second to import, which a slice without one does not need.
    from towpath.archive.read.feed.backed_feed import backed  # noqa: PLC0415

    return backed


def archived_topics(archive: GapArchive) -> frozenset[tuple[ClusterId, TopicId]]:
    """Return the topics with records in an archive, each with its source cluster.

    Raises:
        CommitLogError: There is no archive, or its log cannot be used.
        StoreError: The store cannot be read.
    """
    # A plan of a link without an archive does not load what reads them.
    from towpath.archive.log import CommitLog  # noqa: PLC0415
    from towpath.store import Store  # noqa: PLC0415

    with Store(archive.store) as store:
        known = CommitLog.open(store, archive.region).state.partitions
    return frozenset((each.cluster, each.source.topic_id) for each in known)
