"""Groups at the source that stand further than the link that commits its positions to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.model.findings import Note
from towpath.model.nouns import TopicPartition
from towpath.settings import LinkConfig


def overtaken(config: LinkConfig, source: Admin, books: LinkBooks) -> Iterator[Note]:
    """Yield a note if another program has committed for the group since the link stopped.

    Raises:
        ClusterError: The cluster could not be reached.
    """
    group, receipts = config.records.group, {tp: b.receipt for tp, b in books.partitions.items()}
    stand = {tp: int(each.source_end) for tp, each in receipts.items() if each is not None}
    if config.records.commit is not None and group is not None and stand:
        yield from notes_of(group, stand, source.groups.committed(group, stand))


def notes_of(
    group: str, stand: Mapping[TopicPartition, int], committed: Mapping[TopicPartition, int]
) -> Iterator[Note]:
    """Yield a note if a group stands further than a link.

    Args:
        group: The group.
        stand: The source offset up to which the link has copied, by partition.
        committed: The offsets of the group.
    """
    ahead = {tp: committed[tp] - at for tp, at in stand.items() if committed.get(tp, at) > at}
    if ahead:
        tp = min(ahead)
        yield Note(
            "records.group",
            f"group {group} stands at offset {committed[tp]} of {tp}, and this link at {stand[tp]}:"
            f" another program has gone on from where it stopped, and the {sum(ahead.values()):,}"
            f" offsets between both ({len(ahead)} of {len(stand)} partitions) would be copied once"
            " more; end the link (`towpath link rm --release`), and give the file another `link`"
            " name, or label, so that a new one begins where the group stands",
        )
