"""Contradictions between a restore's file and what its earlier runs did. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.archive.restore.model import RestoreTopic
from towpath.ledger.books import LinkBooks
from towpath.model.findings import Cause, Problem
from towpath.model.nouns import TopicId

_ADVICE = (
    "delete the topic on the target, or restore under another `restore.name` and"
    " `restore.topics.rename`"
)


def contradicted(
    topic: RestoreTopic, target: TopicId, books: LinkBooks, *, follow: bool = False
) -> Iterator[Problem]:
    """Yield reasons why a partly restored topic cannot continue as the file now says.

    Args:
        topic: The topic.
        target: Its id on the target.
        books: What the ledger knows of the restore.
        follow: Whether a topic of the same name comes behind one that was deleted.
    """
    for tp, part in topic.by_partition.items():
        known = books.of(tp)
        opened = known.opened
        if opened is None or opened.target_topic_id != target:
            continue
        if opened.source_topic_id != part.id.topic_id:
            if follow:
                continue
            text = (
                f"topic {topic.target} has records that an earlier run of this restore placed"
                " otherwise, or took from another topic of this name, or from another history of it"
            )
        elif opened.source_start > part.start:
            text = (
                f"an earlier run of this restore began {tp} at offset {opened.source_start}, and"
                f" not at {part.start}"
            )
        elif known.change != topic.change.digest:
            text = (
                "an earlier run of this restore had another `restore.filter` or other"
                f" `restore.schemas.ids` for {tp}"
            )
        else:
            continue
        yield Problem(topic.topic.name, f"{text}; {_ADVICE}", Cause.TOPIC)
        return
