"""Copying of records that only the losing cluster has to salvage topics, and their comparison.

Records are written in transactions, whose writer fences every earlier one of the link. What is
there is then read back, so a salvage that was killed anywhere is gone on with, and one that was
frozen writes nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from towpath.cluster.data.transaction_writer import TransactionWriter, portions, settle
from towpath.mirror.errors import SalvageDiffersError
from towpath.mirror.failback.clusters import BothClusters
from towpath.mirror.failback.divergence import LoneRecords
from towpath.mirror.failback.salvage.format import (
    SalvagedRecord,
    SalvageOrigin,
    salvage_topic,
)
from towpath.mirror.failback.salvage.topic import SAVING, ReadSalvage, prepare, writer
from towpath.model.errors import StoppedError
from towpath.model.nouns import LinkName, Side, TopicId, TopicName, TopicPartition
from towpath.wire import plain

_TOGETHER = 10_000
"""Most records in one transaction."""
_BYTES = 512 << 10
"""Approximate upper bound on the bytes of records in one transaction."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """The records of one partition that are to be salvaged.

    Attributes:
        own: The records of the losing cluster.
        topic_id: The id of their topic.
        partitions: How many partitions that topic has.
        keeper: The partition on the winning cluster whose records stay.
        compacted: Whether the losing cluster may remove single records of the topic.
    """

    own: LoneRecords
    topic_id: TopicId
    partitions: int
    keeper: TopicPartition
    compacted: bool = False

    @property
    def place(self) -> TopicPartition:
        """The partition of the salvage topic."""
        return TopicPartition(salvage_topic(self.keeper.topic), self.keeper.partition)


Show = Callable[[TopicPartition, int], None]
"""Told of the partition that is salvaged, and how many of its records are there."""


@dataclass(slots=True)
class SalvagePlaces:
    """Where the next records of partitions go in their salvage topics, as far as that is known.

    Who salvages again and again need not read all that is there each time. What is not known, or
    was known for another offset of the origin, is looked for from the beginning.
    """

    _known: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def of(self, rescue: Rescue) -> int | None:
        """Return the offset of the salvage topic before which nothing of a rescue lies."""
        origin_end, at = self._known.get(rescue.place, (-1, 0))
        return at if origin_end == rescue.own.first else None

    def note(self, rescue: Rescue, at: int) -> None:
        """Note that all of a rescue lies before an offset of the salvage topic."""
        self._known[rescue.place] = rescue.own.end, at

    def clear(self) -> None:
        """Forget all, as after a failure: a topic may have been made again."""
        self._known.clear()


class Salvage:
    """Copies records of the losing side to salvage topics on the winning side.

    Args:
        link: The link.
        clusters: Both clusters.
        side: The side that loses.
        hold: Raises if this process must not write any more.
        stop: Set to end early.
        show: Told of the progress.
        places: Where the records of earlier calls lie; it is kept up to date.
        pace: Called with the bytes that will be written next; it may wait.
    """

    def __init__(
        self,
        link: LinkName,
        clusters: BothClusters,
        side: Side,
        *,
        hold: Callable[[], None] = lambda: None,
        stop: threading.Event | None = None,
        show: Show = lambda *_: None,
        places: SalvagePlaces | None = None,
        pace: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._places, self._pace = places or SalvagePlaces(), pace
        self._from, self._to = clusters.of(side), clusters.of(side.other)
        self._link, self._hold, self._show = link, hold, show
        self._stop = stop or threading.Event()

    def save(self, rescues: Sequence[Rescue]) -> dict[TopicPartition, int]:
        """Copy records, read them back, and compare; return how many, by partition of origin.

        Raises:
            ClusterError: A cluster cannot be used. What is there is not copied again.
            SalvageDiffersError: The salvage topic holds something else.
            StoppedError: The user asked to stop.
        """
        for topic, partitions in _topics(rescues):
            prepare(self._to, topic, partitions)
        made = writer(self._to, self._link, SAVING)
        made.begin()
        settle(self._to.admin, self._to.side, {each.place for each in rescues})
        for each in rescues:
            self._copy(each, made)
        settle(self._to.admin, self._to.side, {each.place for each in rescues})
        return {each.own.place: self._compare(each) for each in rescues}

    def _copy(self, rescue: Rescue, made: TransactionWriter) -> None:
        own, origin = rescue.own, self._origin(rescue)
        first, number = own.first, 0
        for each in self._saved(rescue):
            first, number = each.record.offset + 1, number + 1
        left = self._from.records(own.place, first, own.end)
        for some in portions(left, lambda each: each.size, most=_TOGETHER, most_bytes=_BYTES):
            self._pace(sum(each.size for each in some))
            self._require()
            made.commit({rescue.place: [_salvaged(origin, each).encode() for each in some]})
            number += len(some)
            self._show(own.place, number)

    def _compare(self, rescue: Rescue) -> int:
        """Compare what is salvaged with what the losing cluster has, record by record.

        What that cluster has deleted or compacted meanwhile is counted, and cannot be compared.
        """
        own = rescue.own
        start = self._from.admin.offsets.earliest([own.place]).sure(own.place)
        number, behind = 0, self._places.of(rescue) or 0
        for each in self._saved(rescue):
            number, behind = number + (each.record.offset < start), each.offset + 1
        saved = (each.record for each in self._saved(rescue) if each.record.offset >= start)
        left = self._from.records(own.place, max(own.first, start), own.end)
        for one, other in _pairs(left, saved, lone=rescue.compacted):
            if one != other:
                why = _difference(one, other)
                raise SalvageDiffersError(str(rescue.place), str(own.place), why)
            number += 1
            if number % _TOGETHER == 0:
                self._require()
        self._places.note(rescue, behind)
        return number

    def _saved(self, rescue: Rescue) -> Iterator[SalvagedRecord]:
        """Yield the records of a rescue that are salvaged."""
        wanted, own = self._origin(rescue), rescue.own
        for each in ReadSalvage(self._to, rescue.place).records(self._places.of(rescue)):
            if each.origin[:4] == wanted[:4] and own.first <= each.record.offset < own.end:
                yield each

    def _origin(self, rescue: Rescue) -> SalvageOrigin:
        place = rescue.own.place
        return SalvageOrigin(
            self._from.id, place.topic, rescue.topic_id, place.partition, rescue.own.first
        )

    def _require(self) -> None:
        if self._stop.is_set():
            raise StoppedError("what was salvaged so far is not copied again")
        self._hold()


def _salvaged(origin: SalvageOrigin, record: plain.Record) -> SalvagedRecord:
    return SalvagedRecord(origin=origin._replace(offset=record.offset), record=record)


def _topics(rescues: Iterable[Rescue]) -> Iterator[tuple[TopicName, int]]:
    """Yield the salvage topics with the numbers of partitions that they need."""
    need: dict[TopicName, int] = {}
    for each in rescues:
        topic = each.place.topic
        need[topic] = max(need.get(topic, 0), each.partitions, each.place.partition + 1)
    yield from need.items()


def _pairs(
    left: Iterator[plain.Record], saved: Iterator[plain.Record], *, lone: bool
) -> Iterator[tuple[plain.Record | None, plain.Record | None]]:
    """Yield the records of both sides side by side.

    Args:
        left: Those of the losing cluster.
        saved: Those of the salvage topic.
        lone: Whether the losing cluster may have removed single ones, which then count as alike.
    """
    one = next(left, None)
    for other in saved:
        if lone and (one is None or other.offset < one.offset):
            yield other, other
            continue
        yield one, other
        one = next(left, None)
    yield from ((each, None) for each in ([] if one is None else [one, *left]))


def _difference(one: plain.Record | None, other: plain.Record | None) -> str:
    if one is None or other is None:
        rest, where = (one, "lacks") if other is None else (other, "has besides")
        assert rest is not None  # noqa: S101  # one of two that differ
        return f"it {where} the record of offset {rest.offset}"
    if one.offset != other.offset:
        return f"it has the record of offset {other.offset} where {one.offset} belongs"
    return f"the record of offset {one.offset} was changed"
