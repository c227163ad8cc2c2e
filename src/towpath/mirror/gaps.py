"""Whether the target lets gaps be filled with markers, and what filling takes."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.admin.markers import BYTES
from towpath.cluster.codes import UNSUPPORTED_VERSION
from towpath.config import LinkConfig, OffsetsPolicy
from towpath.model.amounts import count, size, span
from towpath.model.findings import Note
from towpath.model.nouns import Side, TopicName

_PER_SECOND = 20_000
"""Markers per second that a broker surely writes to one partition (`bench/results`)."""
_MAPPED = (
    "a run that follows one that did not end by itself cannot make the target refuse what that one"
    " may still send to mapped partitions, and waits for it where records are old"
)
_BOTH = (
    "source offsets without a record (transaction markers, aborted records) are filled in"
    " transactions, and consumers with isolation.level=read_uncommitted may see empty records"
    f" there; partitions with offsets that compaction left empty are mapped; {_MAPPED}"
)


def markers(config: LinkConfig, target: Admin) -> tuple[int, tuple[Note, ...]]:
    """Return how many offsets that compaction left empty may be filled per partition, with notes.

    Raises:
        ClusterError: The target could not be reached.
    """
    mapped = config.records.offsets is OffsetsPolicy.MAPPED
    refused = target.producers.marker_refusal()
    if refused is None:
        return 0 if mapped else config.records.fill, ()
    if refused.error == UNSUPPORTED_VERSION:
        text = "the brokers take no transaction markers from clients (WriteTxnMarkers)"
    else:
        text = "the login lacks the ACL Alter (or ClusterAction) on the cluster; add it there"
    return 0, (Note(Side.TARGET, text + "; until then, " + (_MAPPED if mapped else _BOTH)),)


def to_fill(topic: TopicName, offsets: dict[int, int], most: int) -> Iterator[Note]:
    """Tell what it takes to fill the offsets that compaction may have left empty in a topic.

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
