"""The ledger: what the target remembers of every link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from towpath.cluster.admin import Admin
from towpath.cluster.client import Client, Records
from towpath.ledger.entries import (
    End,
    Entry,
    FirstLook,
    Found,
    Gap,
    Journal,
    LinkIdentity,
    Opened,
    Receipt,
    Removed,
    Repaired,
    Run,
    Runs,
    Session,
    Unreadable,
    Writer,
    decode,
    encode,
)
from towpath.ledger.neighbours import Neighbours
from towpath.ledger.offsets import OffsetMap
from towpath.ledger.topic import APPEND_BYTES, TOPIC, create, find
from towpath.model.clock import now_ms
from towpath.model.errors import LedgerError, RefusedError
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    ProducerId,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.wire import batch as batches
from towpath.wire import records

FACTS = TopicPartition(TOPIC, 0)
"""Everything that stays true."""
SESSIONS = TopicPartition(TOPIC, 1)
"""Signs of life and round ends; a slice waits here, so nothing else may wake it."""

_RECENT = 1000
"""Of sessions so many of the latest entries are read at first. A run that lives gives a sign every
two seconds, with its whole state, and is taken for dead after seven; so of 250 links that run at
once each is among them. No clock is asked: those of machines differ."""
_FETCH_BYTES = 8 << 20
_RUNS = 5000
"""So many runs go into one entry at most; they come to less than a batch."""


@dataclass(slots=True)
class PartitionBooks:
    """What the ledger knows of one source partition of one link."""

    opened: Opened | None = None
    receipts: dict[tuple[ProducerId, str], Receipt] = field(default_factory=dict)
    """Receipts of all incarnations, by producer id and copier."""
    runs: list[Run] = field(default_factory=list)
    noted: dict[tuple[ProducerId, int], Gap] = field(default_factory=dict)
    """Gaps of all incarnations, by producer id and first offset."""
    writers: dict[ProducerId, Writer] = field(default_factory=dict)
    """Whom the target lets write in transactions; empty where it takes our own id."""
    repairs: list[Repaired] = field(default_factory=list)
    """The repairs from which the present incarnation came, in order."""

    @property
    def receipt(self) -> Receipt | None:
        """The furthest receipt of the present incarnation."""
        return max(self.standing, key=lambda receipt: receipt.reach, default=None)

    @property
    def standing(self) -> tuple[Receipt, ...]:
        """All receipts of the present incarnation that the ledger holds."""
        return tuple(r for r in self.receipts.values() if self.is_of(r.producer_id))

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of the present incarnation, or of the one that could not be opened."""
        here = self.opened.producer_id if self.opened else None
        return tuple(
            gap
            for (producer, _), gap in self.noted.items()
            if here in {None, producer} and not self._got_over(gap)
        )

    def _got_over(self, gap: Gap) -> bool:
        """Whether copying stopped at a gap, and goes on since without anything left out."""
        if gap.went_on or self.opened is None:
            return False
        receipt = self.receipt
        known = receipt if receipt is not None else self.opened
        return known.at > gap.at and not (receipt is not None and receipt.error)

    def is_of(self, producer_id: ProducerId) -> bool:
        """Whether they are about the incarnation of this producer id."""
        return self.opened is not None and self.opened.producer_id == producer_id

    @property
    def producers(self) -> frozenset[ProducerId]:
        """The producer ids of everything that was written for the present incarnation."""
        return frozenset(self.own | self.writers.keys())

    @property
    def own(self) -> frozenset[ProducerId]:
        """The derived ones of these, whose sequences count the records that were copied."""
        now = {self.opened.producer_id} if self.opened else set()
        return frozenset(now | {repair.producer_id for repair in self.repairs})

    @property
    def start(self) -> int:
        """The first source offset of what was copied, before repairs too; 0 if never opened."""
        if self.repairs:
            return self.repairs[-1].start
        return self.opened.source_start if self.opened else 0

    def heir(self, first: ProducerId) -> ProducerId:
        """Return the producer id to write under, given the one derived from the topics' ids."""
        repaired = bool(self.repairs) and self.repairs[0].producer_id == first
        return self.repairs[-1].successor if repaired else first

    def take(self, entry: Opened | Receipt | Runs | Gap | Writer | Repaired) -> None:
        """Take one more fact in."""
        match entry:
            case Opened():
                self._open(entry)
            case Receipt():
                self._know(entry)
            case Gap():
                self.noted[entry.producer_id, entry.first] = entry
            case Runs():
                self.runs.extend(entry.runs if self.is_of(entry.producer_id) else ())
            case Writer():
                if self.is_of(entry.producer_id):
                    self.writers.setdefault(entry.writer, entry)
            case Repaired():
                self.repairs.extend([entry] if self.is_of(entry.producer_id) else ())

    def _open(self, entry: Opened) -> None:
        if not self.is_of(entry.producer_id):
            self.opened, self.runs, self.writers = entry, [], {}
            if self.repairs and self.repairs[-1].successor != entry.producer_id:
                self.repairs = []

    def _know(self, entry: Receipt) -> None:
        key = entry.producer_id, entry.copier
        known = self.receipts.get(key)
        if known is None or entry.reach >= known.reach:
            self.receipts[key] = entry

    def forget(self, removed: Removed) -> None:
        """Forget a receipt."""
        kept = self.receipts.items()
        self.receipts = {key: r for key, r in kept if r.about() != removed.key}

    def offsets(self) -> OffsetMap:
        """Return the offset map of the present incarnation."""
        receipt = self.receipt
        growing = [receipt.run] if receipt is not None else []
        kept = [(r.start, r.start, r.offset - r.start) for r in self.repairs[-1:]]
        return OffsetMap.of([*kept, *self.runs, *growing])


@dataclass(slots=True)
class LinkBooks:
    """What the ledger knows of one link."""

    link: LinkName
    identity: LinkIdentity | None = None
    partitions: dict[TopicPartition, PartitionBooks] = field(default_factory=dict)
    journal: dict[tuple[str | int, ...], Journal] = field(default_factory=dict)
    """The last step of each kind about each thing on the target, by `Journal.about()`; the oldest
    first."""
    session: Session | None = None
    first_look: FirstLook | None = None
    ends: dict[tuple[TopicName, TopicId], End] = field(default_factory=dict)
    """Where source topics ended when the link ran first, with `start: latest`."""
    neighbours: Neighbours = field(default_factory=Neighbours)
    """The copies of other links."""

    @property
    def begun(self) -> bool:
        """Whether a run of the link has opened partitions before."""
        return any(books.opened is not None for books in self.partitions.values())

    def check_clusters(self, source: ClusterId, target: ClusterId) -> None:
        """Make sure that the link still joins the clusters that it joined first.

        Raises:
            LedgerError: It joins others.
        """
        known = self.identity
        if known is not None and (known.source_cluster, known.target_cluster) != (source, target):
            raise LedgerError(
                f"link {self.link} mirrors cluster {known.source_cluster} to"
                f" {known.target_cluster}, but the file names {source} and {target}; correct the"
                " addresses, or take another `link` name for other clusters"
            )

    def made_again(self, ids: Mapping[TopicName, TopicId]) -> frozenset[TopicName]:
        """Return which of these source topics were copied when they had another id."""
        return frozenset(
            tp.topic
            for tp, books in self.partitions.items()
            if books.opened is not None
            and ids.get(tp.topic, books.opened.source_topic_id) != books.opened.source_topic_id
        )

    def of(self, tp: TopicPartition) -> PartitionBooks:
        """Return the books of a source partition, empty ones when there are none yet."""
        return self.partitions.setdefault(tp, PartitionBooks())

    def take(self, entry: Found) -> None:
        """Take one more fact in; facts may come twice and in any order of writers.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record with a key of this link is no entry.
        """
        if entry.link != self.link:
            self.neighbours.take(entry)
            return
        match entry:
            case Unreadable():
                raise entry.error
            case LinkIdentity():
                self.identity = self.identity or entry
            case FirstLook() | End():
                self._look(entry)
            case Session():
                self.session = entry
            case Journal():
                self.journal.pop(entry.about(), None)
                self.journal[entry.about()] = entry
            case Removed():
                self._remove(entry)
            case _:
                self.of(entry.tp).take(entry)

    def _look(self, entry: FirstLook | End) -> None:
        if isinstance(entry, FirstLook):
            self.first_look = self.first_look or entry
        else:
            self.ends.setdefault((entry.topic, entry.topic_id), entry)

    def _remove(self, entry: Removed) -> None:
        if entry.kind == Receipt.kind:
            topic, partition, *_ = entry.key
            self.of(TopicPartition(TopicName(str(topic)), int(partition))).forget(entry)


class Ledger:
    """Reads and appends entries; one per thread."""

    def __init__(self, admin: Admin, client: Client) -> None:
        self._admin = admin
        self._client = client
        self._read_to: dict[TopicPartition, int] = {}

    def create(self) -> None:
        """Create the topic if it is missing, with three replicas or as many as brokers.

        Raises:
            LedgerError: There is one that is of no use.
        """
        if self._usable():
            return
        try:
            create(self._admin, len(self._admin.brokers()))
        except RefusedError as error:
            if error.name != "TOPIC_ALREADY_EXISTS":
                raise
            self._usable()

    def _usable(self) -> bool:
        """Whether there is a topic, and then one that keeps what is written to it."""
        found = find(self._admin)
        if found is not None:
            found.require()
        return found is not None

    def books(self, link: LinkName) -> LinkBooks:
        """Return all facts about a link; none where the target has no ledger.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry, or the topic is of no use.
        """
        books = LinkBooks(link)
        if self._usable():
            for entry in self.read():
                books.take(entry)
        return books

    def read(self, tp: TopicPartition = FACTS, *, wait: float = 0.0) -> list[Found]:
        """Return the entries that were added since the last call of this object.

        The first call begins with the first fact, and with recent sessions.

        Raises:
            LedgerError: A record has no key of the ledger's.
        """
        entries: list[Found] = []
        while True:
            chunk = self._fetch(tp, wait)
            table = batches.scan(chunk.buffer, chunk.start, chunk.end)
            if not len(table):
                return entries
            for row in table:
                entries.extend(self._entries(tp, chunk.buffer[row[0] : row[0] + row[1]].data))
            wait = 0.0

    def _fetch(self, tp: TopicPartition, wait: float) -> Records:
        if tp not in self._read_to:
            self._read_to[tp] = 0 if tp == FACTS else self._recent(tp)
        at = self._read_to[tp]
        try:
            return self._client.fetch(tp, at, max_bytes=_FETCH_BYTES, wait=wait)
        except RefusedError as error:
            if at or error.name != "OFFSET_OUT_OF_RANGE":
                raise
            raise LedgerError(
                f"target: the first entries of topic {TOPIC} were deleted, and with them where"
                " partitions stand; delete the topic and the copies to have everything copied again"
            ) from error

    def _recent(self, tp: TopicPartition) -> int:
        first, end = self._admin.earliest([tp]).sure(tp), self._admin.latest([tp]).sure(tp)
        return max(first, end - _RECENT)

    def append(self, entries: Iterable[Entry], tp: TopicPartition = FACTS) -> None:
        """Append entries in order; they are on all in-sync replicas when this returns."""
        for part in _packed(entries):
            self._client.produce(tp, part)

    def _entries(self, tp: TopicPartition, batch: memoryview) -> Iterator[Found]:
        header = batches.BatchHeader.read(batch)
        following = header.base_offset + header.last_offset_delta + 1
        if not header.attributes & batches.CONTROL:
            rows = records.decode(batch)
            for offset, key, value in zip(
                rows["offset"].to_pylist(),
                rows["key"].to_pylist(),
                rows["value"].to_pylist(),
                strict=True,
            ):
                entry = decode(key, value) if offset >= self._read_to[tp] else None
                if entry is not None:
                    yield entry
        self._read_to[tp] = following


def _packed(entries: Iterable[Entry]) -> Iterator[bytearray]:
    keys: list[bytes] = []
    values: list[bytes | None] = []
    size = 0
    for entry in (part for whole in entries for part in _parts(whole)):
        key, value = encode(entry)
        more = len(key) + len(value or b"")
        size += more
        if keys and size > APPEND_BYTES:
            yield _batch(keys, values)
            keys, values, size = [], [], more
        keys.append(key)
        values.append(value)
    if keys:
        yield _batch(keys, values)


def _parts(entry: Entry) -> Iterator[Entry]:
    """Take apart what could be too large for a batch: a source full of holes makes many runs."""
    if not isinstance(entry, Runs):
        yield entry
        return
    for start in range(0, len(entry.runs), _RUNS):
        yield replace(entry, runs=entry.runs[start : start + _RUNS])


def _batch(keys: list[bytes], values: list[bytes | None]) -> bytearray:
    count = len(keys)
    columns = {
        "offset": pa.array(range(count), pa.int64()),
        "timestamp": pa.array([now_ms()] * count, pa.int64()),
        "key": pa.array(keys, pa.binary()),
        "value": pa.array(values, pa.binary()),
        "headers": pa.array([[]] * count, records.RECORDS.field("headers").type),
    }
    return records.encode(pa.RecordBatch.from_pydict(columns, schema=records.RECORDS), codec=0)
