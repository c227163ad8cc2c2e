"""Ledger entries about one source partition: its opening, receipts, gaps and cutovers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from towpath.model.changes import Undeliverable
from towpath.model.nouns import (
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode, sentence

Run = tuple[SourceOffset, TargetOffset, int]
"""Source start, target start, length: offsets that moved together."""
ChangedAt = tuple[SourceOffset, TargetOffset, str]
"""From which source and target offset on records are copied under the change with a digest."""
FROM_ARCHIVE = "archived"
"""The kind in a tally of records that came from an archive, as the source had deleted them."""
FROM_TWIN = "twin"
"""The kind in a tally of records that were left out, as the twin of the link wrote them."""
Tally = tuple[tuple[str, int], ...]
"""What changes did to records, and how often: `ids` of schemas that were rewritten, `bad_ids:` that
passed as they were, with the code of what is bad, `unchanged_ids:` that a decision lets pass, with
the code of its reason, `headers` that were written, values of headers that were `redacted`, records
that were `dropped:` by a rule or `quarantined:` for a code, and those that the target `refused`.
Beside what changes did: records that came from an archive (`FROM_ARCHIVE`), and those that the twin
wrote (`FROM_TWIN`)."""
Counted = tuple[SourceOffset, SourceOffset, str]
"""Source offsets [first, end) whose records a tally counts, under the change with a digest."""
Stretch = tuple[SourceOffset, SourceOffset]
"""Source offsets [first, end)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfPartition:
    """The first fields of all entries about one source partition."""

    link: LinkName
    topic: TopicName
    partition: int

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(_OfPartition):
    """The opening of a source partition: how copying began, under which producer id.

    `source_start` and `target_start` are the first offsets; `sequence` 0 belongs to them. With
    `mode` mapped, `reasons` tell why. The private `producer_id` names the incarnation: where a
    topic was deleted and created again, on either side, it is another one. Of several entries for
    one incarnation the first holds, hence the run in the key. `change` is the digest of the change
    under which records are copied, "" if they stay as they are.
    """

    kind: ClassVar[str] = "opened"

    source_topic_id: TopicId
    target_topic: TopicName
    target_topic_id: TopicId
    producer_id: ProducerId
    mode: Mode
    reasons: tuple[Reason, ...]
    source_start: SourceOffset
    target_start: TargetOffset
    run_id: str
    at: int
    change: str = ""

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id, self.run_id)

    @property
    def target(self) -> TopicPartition:
        """The target partition."""
        return TopicPartition(self.target_topic, self.partition)

    @property
    def reason(self) -> str:
        """The reasons as a sentence, for people."""
        return sentence(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(_OfPartition):
    """A receipt: how far one source partition is copied, with counts and a digest.

    `source_end` and `target_end` are the next offsets, `sequence` the next sequence, `records` and
    `bytes` what was copied since the partition was opened; `digest` folds the checksums of all
    batches in order; `run` is the run that is still growing; times are in ms. `reasons` tell why
    the partition is mapped, `trouble` what keeps it from moving.

    `copier` names who wrote the receipt: nobody else writes under its key (docs/decisions/0018).
    It is empty in entries of older versions, which shared one key. `cuts` counts how often copying
    went back at the source because the source's log was cut. `packed` are the latest runs that grow
    no more and are in no `Runs` entry yet. `holes` is how many offsets were filled that compaction
    left empty at the source, `transacted` how many took transactions, as the target takes no
    markers. `generation` tells which producer id of the incarnation is written under
    (`ledger/producers.py`); with `claim`, the receipt only claims that generation, and the first
    such receipt of several holds.

    `change` is the digest of the change under which records are copied from here on. `changed`
    tells where the partition was opened again under another change than before, and `tally` what
    changes did (docs/decisions/0034). `counted` are records that the target lost and gets again:
    `tally` counts them, and so not once more under the same change. `archived` are those that came
    from an archive (the newest stretches), of which it counts each once likewise.
    """

    kind: ClassVar[str] = "receipt"

    producer_id: ProducerId
    source_end: SourceOffset
    source_epoch: int
    target_end: TargetOffset
    sequence: int
    records: int
    bytes: int
    first_timestamp: int
    last_timestamp: int
    digest: int
    mode: Mode
    reasons: tuple[Reason, ...]
    run: Run
    trouble: Reason | None
    at: int
    copier: str = ""
    cuts: int = 0
    packed: str = ""
    holes: int = 0
    transacted: int = 0
    generation: int = 0
    claim: bool = False
    change: str = ""
    changed: tuple[ChangedAt, ...] = ()
    tally: Tally = ()
    counted: tuple[Counted, ...] = ()
    archived: tuple[Stretch, ...] = ()

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        if not self.copier:
            return (self.topic, self.partition)
        return (self.topic, self.partition, self.producer_id, self.copier)

    @property
    def reason(self) -> str:
        """The reasons as a sentence, for people."""
        return sentence(self.reasons)

    @property
    def error(self) -> str:
        """The trouble as a sentence, "" if there is none."""
        return str(self.trouble) if self.trouble is not None else ""

    @property
    def reach(self) -> tuple[int, int, bool, int, int, int, str]:
        """An ordering key for receipts of one incarnation: the larger one reaches further.

        The number of records never goes back, as the target's log keeps them. The source offset
        does, where the source's log was cut, and where another change begins behind the last record
        that an older one has kept. Of different receipts none reaches as far as another.
        """
        mapped, changed = self.mode is Mode.MAPPED, len(self.changed)
        return (self.records, self.cuts, mapped, changed, self.source_end, self.at, self.copier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(_OfPartition):
    """A finished chunk of an offset map, packed as in `ledger/packed.py`.

    `chunk` is an id of its own for each chunk; nobody else writes under its key. It holds `count`
    runs, and no target offset from `end` on. Older versions wrote `runs` one by one.
    """

    kind: ClassVar[str] = "runs"

    producer_id: ProducerId
    runs: tuple[Run, ...] = ()
    packed: str = ""
    chunk: str = ""
    at: int = 0
    count: int = 0
    end: TargetOffset = TargetOffset(0)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        last = self.chunk or self.runs[0][0]
        return (self.topic, self.partition, self.producer_id, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(_OfPartition):
    """Source offsets [first, end) that were not copied; `went_on` says if copying continued.

    Where the source's log was cut, `target` is the target offset at which copying went back to
    `first`: -1 if it has not gone back yet. Older versions did not write it.
    """

    kind: ClassVar[str] = "gap"

    producer_id: ProducerId
    first: SourceOffset
    end: SourceOffset
    why: Reason
    went_on: bool
    at: int
    target: TargetOffset | None = None

    @property
    def cause(self) -> str:
        """The reason `why` as a sentence, for people."""
        return str(self.why)

    @property
    def is_loss(self) -> bool:
        """Whether the gap lacks records that some consumer could still want to read."""
        return self.why.code is not ReasonCode.READ_AND_DELETED

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id, self.first)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRecords(_OfPartition):
    """Source offsets [first, end) whose records are left out because the target refused them.

    The target refused them, and `policy` is what the file wants then: `quarantine`, so that they
    stand in the quarantine topic, or `skip`. The sequence does not count them, so whoever writes
    behind them must know. The entry therefore holds for later generations of the producer id than
    `generation`, which told of them behind it, and for none if one had told before; with -1, it
    holds at once (docs/decisions/0036). It is never taken back. Of several entries about one offset
    the first holds; the `name`, which no other entry has, keeps all of them.
    """

    kind: ClassVar[str] = "refused"

    producer_id: ProducerId
    first: SourceOffset
    end: SourceOffset
    why: Reason
    policy: Undeliverable
    generation: int
    name: str
    at: int

    @property
    def cause(self) -> str:
        """The reason `why` as a sentence, for people."""
        return str(self.why)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id, self.first, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalProducer(_OfPartition):
    """A partition that is written in transactions, as the target refuses derived ids.

    `writer` is a producer id that the target gave out for `transactional_id`. The entry stands here
    before the first record does, so these ids tell all records of ours from those of others. No
    such record lies before `target_start`.
    """

    kind: ClassVar[str] = "writer"

    producer_id: ProducerId
    writer: ProducerId
    transactional_id: str
    why: Reason
    target_start: TargetOffset
    at: int

    @property
    def reason(self) -> str:
        """The reason `why` as a sentence, for people."""
        return str(self.why)

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id, self.writer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired(_OfPartition):
    """A repair: the end of an identical partition, lost on the target, is copied again.

    A new incarnation begins there, at the same offset on both sides, under the producer id
    `successor`; of the one of `producer_id` the records from offset `start` up to `offset` stay.
    `acknowledged` is the offset behind the last record that the target had acknowledged.
    """

    kind: ClassVar[str] = "repaired"

    producer_id: ProducerId
    successor: ProducerId
    start: SourceOffset
    offset: SourceOffset
    acknowledged: SourceOffset
    run_id: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(_OfPartition):
    """The cutover of a partition, after which clients write to its mirror topic.

    What others write from the target offset `target_end` on is the clients' own, and no surplus.
    The source was copied up to `source_end` then, which came to `records`. A later cutover of the
    same incarnation replaces the entry; it keeps `target_end` if clients have written behind it.

    A failover writes it behind the fence, so that nothing of the link can follow. `target_end` is
    the offset of the first fence then, and `fences` are the offsets that fences took from there on.
    `passed` are records of the link on the target that no receipt tells of, where offsets are
    mapped: they are the first ones that the source has from `source_end` on. `target_epoch` is the
    leader epoch of the last batch on the target then, -1 if unknown: it tells later whether a new
    leader there lacks what was before the cut.

    Of a link with `transform` the entry has the producer id `THROUGH_QUERY`, as each partition was
    written by several. `partition` is the number of a source partition, for `source_end` and
    `records`, and of a partition of the mirror topic, for `target_end`; either is 0 where only the
    other one exists.
    """

    kind: ClassVar[str] = "cutover"
    THROUGH_QUERY: ClassVar[ProducerId] = ProducerId(-1)

    producer_id: ProducerId
    source_end: SourceOffset
    target_end: TargetOffset
    records: int
    at: int
    fences: int = 0
    passed: int = 0
    target_epoch: int = -1

    def about(self) -> tuple[str | int, ...]:
        """Return the parts of the entry's ledger key that follow its kind and link."""
        return (self.topic, self.partition, self.producer_id)
