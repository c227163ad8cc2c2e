"""The cost of filling the gaps of compacted topics."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.admin.markers import BYTES
from towpath.model.amounts import count, size, span
from towpath.model.findings import Note
from towpath.model.nouns import TopicName

_PER_SECOND = 20_000
"""Markers per second that a broker surely writes to one partition (`bench/results`)."""


def to_fill(topic: TopicName, offsets: dict[int, int], most: int) -> Iterator[Note]:
    """Yield a note on the offsets to fill in a compacted topic, and the time that takes.

    Args:
        topic: The source topic.
        offsets: Upper bound of the empty offsets of each partition. The exact number is not known
            without reading the log.
        most: Most offsets of a partition that may be filled.
    """
    if not most or not any(offsets.values()):
        return
    bounded = {number: min(most, some) for number, some in offsets.items()}
    total, longest = sum(bounded.values()), max(bounded.values())
    text = (
        f"offsets stay identical: at most {count(total)} offsets that compaction left empty are"
        f" filled with markers on the target, {size(total * BYTES)} until its cleaner removes them,"
        f" in {span(longest / _PER_SECOND)} or more"
    )
    if any(some > most for some in offsets.values()):
        text += (
            f"; a partition with more than {count(most)} such offsets (`records.fill`) becomes"
            " mapped"
        )
    yield Note(topic, text)
