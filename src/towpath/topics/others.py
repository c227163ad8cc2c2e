"""Records of others in copies: what a link did not write alone it does not delete."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.model.nouns import Mode, TopicId, TopicName, TopicPartition
from towpath.topics.steps import DeleteTopic


def writes_of_others(
    steps: Iterable[DeleteTopic], books: LinkBooks, target: Admin
) -> frozenset[TopicName]:
    """Return which copies hold more than the link wrote to them, or may do so.

    After a cutover producers write to the copy. It is theirs then, whatever becomes of the source.

    Raises:
        ClusterError: No partition can be asked about.
    """
    known = {
        TopicPartition(step.target, number): _end(
            books.partitions.get(TopicPartition(step.source, number), PartitionBooks()), step.id
        )
        for step in steps
        for number in range(step.partitions)
    }
    ends = target.offsets.latest(known) if known else {}
    return frozenset(tp.topic for tp, end in known.items() if ends.get(tp, end + 1) > end)


def _end(books: PartitionBooks, copy: TopicId) -> int:
    """Return where a partition of a copy ends if only we wrote to it; -1 if others did before."""
    opened = books.opened
    if opened is None or opened.target_topic_id != copy:
        return 0
    if opened.mode is Mode.MAPPED and opened.target_start > 0:
        return -1
    return books.receipt.target_end if books.receipt is not None else opened.target_start
