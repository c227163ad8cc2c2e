"""The entries of the ledger and their format.

Each entry is one record of the compacted topic `__towpath_ledger`. Key: a JSON array, first the
kind, then the link, then what the entry is about. Value: a JSON object with `v`, the major
version of the format, and the fields of the class below under their own names. Every entry is a
fact that stays true whoever wrote it, so two writers cannot harm each other: of two receipts the
one that is further holds.

A field that is added later gets a default in its class, which stands for it in older entries. A
reader passes over fields and kinds that it does not know. A newer major version stops only the
readers of the link that it is about. docs/ledger.md tells the same to people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, get_args

from towpath.model.errors import LedgerError, NewerLedgerError
from towpath.model.foreign import foreign
from towpath.model.nouns import (
    LEDGER,
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    TopicId,
    TopicName,
    TopicPartition,
)

FORMAT = 1

Run = tuple[int, int, int]
"""Source start, target start, length: offsets that moved together."""


@dataclass(frozen=True, slots=True)
class LinkIdentity:
    """Which two clusters a link joins; written once."""

    kind: ClassVar[str] = "link"

    link: LinkName
    source_cluster: ClusterId
    target_cluster: ClusterId

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return ()


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The first run of a link with `start: latest` has looked where all partitions end.

    It stands behind the `End` entries of that look. A topic without one appeared later.
    """

    kind: ClassVar[str] = "look"

    link: LinkName
    run_id: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return ()


@dataclass(frozen=True, slots=True)
class End:
    """Where the partitions of a source topic ended when the link ran first, with `start: latest`.

    `offsets` are their last stable offsets, by partition. Where one is -1, the partition had no
    leader to tell it, and its copy begins where the leader epoch in `epochs` ended.
    """

    kind: ClassVar[str] = "end"

    link: LinkName
    topic: TopicName
    topic_id: TopicId
    offsets: tuple[int, ...]
    epochs: tuple[int, ...]
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.topic, self.topic_id)


@dataclass(frozen=True, slots=True)
class _OfPartition:
    """What the entries about one source partition begin with."""

    link: LinkName
    topic: TopicName
    partition: int

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Opened(_OfPartition):
    """How the copying of one source partition began.

    `source_start` and `target_start` are the first offsets; `sequence` 0 belongs to them. With
    `mode` mapped, `reason` tells why. The private `producer_id` names the incarnation: where a
    topic was deleted and created again, on either side, it is another one. Of several entries for
    one incarnation the first holds, hence the run in the key.
    """

    kind: ClassVar[str] = "opened"

    source_topic_id: TopicId
    target_topic: TopicName
    target_topic_id: TopicId
    producer_id: ProducerId
    mode: Mode
    reason: str
    source_start: int
    target_start: int
    run_id: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.topic, self.partition, self.producer_id, self.run_id)

    @property
    def target(self) -> TopicPartition:
        """The target partition."""
        return TopicPartition(self.target_topic, self.partition)


@dataclass(frozen=True, slots=True)
class Receipt(_OfPartition):
    """How far one source partition was copied, and what that came to.

    `source_end` and `target_end` are the next offsets, `sequence` the next sequence, `records` and
    `bytes` what was copied since the partition was opened; `digest` folds the checksums of all
    batches in order; `run` is the run that is still growing; times are in ms.

    `copier` names who wrote the receipt: nobody else writes under its key (docs/decisions/0018).
    It is empty in entries of older versions, which shared one key. `cuts` counts how often copying
    went back at the source because the source's log was cut. `packed` are the latest runs that grow
    no more and are in no `Runs` entry yet. `holes` is how many offsets were filled that compaction
    left empty at the source, `transacted` how many took transactions, as the target takes no
    markers.
    """

    kind: ClassVar[str] = "receipt"

    producer_id: ProducerId
    source_end: int
    source_epoch: int
    target_end: int
    sequence: int
    records: int
    bytes: int
    first_timestamp: int
    last_timestamp: int
    digest: int
    mode: Mode
    reason: str
    run: Run
    error: str
    at: int
    copier: str = ""
    cuts: int = 0
    packed: str = ""
    holes: int = 0
    transacted: int = 0

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        if not self.copier:
            return (self.topic, self.partition)
        return (self.topic, self.partition, self.producer_id, self.copier)

    @property
    def reach(self) -> tuple[int, int, bool, int, int, str]:
        """How far it tells, to be compared with receipts of the same incarnation.

        The number of records never goes back, as the target's log keeps them. The source offset
        does, where the source's log was cut. Of different receipts none reaches as far as another.
        """
        mapped = self.mode is Mode.MAPPED
        return (self.records, self.cuts, mapped, self.source_end, self.at, self.copier)


@dataclass(frozen=True, slots=True)
class Runs(_OfPartition):
    """Runs that will not grow any more: a chunk of them, `packed` as in `ledger/packed.py`.

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
    end: int = 0

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        last = self.chunk or self.runs[0][0]
        return (self.topic, self.partition, self.producer_id, last)


@dataclass(frozen=True, slots=True)
class Gap(_OfPartition):
    """Source offsets [first, end) that were not copied, and why; `went_on` tells the policy."""

    kind: ClassVar[str] = "gap"

    producer_id: ProducerId
    first: int
    end: int
    cause: str
    went_on: bool
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.topic, self.partition, self.producer_id, self.first)


@dataclass(frozen=True, slots=True)
class Writer(_OfPartition):
    """The target refuses our producer ids, so a partition is written in transactions.

    `writer` is a producer id that the target gave out for `transactional_id`. The entry stands here
    before the first record does, so these ids tell all records of ours from those of others. No
    such record lies before `target_start`.
    """

    kind: ClassVar[str] = "writer"

    producer_id: ProducerId
    writer: ProducerId
    transactional_id: str
    reason: str
    target_start: int
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.topic, self.partition, self.producer_id, self.writer)


@dataclass(frozen=True, slots=True)
class Repaired(_OfPartition):
    """The target lost the end of an identical partition, which is copied again from `offset` on.

    A new incarnation begins there, at the same offset on both sides, under the producer id
    `successor`; of the one of `producer_id` the records from offset `start` up to `offset` stay.
    `acknowledged` is the offset behind the last record that the target had acknowledged.
    """

    kind: ClassVar[str] = "repaired"

    producer_id: ProducerId
    successor: ProducerId
    start: int
    offset: int
    acknowledged: int
    run_id: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.topic, self.partition, self.producer_id)


class Phase(StrEnum):
    """How far a step of a plan has come."""

    BEGUN = "begun"
    """It may have been done: the journal was written before it, and not yet behind it."""
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Journal:
    """One step of a plan that was begun or done.

    `subject`, `name`, `do` and `part` tell what was changed on the target: say `topics`, `orders`,
    `SetConfigs` and the names of the settings. `step` is the whole step as `towpath plan` shows it
    in JSON. `plan` is the digest of a saved plan, empty where a run did the step by itself. What is
    `owned` was created by the link. `topic_id` is that of the topic which was created or changed.
    `error` tells why it failed.
    """

    kind: ClassVar[str] = "step"

    link: LinkName
    subject: str
    name: str
    do: str
    part: str
    step: Mapping[str, Any]
    phase: Phase
    plan: str
    owned: bool
    topic_id: TopicId
    error: str
    at: int

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return (self.subject, self.name, self.do, self.part)


@dataclass(frozen=True, slots=True)
class Session:
    """A sign of life of one `towpath run`, and what it tells its slices.

    Rounds up to `ended_round` are over: a slice of such a round drains and returns.
    """

    kind: ClassVar[str] = "session"

    link: LinkName
    run_id: str
    host: str
    pid: int
    started: int
    beat: int
    ended_round: int
    over: bool
    rested: bool = False
    """All slices of the run ended by themselves, so nothing that they sent can still arrive."""

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return ()


@dataclass(frozen=True, slots=True)
class Removed:
    """The entry with this key is of no use any more; `key` is what stands behind kind and link."""

    kind: str
    link: LinkName
    key: tuple[str | int, ...]

    def about(self) -> tuple[str | int, ...]:
        """Return the key behind kind and link."""
        return self.key


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry that this program cannot read; `error` is for those whom the link concerns."""

    link: LinkName
    error: LedgerError


Written = (
    LinkIdentity
    | FirstLook
    | End
    | Opened
    | Receipt
    | Runs
    | Gap
    | Writer
    | Repaired
    | Journal
    | Session
)
Entry = Written | Removed
"""What can be written."""
Found = Entry | Unreadable
"""What can be read."""

_KINDS: Mapping[str, type[Written]] = {each.kind: each for each in get_args(Written)}


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Return key and value of an entry."""
    key = json.dumps([entry.kind, entry.link, *entry.about()], separators=(",", ":")).encode()
    if isinstance(entry, Removed):
        return key, None
    return key, json.dumps({"v": FORMAT, **asdict(entry)}, separators=(",", ":")).encode()


class Key(NamedTuple):
    """The key of an entry: kind, link, and what it is about."""

    kind: str
    link: LinkName
    about: tuple[str | int, ...]


def decode_key(key: bytes) -> Key:
    """Return the key of a record.

    Raises:
        LedgerError: The key is none of the ledger's.
    """
    try:
        kind, link, *about = json.loads(key)
    except (ValueError, TypeError) as error:
        raise _foreign(key, error) from error
    return Key(kind, link, tuple(about))


def decode(key: bytes | None, value: bytes | None) -> Found | None:
    """Return the entry of a record, or `None` for a kind of a later minor version.

    Raises:
        LedgerError: The key is none of the ledger's.
    """
    if key is None:
        return None
    kind, link, about = decode_key(key)
    if value is None:
        return Removed(kind, link, about)
    try:
        return _entry(kind, json.loads(value))
    except LedgerError as error:
        return Unreadable(link, error)
    except (ValueError, KeyError, TypeError) as error:
        return Unreadable(link, _foreign(key, error))


def _foreign(key: bytes, error: Exception) -> LedgerError:
    return LedgerError(
        f"a record of the ledger is no entry of it (key {key[:100]!r}: {foreign(error)}); someone"
        f" else writes to {LEDGER}: stop that writer, then delete the record by its key"
    )


def _entry(kind: str, body: Mapping[str, Any]) -> Entry | None:
    if body["v"] > FORMAT:
        raise NewerLedgerError(body["v"], FORMAT)
    cls = _KINDS.get(kind)
    if cls is None:
        return None
    known = {
        field.name: _typed(field.name, body[field.name])
        for field in fields(cls)
        if field.name in body or field.default is field.default_factory is MISSING
    }
    return cls(**known)


def _typed(name: str, value: Any) -> Any:
    if name == "mode":
        return Mode(value)
    if name == "phase":
        return Phase(value)
    if name in {"run", "offsets", "epochs"}:
        return tuple(value)
    if name == "runs":
        return tuple(tuple(run) for run in value)
    return value
