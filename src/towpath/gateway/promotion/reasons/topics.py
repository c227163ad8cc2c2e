"""The reasons by which a topic cannot be promoted."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.metadata import TopicInfo
from towpath.ledger.books import LinkBooks
from towpath.ledger.not_copied import why_not_copied
from towpath.model.nouns import Mode, Side, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode


def of_topic(
    name: TopicName,
    there: TopicInfo | None,
    mirror: TopicInfo | None,
    books: LinkBooks,
    *,
    included: bool = True,
) -> Iterator[Reason]:
    """Yield the reasons by which a topic cannot move.

    Args:
        name: The topic.
        there: As the source has it, `None` if it does not.
        mirror: As the target has it.
        books: What the ledger says of its partitions.
        included: Whether the file of the gateway includes it.
    """
    if there is not None and not included and not _is_opened(name, books):
        why = "is not copied: `topics.include` of the link does not name it"
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=f"topic {name}", why=why)
        return
    for side, info in ((Side.SOURCE, there), (Side.TARGET, mirror)):
        if info is None or info.error is not None:
            yield Reason.of(ReasonCode.PROMOTE_ABSENT, topic=name, side=str(side))
    if there is None or there.error or mirror is None or mirror.error:
        return
    about = f"topic {name}"
    if len(mirror.partitions) != len(there.partitions):
        what = "another number of partitions on the target"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)
    if not (there.id and mirror.id):
        what = "no topic id, as brokers before Kafka 2.8 give none"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=about, what=what)
    if why := why_not_copied(books, name):
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=about, why=f"is not copied now: {why}")
    for each in there.partitions:
        yield from _of_partition(TopicPartition(name, each.partition), books)


def _is_opened(name: TopicName, books: LinkBooks) -> bool:
    return any(tp.topic == name and each.opened for tp, each in books.partitions.items())


def _of_partition(tp: TopicPartition, books: LinkBooks) -> Iterator[Reason]:
    known = books.partitions.get(tp)
    if known is None or known.opened is None:
        why = "is not copied yet; `towpath status` tells when it is"
        yield Reason.of(ReasonCode.PROMOTE_NOT_COPIED, about=f"partition {tp}", why=why)
    elif known.opened.target != tp or known.mode is not Mode.IDENTICAL:
        what = "other offsets or another name on the target"
        yield Reason.of(ReasonCode.PROMOTE_NOT_SAME, about=f"partition {tp}", what=what)
