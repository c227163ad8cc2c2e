"""Notes in a plan about partitions that are reopened under another change of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from towpath.ledger.books import LinkBooks
from towpath.model.amounts import counted
from towpath.model.findings import Note
from towpath.model.nouns import Mode, TopicName
from towpath.model.reasons import Reason
from towpath.records.modes import dropped
from towpath.settings import LinkConfig


def reopenings(
    config: LinkConfig, books: LinkBooks, topics: Collection[TopicName]
) -> Iterator[Note]:
    """Yield a note for each topic whose change of records differs from the ledger's.

    Args:
        config: The link.
        books: What the ledger says of it.
        topics: The source topics of the plan.
    """
    opened, mapped = Counter[TopicName](), Counter[TopicName]()
    changes = {topic: config.change_of(topic) for topic in topics}
    digests = {topic: change.digest for topic, change in changes.items()}
    for tp, known in books.partitions.items():
        if known.opened is not None and known.change != digests.get(tp.topic, known.change):
            opened[tp.topic] += 1
            mapped[tp.topic] += changes[tp.topic].drops and known.mode is Mode.IDENTICAL
    for topic, number in opened.items():
        why = dropped(changes[topic]) if mapped[topic] else None
        yield Note(topic, _told(number, mapped[topic], why))


def _told(opened: int, mapped: int, why: Reason | None) -> str:
    text = (
        f"its change differs from the one it was opened with ({counted(opened, 'partition')}):"
        " opened again; records that are on the target stay as they are"
    )
    if why is None:
        return text
    return f"{text}; becomes mapped ({counted(mapped, 'partition')}), because {why}"
