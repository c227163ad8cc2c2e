"""Groups at the source that stand further than the link that commits its positions to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.model.amounts import count, counted
from towpath.model.nouns import TopicPartition
from towpath.settings import LinkConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """What another program has committed for a group beyond the position of a link.

    Attributes:
        group: The group.
        tp: One of the partitions.
        committed: The offset of the group in it.
        copied: The source offset up to which the link has copied it.
        offsets: Number of offsets between both, in all partitions.
        partitions: Number of partitions in which the group is ahead.
        of: Number of partitions that the link has copied.
    """

    group: str
    tp: TopicPartition
    committed: int
    copied: int
    offsets: int
    partitions: int
    of: int

    def __str__(self) -> str:
        return (
            f"group {self.group} stands at offset {self.committed} of {self.tp}, and this link at"
            f" {self.copied}: another program has gone on from where it stopped. A run copies the"
            f" {counted(self.offsets, 'offset')} between both ({count(self.partitions)} of"
            f" {counted(self.of, 'partition')}) all the same, so what that program wrote to the"
            " target is there twice then. To have it once, end the link (`towpath link rm"
            " --release`) before they are copied, and give the file another `link` name, or"
            " label: a new link begins where the group stands"
        )


def overtaken(config: LinkConfig, source: Admin, books: LinkBooks) -> Overtaken | None:
    """Return what another program has committed since the link stopped, if it has.

    Raises:
        ClusterError: The source could not be reached.
    """
    group, receipts = config.records.group, {tp: b.receipt for tp, b in books.partitions.items()}
    stand = {tp: int(each.source_end) for tp, each in receipts.items() if each is not None}
    if config.records.commit is None or group is None or not stand:
        return None
    return ahead(group, stand, source.groups.committed(group, stand))


def ahead(
    group: str, stand: Mapping[TopicPartition, int], committed: Mapping[TopicPartition, int]
) -> Overtaken | None:
    """Return how far a group is ahead of a link, `None` if it is nowhere.

    Args:
        group: The group.
        stand: The source offset up to which the link has copied, by partition.
        committed: The offsets of the group.
    """
    more = {tp: committed[tp] - at for tp, at in stand.items() if committed.get(tp, at) > at}
    if not more:
        return None
    tp = min(more)
    return Overtaken(
        group=group,
        tp=tp,
        committed=committed[tp],
        copied=stand[tp],
        offsets=sum(more.values()),
        partitions=len(more),
        of=len(stand),
    )
