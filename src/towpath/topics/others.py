"""Records of others in mirror topics: what a link did not write alone it does not delete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.model.findings import Note
from towpath.model.nouns import Mode, TopicId, TopicName, TopicPartition
from towpath.plan.subject import Difference
from towpath.topics.steps import DeleteTopic, TopicStep

_THEIRS = (
    "stays although nobody asks for it: it has records that this link did not write, as after a"
    " cutover; delete it by hand if nobody needs it"
)


def spared(found: Difference[TopicStep], books: LinkBooks, target: Admin) -> Difference[TopicStep]:
    """Return the difference without deletions of mirror topics that have records of others.

    Raises:
        ClusterError: No partition can be asked about.
    """
    deletions = [step for step in found.steps if isinstance(step, DeleteTopic)]
    theirs = writes_of_others(deletions, books, target)
    steps = (s for s in found.steps if not isinstance(s, DeleteTopic) or s.target not in theirs)
    notes = (
        Note(step.source, f"its mirror topic {step.target} {_THEIRS}")
        for step in deletions
        if step.target in theirs
    )
    return replace(found, steps=tuple(steps), notes=(*found.notes, *notes))


def writes_of_others(
    steps: Iterable[DeleteTopic], books: LinkBooks, target: Admin
) -> frozenset[TopicName]:
    """Return which mirror topics hold more than the link wrote to them, or may do so.

    After a cutover producers write to the mirror topic. It is theirs then, whatever becomes of the
    source.

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
    """Return the log end of a mirror partition that only we wrote to; -1 if others did."""
    opened = books.opened
    if opened is None or opened.target_topic_id != copy:
        return 0
    if opened.mode is Mode.MAPPED and opened.target_start > 0:
        return -1
    return books.receipt.target_end if books.receipt is not None else opened.target_start
