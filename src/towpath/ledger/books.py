"""The ledger: what the target remembers of every link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client, Records
from towpath.ledger.batches import packed, rows
from towpath.ledger.entries import (
    End,
    Entry,
    FirstLook,
    Found,
    Gap,
    Journal,
    Key,
    LinkIdentity,
    Opened,
    Receipt,
    Removed,
    Repaired,
    Runs,
    Session,
    Unreadable,
    Writer,
    decode,
    decode_key,
)
from towpath.ledger.neighbours import Neighbours
from towpath.ledger.offsets import OffsetMap
from towpath.ledger.packed import Packer, unpack
from towpath.ledger.topic import TOPIC, create, find
from towpath.model.errors import LedgerError, RefusedError, TowpathError
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    ProducerId,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.wire import batch as batches

FACTS = TopicPartition(TOPIC, 0)
"""Everything that stays true."""
SESSIONS = TopicPartition(TOPIC, 1)
"""Signs of life and round ends; a slice waits here, so nothing else may wake it."""

_RECENT = 1000
"""Of sessions so many of the latest entries are read at first. A run that lives gives a sign every
two seconds, with its whole state, and is taken for dead after seven; so of 250 links that run at
once each is among them. No clock is asked: those of machines differ."""
RUNS = TopicPartition(TOPIC, 2)
"""The offset maps, apart from the facts: they may be large, and only few read them."""
_FETCH_BYTES = 8 << 20
_SHARED = 2
"""Parts of a receipt's key behind kind and link where all copiers share one."""

Wanted = Callable[[Key], bool]
"""Tells by its key whether an entry is wanted."""
_OF_NEIGHBOURS = {Opened.kind, Journal.kind}


def _is_small(key: Key) -> bool:
    return key.kind != Runs.kind


def _only_last_counts(key: Key) -> bool:
    """Whether one copier alone writes under the key, each time something that reaches further."""
    return key.kind == Runs.kind or (key.kind == Receipt.kind and len(key.about) > _SHARED)


def _is_about_one(key: Key) -> bool:
    """Whether the key names a partition."""
    return len(key.about) > 1 and isinstance(key.about[1], int)


def _tp(key: Key) -> TopicPartition:
    topic, partition, *_ = key.about
    return TopicPartition(TopicName(str(topic)), int(partition))


@dataclass(slots=True)
class PartitionBooks:
    """What the ledger knows of one source partition of one link."""

    opened: Opened | None = None
    receipts: dict[tuple[ProducerId, str], Receipt] = field(default_factory=dict)
    """Receipts of all incarnations, by producer id and copier."""
    runs: dict[tuple[ProducerId, str], str] = field(default_factory=dict)
    """Packed runs of all incarnations that were read, by producer id and chunk."""
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
                chunk = entry.chunk or str(entry.about()[-1])
                packed = entry.packed or Packer(entry.runs).text()
                self.runs[entry.producer_id, chunk] = packed
            case Writer():
                if self.is_of(entry.producer_id):
                    self.writers.setdefault(entry.writer, entry)
            case Repaired():
                self.repairs.extend([entry] if self.is_of(entry.producer_id) else ())

    def _open(self, entry: Opened) -> None:
        if not self.is_of(entry.producer_id):
            self.opened, self.writers = entry, {}
            if self.repairs and self.repairs[-1].successor != entry.producer_id:
                self.repairs = []

    def _know(self, entry: Receipt) -> None:
        key = entry.producer_id, entry.copier
        known = self.receipts.get(key)
        if known is None or entry.reach >= known.reach:
            self.receipts[key] = entry

    def forget(self, removed: Removed) -> None:
        """Forget a receipt, or a chunk of runs."""
        if removed.kind == Receipt.kind:
            kept = self.receipts.items()
            self.receipts = {key: r for key, r in kept if r.about() != removed.key}
        elif removed.kind == Runs.kind:
            self.runs = {key: r for key, r in self.runs.items() if key != removed.key[2:]}

    def offsets(self) -> OffsetMap:
        """Return the offset map of the present incarnation, as far as runs were read.

        Raises:
            LedgerError: Packed runs are damaged.
        """
        receipt = self.receipt
        few = [receipt.run] if receipt is not None else []
        few += [(r.start, r.start, r.offset - r.start) for r in self.repairs[-1:]]
        packed = [text for (producer, _), text in self.runs.items() if self.is_of(producer)]
        packed += [receipt.packed] if receipt is not None else []
        tables = [np.array(few, np.int64).reshape(-1, 3), *map(unpack, packed)]
        return OffsetMap.of(np.concatenate(tables))


@dataclass(slots=True)
class LinkBooks:
    """What the ledger knows of one link.

    Attributes:
        only: If not `None`, nothing but the facts about these source partitions is wanted.
        runs_read: The runs were read, so that the offset maps are complete.
    """

    link: LinkName
    only: frozenset[TopicPartition] | None = None
    runs_read: bool = False
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

    def wants(self, key: Key) -> bool:
        """Whether a fact with this key is of use here; runs are not (`Ledger.read_runs`)."""
        if key.link != self.link:
            return self.only is None and key.kind in _OF_NEIGHBOURS
        if self.only is None or key.kind == Runs.kind:
            return key.kind != Runs.kind
        return _is_about_one(key) and _tp(key) in self.only

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
        if entry.kind in {Receipt.kind, Runs.kind}:
            self.of(_tp(Key(entry.kind, entry.link, entry.key))).forget(entry)


class Ledger:
    """Reads and appends entries; one per thread."""

    def __init__(self, admin: Admin, client: Client) -> None:
        self._admin = admin
        self._client = client
        self._read_to: dict[TopicPartition, int] = {}
        self._runs_at: TopicPartition | None = None

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

    def books(self, link: LinkName, *, runs: bool = True) -> LinkBooks:
        """Return all facts about a link, with its runs or without; none if there is no ledger.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry, or the topic is of no use.
        """
        books = LinkBooks(link)
        if self._usable():
            for entry in self.read(wanted=books.wants):
                books.take(entry)
            if runs:
                self.read_runs(books)
        return books

    def read_runs(self, books: LinkBooks) -> None:
        """Read all runs of a link, which take far more room than all else.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry.
        """
        fresh = Ledger(self._admin, self._client)
        wanted = Runs.kind, books.link
        for tp in {FACTS, self._runs()}:  # those of older versions are among the facts
            for entry in fresh.read(tp, wanted=lambda key: key[:2] == wanted):
                books.take(entry)
        books.runs_read = True

    def stream_runs(self, link: LinkName) -> Iterator[Found]:
        """Return the runs of a link that were added since the last call, one entry at a time."""
        for _, key, value in self._fetched(self._runs(), 0.0):
            entry = decode(key, value) if decode_key(key)[:2] == (Runs.kind, link) else None
            if entry is not None:
                yield entry

    def read(
        self, tp: TopicPartition = FACTS, *, wait: float = 0.0, wanted: Wanted = _is_small
    ) -> list[Found]:
        """Return the entries that were added since the last call of this object.

        The first call begins with the first fact, and with recent sessions. Of receipts under one
        key only the last is returned, as the cleaner of the target might have left it.

        Args:
            tp: Where to read.
            wait: Seconds to wait for the first entry.
            wanted: Tells by their keys which entries are read.

        Raises:
            LedgerError: A record has no key of the ledger's.
        """
        begun = self._read_to.get(tp)
        found: dict[bytes | int, tuple[bytes, bytes | None]] = {}
        try:
            for offset, key, value in self._fetched(tp, wait):
                about = decode_key(key)
                if wanted(about):
                    slot = key if _only_last_counts(about) else offset
                    found.pop(slot, None)
                    found[slot] = key, value
        except TowpathError:
            self._read_to.pop(tp, None)
            self._read_to |= {tp: begun} if begun is not None else {}
            raise
        entries = (decode(*record) for record in found.values())
        return [entry for entry in entries if entry is not None]

    def _fetched(
        self, tp: TopicPartition, wait: float
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Return offset, key and value of all records up to the end."""
        while True:
            chunk = self._fetch(tp, wait)
            table = batches.scan(chunk.buffer, chunk.start, chunk.end)
            if not len(table):
                return
            for row in table:
                yield from self._records(tp, chunk.buffer[row[0] : row[0] + row[1]].data)
            wait = 0.0

    def _fetch(self, tp: TopicPartition, wait: float) -> Records:
        if tp not in self._read_to:
            self._read_to[tp] = self._recent(tp) if tp == SESSIONS else 0
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
        """Append entries in order, runs before all others.

        All are on all in-sync replicas when this returns.
        """
        entries = list(entries)
        runs = [entry for entry in entries if entry.kind == Runs.kind]
        if runs:
            for part in packed(runs):
                self._client.produce(self._runs(), part)
        for part in packed(entry for entry in entries if entry.kind != Runs.kind):
            self._client.produce(tp, part)

    def _runs(self) -> TopicPartition:
        """Return where runs are: among the facts where the topic has no partition for them."""
        if self._runs_at is None:
            info = self._admin.topics([TOPIC]).get(TOPIC)
            has = info is not None and len(info.partitions) > RUNS.partition
            self._runs_at = RUNS if has else FACTS
        return self._runs_at

    def _records(
        self, tp: TopicPartition, batch: memoryview
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        for offset, key, value in rows(batch):
            if offset >= self._read_to[tp]:
                yield offset, key, value
        header = batches.BatchHeader.read(batch)
        self._read_to[tp] = header.base_offset + header.last_offset_delta + 1
