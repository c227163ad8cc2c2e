"""The log ends of a source that may answer in part, or lack topics. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.cluster.metadata import TopicInfo
from towpath.ledger.books import PartitionBooks
from towpath.model.errors import ClusterError
from towpath.model.nouns import TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class SourceEnds:
    """The log ends of source partitions, as consumers of committed records see them.

    Attributes:
        ends: The end of each partition that told it.
        silent: Why the others tell nothing.
    """

    ends: Mapping[TopicPartition, int]
    silent: Mapping[TopicPartition, Reason]


def source_ends(
    source: Admin, known: Mapping[TopicPartition, PartitionBooks], patience: float
) -> SourceEnds:
    """Return the log ends of mirrored source partitions that answer.

    Args:
        source: The source, which has just answered.
        known: The partitions, with what the ledger knows of them.
        patience: Seconds for all leaders together.
    """
    try:
        there = source.topics.describe({tp.topic for tp in known})
        silent = dict(_other_topics(known, there))
        asked = [tp for tp in known if tp not in silent]
        said = source.offsets.latest(asked, committed=True, patience=patience)
    except ClusterError as error:
        return SourceEnds({}, dict.fromkeys(known, error.reason))
    return SourceEnds(said, silent | {tp: error.reason for tp, error in said.failed.items()})


def _other_topics(
    known: Mapping[TopicPartition, PartitionBooks], there: Mapping[TopicName, TopicInfo]
) -> Iterator[tuple[TopicPartition, Reason]]:
    """Yield the partitions whose topic is not the one that was mirrored, and why."""
    for tp, books in known.items():
        info, opened = there.get(tp.topic), books.opened
        if info is None:
            yield tp, Reason.of(ReasonCode.SOURCE_TOPIC_DELETED)
        elif info.error is not None:
            yield tp, info.error.reason
        elif opened is not None and info.id != opened.source_topic_id:
            yield tp, Reason.of(ReasonCode.SOURCE_TOPIC_RECREATED)
