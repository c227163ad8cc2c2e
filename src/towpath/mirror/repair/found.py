"""The positions of partitions with lost ledger entries, found in the target's logs. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from towpath.compare.work import Comparison
from towpath.ledger.entries import Entry, Opened, Receipt
from towpath.ledger.keys import new_name
from towpath.ledger.producers import GENERATIONS, generations
from towpath.mirror.verify.verdict import difference
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicPartition,
)
from towpath.runtime.clock import now_ms, readable
from towpath.wire.batch import SEQUENCES
from towpath.wire.header import CONTROL, BatchHeader

_RECREATE = "delete the topic on the target; the next run copies all of it again"


class LostCause(StrEnum):
    """The reasons why a partition's position cannot be restored."""

    CHANGED = "changed"
    UNSETTLED = "unsettled"
    NO_RECORDS = "no records"
    NOTHING_COMMON = "nothing common"
    SOURCE_SHORT = "source short"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class BooklessMirror:
    """A mirror partition with records of the link and without a ledger entry.

    Attributes:
        link: The link.
        source: The source partition, and `target` the mirror partition.
        source_id: The topic ids of both; `target_id` likewise.
        producer_id: The private producer id under which the link writes it first.
        start: The log start offset of the target.
        end: Its log end offset.
        high_watermark: Up to where all in-sync replicas have it.
        source_start: The log start offset of the source; `source_end` its end.
        changed: Whether the file changes its records on the way.
        last: The last batch of records that the link wrote, `None` if none was found.
        remembered: The last sequence that the leader remembers of its producer id, -1 for none.
    """

    link: LinkName
    source: TopicPartition
    target: TopicPartition
    source_id: TopicId
    target_id: TopicId
    producer_id: ProducerId
    start: int
    end: int
    high_watermark: int
    source_start: int
    source_end: int
    changed: bool
    last: BatchHeader | None
    remembered: int

    @property
    def generation(self) -> int:
        """The producer id generation of the last batch."""
        last = self.last
        return 0 if last is None else (last.producer_id - self.producer_id) % GENERATIONS

    @property
    def sequence(self) -> int:
        """The sequence of the next record."""
        last = self.last
        if last is None:
            return 0
        return (last.base_sequence + last.last_offset_delta + 1) % SEQUENCES

    @property
    def written(self) -> str:
        """The facts of the last batch, as the end of a sentence."""
        if self.last is None:
            return "none of its batches is left"
        return (
            f"its last record is number {self.sequence} since it was opened (or that many behind a"
            f" multiple of 2^31), of {readable(self.last.max_timestamp)}"
        )


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A partition whose position is proven; `str()` gives a sentence.

    Attributes:
        orphan: The partition.
        compared: How many records are the same on both sides, at the same offsets.
        bytes: What was read for that, in bytes.
    """

    orphan: BooklessMirror
    compared: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        at = self.orphan
        return (
            f"{at.source}: goes on at offset {at.end}, sequence {at.sequence}; all {self.compared}"
            f" records that both {at.target} and the source still have are equal, at the same"
            " offsets"
        )


@dataclass(frozen=True, slots=True)
class LostPlace:
    """A partition whose position cannot be restored; `str()` gives a sentence."""

    tp: TopicPartition
    cause: LostCause
    text: str

    def __str__(self) -> str:
        return f"{self.tp}: {self.text}"


Outcome = FoundPlace | LostPlace


def last_own(headers: Iterator[BatchHeader], first: ProducerId) -> BatchHeader | None:
    """Return the last batch that a partition's own producer ids wrote."""
    own = generations(first)
    found = None
    for each in headers:
        if each.producer_id in own and not each.attributes & CONTROL and each.base_sequence >= 0:
            found = each
    return found


def hindered(at: BooklessMirror) -> LostPlace | None:
    """Return why a partition's position cannot be found, without reading its records."""
    why = next(_hindrances(at), None)
    return None if why is None else LostPlace(at.source, *why)


def _hindrances(at: BooklessMirror) -> Iterator[tuple[LostCause, str]]:
    if at.changed:
        yield (
            LostCause.CHANGED,
            "the file changes its records on the way, and only the ledger knew which change each"
            f" record got; {at.written}; {_RECREATE}",
        )
    if at.last is None:
        yield (
            LostCause.NO_RECORDS,
            "the target has no batch of this link left (only markers, or nothing), so nothing"
            f" tells the sequence of the next record; {_RECREATE}",
        )
    elif at.high_watermark != at.end or at.remembered not in {-1, _before(at.sequence)}:
        yield (
            LostCause.UNSETTLED,
            f"the target log still changes (it ends at {at.end}, its high watermark is"
            f" {at.high_watermark}); look whether a run of this link still lives or a broker is"
            " down, then repair again",
        )
    if at.source_end < at.end:
        yield (
            LostCause.SOURCE_SHORT,
            f"the source ends at offset {at.source_end}, before the target's {at.end}: its offsets"
            f" are not those of the source, or the source lost records; {at.written}; {_RECREATE}",
        )
    if max(at.start, at.source_start) >= at.end:
        yield (
            LostCause.NOTHING_COMMON,
            "neither record of the target is left at the source, so nothing can be proven;"
            f" {at.written}; {_RECREATE}",
        )


def _before(sequence: int) -> int:
    return (sequence - 1) % SEQUENCES


def judged(at: BooklessMirror, found: Comparison | None) -> Outcome:
    """Return the result of comparing all common records at their own offsets."""
    if found is None or not (found.counts.equal or found.counts.different):
        text = f"no record is on both sides at the same offset; {at.written}; {_RECREATE}"
        return LostPlace(at.source, LostCause.NOTHING_COMMON, text)
    counts, problem = found.counts, ""
    if not found.equal or found.stopped:
        problem = difference(found) if not found.equal else f"not compared {found.stopped}"
    elif counts.foreign or found.beyond:
        problem = f"{counts.foreign} records of others are among them"
    if problem:
        text = (
            "the target's records are not those of the source at the same offsets"
            f" ({problem}), so its offsets were mapped, or others wrote to it; {at.written}, and"
            f" where that is at the source, only the ledger knew; {_RECREATE}"
        )
        return LostPlace(at.source, LostCause.DIFFERENT, text)
    return FoundPlace(at, counts.equal, found.bytes)


def entries(at: BooklessMirror, run_id: str, records: int, size: int) -> list[Entry]:
    """Return the ledger entries with which a run continues at the end of the target's log.

    Args:
        at: The partition.
        run_id: The run id of this repair.
        records: How many records the target holds, as far as known.
        size: How many bytes they have.
    """
    start, now = max(0, at.start), now_ms()
    opened = Opened(
        link=at.link,
        topic=at.source.topic,
        partition=at.source.partition,
        source_topic_id=at.source_id,
        target_topic=at.target.topic,
        target_topic_id=at.target_id,
        producer_id=at.producer_id,
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=SourceOffset(start),
        target_start=TargetOffset(start),
        run_id=run_id,
        at=now,
    )
    receipt = Receipt(
        link=at.link,
        topic=at.source.topic,
        partition=at.source.partition,
        producer_id=at.producer_id,
        source_end=SourceOffset(at.end),
        source_epoch=-1,
        target_end=TargetOffset(at.end),
        sequence=at.sequence,
        records=records,
        bytes=size,
        first_timestamp=-1,
        last_timestamp=at.last.max_timestamp if at.last is not None else -1,
        digest=0,
        mode=Mode.IDENTICAL,
        reasons=(),
        run=(SourceOffset(start), TargetOffset(start), at.end - start),
        trouble=None,
        at=now,
        copier=new_name(),
        generation=at.generation,
    )
    return [opened, receipt]
