"""The start offsets of partitions without an entry in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import EndOffsets, Entry, FirstLook
from towpath.model.nouns import SourceOffset, TopicId, TopicPartition
from towpath.records.source.beginnings import PATIENCE
from towpath.records.work import EARLIEST, UNKNOWN, Beginning
from towpath.runtime.clock import now_ms
from towpath.settings import RecordsConfig, StartAt
from towpath.topics.observed import Topic

Offsets = Mapping[TopicPartition, int]


def looks_first(records: RecordsConfig, books: LinkBooks) -> bool:
    """Return whether `start: latest` means the current end, as the link has never run."""
    return records.start is StartAt.LATEST and books.first_look is None and not books.begun


def first_look(
    source: Admin, books: LinkBooks, run_id: str, topics: Sequence[Topic]
) -> Iterator[Entry]:
    """Return the current ends of all partitions as entries for the ledger.

    Any later run opens a partition there, so a crash or a missing leader in between loses nothing.
    """
    fresh = [topic for topic in topics if (topic.name, topic.id) not in books.ends]
    tps = [TopicPartition(topic.name, n) for topic in fresh for n in range(topic.partitions)]
    ends = source.offsets.latest(tps, committed=True, patience=PATIENCE)
    # Asked after the offsets: an epoch without a leader gets no further record.
    epochs = _epochs(source, [tp for tp in tps if tp not in ends])
    for topic in fresh:
        mine = [TopicPartition(topic.name, n) for n in range(topic.partitions)]
        yield EndOffsets(
            link=books.link,
            topic=topic.name,
            topic_id=topic.id,
            offsets=tuple(SourceOffset(ends.get(tp, UNKNOWN)) for tp in mine),
            epochs=tuple(epochs.get(tp, -1) for tp in mine),
            at=now_ms(),
        )
    yield FirstLook(books.link, run_id, now_ms())


def _epochs(source: Admin, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the last leader epoch of each partition that surely gets no further record."""
    topics = source.topics.describe({tp.topic for tp in tps}) if tps else {}
    return {
        tp: info.epoch if info.leader < 0 else info.epoch - 1
        for tp in tps
        if tp.topic in topics
        for info in topics[tp.topic].partitions
        if info.partition == tp.partition
    }


def beginnings(
    records: RecordsConfig,
    source: Admin,
    books: LinkBooks,
    fresh: Mapping[TopicPartition, TopicId],
    cut_over: Offsets = MappingProxyType({}),
) -> dict[TopicPartition, Beginning]:
    """Return the beginning of each new partition.

    Args:
        records: The `records` section of the file.
        source: Asked for the offsets of a consumer group.
        books: With `start: latest`, they hold the ends of partitions at the first run of the link.
            Later partitions begin at their earliest offset.
        fresh: The new partitions, each with the id of its topic.
        cut_over: Where those begin that a link in the other direction has cut over, whatever the
            file says: `ObservedTopics.begins`.
    """
    back = {tp: _behind_cut(cut_over[tp]) for tp in fresh if tp in cut_over}
    others = {tp: of for tp, of in fresh.items() if tp not in back}
    return {**_as_asked(records, source, books, others), **back}


def _behind_cut(offset: int) -> Beginning:
    """Return the beginning at a cutover; what retention has deleted behind it becomes a gap."""
    return Beginning(SourceOffset(offset), exact=True) if offset else EARLIEST


def _as_asked(
    records: RecordsConfig,
    source: Admin,
    books: LinkBooks,
    fresh: Mapping[TopicPartition, TopicId],
) -> dict[TopicPartition, Beginning]:
    match records.start:
        case StartAt.EARLIEST:
            return dict.fromkeys(fresh, EARLIEST)
        case StartAt.LATEST:
            return {tp: _since_first_look(books, tp, of) for tp, of in fresh.items()}
        case StartAt.COMMITTED:
            usable, _ = commits_of(source, records.group or "", fresh)
            return {tp: Beginning(SourceOffset(usable.get(tp, 0))) for tp in fresh}
        case moment:
            return dict.fromkeys(fresh, Beginning(time=moment))


def commits_of(
    source: Admin, group: str, tps: Iterable[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, tuple[int, int]]]:
    """Return where a group stands, and apart where that is beyond the end of the log.

    Nothing is known of a log there by a commit that another log had: what it has may be unread.

    Args:
        source: The source cluster.
        group: The group.
        tps: The partitions.

    Returns:
        The commits that count, and those beyond the end, each with that end.
    """
    wanted = [*tps]
    committed = source.groups.committed(group, wanted) if wanted else {}
    ends = source.offsets.latest(committed, patience=PATIENCE) if committed else {}
    beyond = {tp: (at, ends[tp]) for tp, at in committed.items() if at > ends.get(tp, at)}
    return {tp: at for tp, at in committed.items() if tp not in beyond}, beyond


def _since_first_look(books: LinkBooks, tp: TopicPartition, topic_id: TopicId) -> Beginning:
    end = books.ends.get((tp.topic, topic_id))
    if end is None or tp.partition >= len(end.offsets):
        return EARLIEST
    offset = end.offsets[tp.partition]
    if offset == UNKNOWN:
        return Beginning(epoch=end.epochs[tp.partition])
    return Beginning(offset, exact=True)


def from_earliest(
    records: RecordsConfig, books: LinkBooks, tp: TopicPartition, topic_id: TopicId
) -> bool:
    """Return whether to copy a partition from the log start offset."""
    if records.start is StartAt.LATEST:
        looked = books.first_look is not None
        return looked and _since_first_look(books, tp, topic_id) == EARLIEST
    return records.start is StartAt.EARLIEST


def from_group(committed: Offsets, earliest: Offsets) -> Offsets:
    """Return the committed offsets of a group, or the log start offset without a commit."""
    return {tp: max(committed.get(tp, 0), first) for tp, first in earliest.items()}
