"""Records in the mirror topics of a link with `transform` that the link did not write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.compare.written_rows import NO_LIMIT, WrittenRows
from towpath.ledger.books import LinkBooks
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.model.errors import LedgerError
from towpath.model.nouns import TopicName, TopicPartition

Producers = Mapping[int, tuple[TopicPartition, int]]
Others = Mapping[tuple[TopicPartition, int], int]
"""Numbers of records, by target partition and producer id."""


@dataclass(frozen=True, slots=True)
class FoundOthers:
    """Records that the link did not write.

    Attributes:
        others: Those that must not be there.
        clients: Those behind a cutover, which clients may write.
        unsure: Number of those of which a transaction that stays open in the topic of positions
            hides whose they are.
    """

    others: Others = field(default_factory=dict)
    clients: Others = field(default_factory=dict)
    unsure: int = 0


def producers_of(positions: Mapping[TopicPartition, TransformedPosition]) -> Producers:
    """Return the source partition of each producer id, with the last epoch that counts."""
    found = {}
    for tp, at in positions.items():
        found.update(dict.fromkeys(at.earlier, (tp, NO_LIMIT)))
        found[at.producer_id] = tp, at.producer_epoch if at.producer_epoch >= 0 else NO_LIMIT
    return found


def mirrors_of(
    own: TopicName, mirrors: frozenset[TopicName], *, routed: bool
) -> frozenset[TopicName]:
    """Return the mirror topics that may have records of a source partition. Pure.

    Args:
        own: The mirror topic of its topic.
        mirrors: All mirror topics of the link.
        routed: Whether a query may have sent records elsewhere, by the column `topic`.
    """
    return mirrors if routed else frozenset({own})


def borders_of(
    books: LinkBooks,
    mirrors: Mapping[TopicName, TopicName],
    targets: Iterable[TopicPartition],
) -> dict[TopicPartition, int]:
    """Return from which offset on clients may write to target partitions, by the last cutover.

    Partitions that came to a mirror topic since then are the clients' own.

    Args:
        books: What the ledger knows of the link.
        mirrors: The mirror topics, by source topic.
        targets: All partitions of these.
    """
    known = {
        TopicPartition(mirrors[tp.topic], tp.partition): int(cut.target_end)
        for tp, each in books.partitions.items()
        if tp.topic in mirrors and (cut := each.cut) is not None
    }
    over = {tp.topic for tp in known}
    return {tp: known.get(tp, 0) for tp in targets if tp.topic in over}


def others_of(
    found: Iterable[WrittenRows],
    positions: PositionsTopic,
    borders: Mapping[TopicPartition, int],
) -> FoundOthers:
    """Return the records that the link did not write, by the positions that it has by now.

    A run may have gone on while the partitions were read. So what stood behind the positions that
    were known is explained only if there is a position for it now.

    Args:
        found: What was read of all mirror topics, with the positions from before.
        positions: The positions of the link.
        borders: From which offset on clients may write, where the link was cut over. No part lies
            on both sides.
    """
    parts = [*found]
    if not any(each.later or each.others for each in parts):
        return FoundOthers()
    behind = [each for each in parts if each.first >= borders.get(each.tp, each.first + 1)]
    before = [each for each in parts if each not in behind]
    try:
        known = producers_of(positions.read())
    except LedgerError:
        hidden = foreign(parts, producers_of(positions.seen()))
        return FoundOthers(unsure=sum(hidden.values()))
    return FoundOthers(foreign(before, known), foreign(behind, known))


def foreign(found: Iterable[WrittenRows], known: Producers) -> Others:
    """Return the records that no position explains. Pure."""
    counted = Counter[tuple[TopicPartition, int]]()
    for each in found:
        for producer, number in each.others.items():
            if producer not in known:
                counted[each.tp, producer] += number
        for (producer, epoch), number in each.later.items():
            if epoch > known.get(producer, (None, -1))[1]:
                counted[each.tp, producer] += number
    return counted
