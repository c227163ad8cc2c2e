"""Detection of records that MirrorMaker 2 did not write, as far as possible. Pure.

Kafka Connect's producers have no producer id unless exactly-once support or the file switches
idempotence on, and a batch tells its producer's id. So the writers of MirrorMaker 2 are known by
the records that its checkpoints and offset syncs point to, and by the transactional ids of its
tasks; whoever else wrote shows by another id. Records of other producers without an id, as those of
librdkafka have none by default, show only where offset syncs are on the target: more records lie
between two synced ones than the source has offsets there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from towpath.mirror.mm2.records import OffsetSync
from towpath.model.nouns import ProducerId

NO_ID = ProducerId(-1)
_TASK = re.compile(r".*-MirrorSourceConnector-\d+")


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The header data of a record batch.

    Attributes:
        first: Its first offset.
        end: The offset behind its last one.
        records: How many records it holds, 0 for markers.
        producer: The producer id, -1 for none.
    """

    first: int
    end: int
    records: int
    producer: ProducerId


@dataclass(frozen=True, slots=True)
class StrangeRecords:
    """Records that MirrorMaker 2 did not write, or may not have written.

    Attributes:
        first: The first offset of where they are.
        end: The offset behind them.
        records: How many they are; of a surplus, at least.
        sure: Whether others wrote them. Otherwise they may also be MirrorMaker 2's: written twice
            after a crash, or under an id that it had for a time.
    """

    first: int
    end: int
    records: int
    sure: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """The known writers of one partition.

    Attributes:
        others: What others wrote.
        first: The first offset that was looked at.
        end: The offset behind the last one.
        counted: Whether records without a producer id were counted between offset syncs.
    """

    others: tuple[StrangeRecords, ...]
    first: int
    end: int
    counted: bool

    def within(self, first: int, end: int) -> tuple[StrangeRecords, ...]:
        """Return the other writers' records that a consumer skips from `first` to `end`."""
        return tuple(each for each in self.others if each.first < end and first < each.end)


def task_ids(transactional: Mapping[ProducerId, str]) -> frozenset[ProducerId]:
    """Return the producer ids of MirrorMaker 2's tasks, by their transactional ids."""
    return frozenset(id_ for id_, name in transactional.items() if _TASK.fullmatch(name))


def judge(
    batches: Sequence[WrittenBatch],
    checkpoints: Iterable[int],
    tasks: frozenset[ProducerId],
    syncs: Sequence[OffsetSync] = (),
) -> Looked:
    """Decide which records other producers wrote.

    Args:
        batches: Neighbouring batches of one partition, ascending.
        checkpoints: Target offsets of its checkpoints. Each is the offset of a record of
            MirrorMaker 2, or the one behind such a record.
        tasks: Producer ids of its tasks.
        syncs: Its offset syncs for the partition.
    """
    if not batches:
        return Looked((), 0, 0, counted=False)
    own = _own(batches, checkpoints, tasks, syncs)
    found = []
    for batch in batches:
        if batch.records and batch.producer not in own:
            # Without ids of its own, MirrorMaker 2 may have had another id at another time.
            sure = NO_ID in own or bool(own & tasks)
            found.append(StrangeRecords(batch.first, batch.end, batch.records, sure=sure))
    more, counted = _surplus(batches, own, syncs)
    others = _joined(sorted([*found, *more], key=lambda each: (each.first, each.end)))
    return Looked(others, batches[0].first, batches[-1].end, counted=counted)


def _own(
    batches: Sequence[WrittenBatch],
    checkpoints: Iterable[int],
    tasks: frozenset[ProducerId],
    syncs: Sequence[OffsetSync],
) -> frozenset[ProducerId]:
    """Return the producer ids under which MirrorMaker 2 wrote."""
    wrote = [batch for batch in batches if batch.records]
    firsts = [batch.first for batch in wrote]

    def writer(offset: int) -> set[ProducerId]:
        at = bisect_right(firsts, offset) - 1
        return {wrote[at].producer} if at >= 0 and offset < wrote[at].end else set()

    known = {batch.producer for batch in wrote if batch.producer in tasks}
    for sync in syncs:
        known |= writer(sync.target)
    for offset in checkpoints:
        either = writer(offset - 1) | writer(offset)
        known |= either if len(either) == 1 else set()
    if known:
        return frozenset(known)
    # Nothing points to a record: whoever wrote most of them is taken for it.
    counts = Counter[ProducerId]()
    for batch in wrote:
        counts[batch.producer] += batch.records
    return frozenset(producer for producer, _ in counts.most_common(1))


def _surplus(
    batches: Sequence[WrittenBatch], own: frozenset[ProducerId], syncs: Sequence[OffsetSync]
) -> tuple[list[StrangeRecords], bool]:
    """Return where more records lie between two synced ones than the source has offsets."""
    first, end = batches[0].first, batches[-1].end
    known = sorted({(s.target, s.source) for s in syncs if first <= s.target < end})
    found = []
    for (target, source), (next_target, next_source) in pairwise(known):
        if next_source <= source:
            continue  # MirrorMaker 2 went back at the source
        there = sum(
            min(batch.records, min(batch.end, next_target) - max(batch.first, target))
            for batch in batches
            if batch.producer in own and batch.first < next_target and target < batch.end
        )
        over = there - (next_source - source)
        if over > 0:
            found.append(StrangeRecords(int(target) + 1, int(next_target), over, sure=False))
    return found, len(known) > 1


def _joined(found: Sequence[StrangeRecords]) -> tuple[StrangeRecords, ...]:
    """Join what lies side by side and is equally sure."""
    made: list[StrangeRecords] = []
    for each in found:
        last = made[-1] if made else None
        if last is not None and last.end >= each.first and last.sure == each.sure:
            records = last.records + each.records
            made[-1] = StrangeRecords(last.first, max(last.end, each.end), records, sure=last.sure)
        else:
            made.append(each)
    return tuple(made)
