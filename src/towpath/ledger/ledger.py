"""Reading and appending of the entries of the ledger on the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client, Records
from towpath.ledger.batches import packed, rows
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    AwaitedIds,
    DecidedIds,
    Entry,
    EntryKey,
    Journal,
    ReadEntry,
    Receipt,
    RefusedIds,
    Removed,
    Runs,
    SeenGroup,
    decode,
    decode_key,
)
from towpath.ledger.topic import TOPIC, create, find
from towpath.model.errors import (
    ClusterReplacedError,
    LedgerError,
    LedgerGoneError,
    RefusedError,
    TowpathError,
)
from towpath.model.nouns import LinkName, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.wire.header import BatchHeader, split

FACTS = TopicPartition(TOPIC, 0)
"""Partition of the facts: entries that stay true."""
SESSIONS = TopicPartition(TOPIC, 1)
"""Partition of heartbeats and round ends. Slices wait for news here, so it holds nothing else."""
RUNS = TopicPartition(TOPIC, 2)
"""Partition of the offset maps. They can be large and few commands need them."""
GROUPS = TopicPartition(TOPIC, 3)
"""Partition of the groups of consumers. They move all the time, and few commands need them."""
SCHEMAS = TopicPartition(TOPIC, 4)
"""Partition of the schemas of registries. There can be tens of thousands; few slices read them."""

ENDS = (LedgerGoneError, ClusterReplacedError)
"""Errors after which nothing more may be copied: no book would know of it, or it is another's."""
_RECENT = 1000
"""Number of the latest session entries that the first read returns. A live run writes its whole
state every two seconds and counts as dead after seven, so the entries cover 250 links that run at
once. No clock is compared, because the clocks of machines differ."""
_FETCH_BYTES = 8 << 20
_SHARED = 2
"""Length of a receipt's key after kind and link, in old entries that all copiers shared."""

KeyFilter = Callable[[EntryKey], bool]
"""Decides by its key whether to read an entry."""
Heard = Callable[[Iterable[Entry]], None]


_IDS = (DecidedIds.kind, AwaitedIds.kind, RefusedIds.kind)
_PLACES = {Runs.kind: RUNS, SeenGroup.kind: GROUPS} | dict.fromkeys(_IDS, SCHEMAS)
"""Kinds with a partition of their own, where the topic has one."""
_STEPS = {"schemas": SCHEMAS}
"""Subjects of plans whose steps have a partition of their own, where the topic has one."""
_ONE_WRITER = frozenset(_PLACES)
"""Kinds of which each key has a single writer at a time."""


def _place(kind: str, about: tuple[str | int, ...]) -> TopicPartition | None:
    """Return the partition that entries of a kind have to themselves, `None` if they have none."""
    return _STEPS.get(str(*about[:1])) if kind == Journal.kind else _PLACES.get(kind)


def _is_small(key: EntryKey) -> bool:
    return _place(key.kind, key.about) is None


def _only_last_counts(key: EntryKey) -> bool:
    """Whether the key has a single writer, whose last entry replaces all earlier ones."""
    if key.kind == Journal.kind:
        return not _is_small(key)
    return key.kind in _ONE_WRITER or (key.kind == Receipt.kind and len(key.about) > _SHARED)


class Ledger:
    """Reads and appends entries; one per thread.

    Args:
        admin: The target.
        client: A client of the target for this object alone.
        heard: Told of all entries that were appended.
        facts_from: Offset of the first fact to read.
    """

    def __init__(
        self,
        admin: Admin,
        client: Client,
        heard: Heard = lambda _: None,
        facts_from: int = 0,
    ) -> None:
        self._admin, self._client, self._heard = admin, client, heard
        self._read_to: dict[TopicPartition, int] = {FACTS: facts_from} if facts_from else {}
        self._partitions = 0
        self._of_groups: Ledger | None = None

    @property
    def throttled(self) -> float:
        """Seconds for which the target asked readers and writers of entries to wait so far."""
        return self._client.throttled

    def wait_until(self, patience: Deadline | None) -> None:
        """Let calls wait no longer than this for a target that throttles; `None` for a while each.

        Beyond, they raise `ThrottledError`.
        """
        self._client.patience = patience

    def another(self) -> Ledger:
        """Return a new reader of the same ledger for this thread, with nothing read yet."""
        return Ledger(self._admin, self._client)

    def create(self) -> None:
        """Create the topic if it is missing, with three replicas or as many as brokers.

        Raises:
            LedgerError: The topic exists with configs that would lose entries.
        """
        if self.usable():
            return
        try:
            create(self._admin, len(self._admin.cluster.brokers()))
        except RefusedError as error:
            if error.name != "TOPIC_ALREADY_EXISTS":
                raise
        self.usable()

    def usable(self) -> bool:
        """Return whether the ledger topic exists with usable configs.

        Raises:
            LedgerError: The topic exists with configs that would lose entries.
        """
        found = find(self._admin)
        if found is not None:
            found.require()
            self._admin.identity.use_ledger(found.id)
        return found is not None

    def require_same(self) -> None:
        """Raise if the ledger topic is gone, or was recreated since its first use.

        Raises:
            LedgerGoneError: It was deleted, or another topic has its name.
            ClusterError: The target cannot be asked.
        """
        self._admin.topics.require_ledger()

    def books(self, link: LinkName, *, runs: bool = True) -> LinkBooks:
        """Return all facts about a link, optionally with offset maps; none without a ledger.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry, or the topic is of no use.
        """
        books = LinkBooks(link)
        if self.usable():
            for entry in self.read(wanted=books.wants):
                books.take(entry)
            if runs:
                self.read_runs(books)
        return books

    def read_runs(self, books: LinkBooks) -> None:
        """Read the offset maps of a link, which are far larger than all other entries.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry.
        """
        fresh = Ledger(self._admin, self._client)
        wanted = Runs.kind, books.link
        for tp in {FACTS, self._at(RUNS)}:  # older versions wrote runs among the facts
            for entry in fresh.read(tp, wanted=lambda key: key[:2] == wanted):
                books.take(entry)
        books.runs_read = True

    def read_groups(self, books: LinkBooks) -> None:
        """Read the new entries about consumer groups of a link since the last call.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry.
        """
        wanted = SeenGroup.kind, books.link
        if self._of_groups is None:  # its place may be among entries that this object reads
            self._of_groups = self.another()
        place = self._at(GROUPS)
        for entry in self._of_groups.read(place, wanted=lambda key: key[:2] == wanted):
            books.take(entry)

    @property
    def schemas_apart(self) -> bool:
        """Whether schema entries have their own partition of the ledger, as in newer ledgers."""
        return self._at(SCHEMAS) == SCHEMAS

    def read_schemas(self, books: LinkBooks) -> None:
        """Read the new entries about schemas of a link since the last call.

        Raises:
            NewerLedgerError: A newer version wrote about this link.
            LedgerError: A record is no entry.
        """
        if self.schemas_apart:  # else they are among the facts, which are read anyway
            for entry in self.read(SCHEMAS, wanted=lambda key: key.link == books.link):
                books.take(entry)

    def read_ids(self, link: LinkName, *, wait: float = 0.0) -> list[ReadEntry]:
        """Return the new entries about schema ids since the last call.

        Args:
            link: The link.
            wait: Seconds to wait for the first entry.

        Raises:
            LedgerError: A record has no key of the ledger's.
        """
        wanted = {(kind, link) for kind in _IDS}
        place, found = self._at(SCHEMAS), list[ReadEntry]()
        for tp in (FACTS, place):  # among the facts, before the topic had a partition for them
            if tp == place or tp not in self._read_to:
                patience = wait if tp == place and not found else 0.0
                found += self.read(tp, wait=patience, wanted=lambda key: key[:2] in wanted)
        return found

    def stream_runs(self, link: LinkName) -> Iterator[ReadEntry]:
        """Yield the new chunks of offset maps since the last call, one entry at a time."""
        for _, key, value in self._fetched(self._at(RUNS), 0.0):
            entry = decode(key, value) if decode_key(key)[:2] == (Runs.kind, link) else None
            if entry is not None:
                yield entry

    def read(
        self, tp: TopicPartition = FACTS, *, wait: float = 0.0, wanted: KeyFilter = _is_small
    ) -> list[ReadEntry]:
        """Return the new entries since the last call.

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
        strange: dict[bytes, LedgerError] = {}
        try:
            for offset, key, value in self._fetched(tp, wait):
                try:
                    about = decode_key(key)
                except LedgerError as error:
                    if value is None:  # somebody has deleted the record, as the error asks for
                        strange.pop(key, None)
                    else:
                        strange[key] = error
                    continue
                if wanted(about):
                    slot = key if _only_last_counts(about) else offset
                    found.pop(slot, None)
                    found[slot] = key, value
            for wrong in strange.values():
                raise wrong
        except TowpathError:
            self._read_to.pop(tp, None)
            self._read_to |= {tp: begun} if begun is not None else {}
            raise
        entries = (decode(*record) for record in found.values())
        return [entry for entry in entries if entry is not None]

    def read_about(
        self, tps: Collection[TopicPartition], books: LinkBooks, first: int
    ) -> list[ReadEntry]:
        """Return the entries about source partitions, starting at an offset of the ledger.

        Where this object reads on later stays as it is.
        """
        apart = Ledger(self._admin, self._client, facts_from=first)
        return apart.read(wanted=lambda key: books.wants(key) and key.partition in tps)

    @property
    def facts_end(self) -> int:
        """The ledger offset up to which facts were read."""
        return self._read_to.get(FACTS, 0)

    def _fetched(
        self, tp: TopicPartition, wait: float
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Return offset, key and value of all records up to the end."""
        while True:
            chunk = self._fetch(tp, wait)
            batches = list(split(chunk.batches))
            if not batches:
                return
            for batch in batches:
                yield from self._records(tp, batch)
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
                " partitions stand; delete the topic and the mirror topics to have everything"
                " copied again"
            ) from error

    def _recent(self, tp: TopicPartition) -> int:
        first, end = (
            self._admin.offsets.earliest([tp]).sure(tp),
            self._admin.offsets.latest([tp]).sure(tp),
        )
        return max(first, end - _RECENT)

    def append(self, entries: Iterable[Entry], tp: TopicPartition = FACTS) -> None:
        """Append entries, in order within each ledger partition.

        All are on all in-sync replicas when this returns.
        """
        entries = list(entries)
        sorted_: dict[TopicPartition, list[Entry]] = defaultdict(list)
        for entry in entries:
            place = _place(entry.kind, entry.about())
            sorted_[tp if place is None else self._at(place)].append(entry)
        for at in sorted(sorted_, key=lambda at: at == tp):
            for part in packed(sorted_[at]):
                self._client.produce(at, part)
        self._heard(entries)

    def forget(self, link: LinkName, kept: KeyFilter) -> int:
        """Delete the entries of a link, wherever they are; return how many there were.

        Args:
            link: The link.
            kept: Tells by their keys which entries stay.
        """
        info = self._admin.topics.describe([TOPIC]).get(TOPIC)
        places = [TopicPartition(TOPIC, p.partition) for p in info.partitions] if info else []
        return sum(self.another().forget_in(tp, link, kept) for tp in places)

    def forget_in(self, tp: TopicPartition, link: LinkName, kept: KeyFilter) -> int:
        """Delete the entries of a link in one partition of the ledger; return how many."""
        self._read_to[tp] = self._admin.offsets.earliest([tp]).sure(tp)
        live: dict[EntryKey, None] = {}
        for _, key, value in self._fetched(tp, 0.0):
            about = decode_key(key)
            if value is None:
                live.pop(about, None)
            elif about.link == link and not kept(about):
                live[about] = None
        for part in packed(Removed(key.kind, key.link, key.about) for key in live):
            self._client.produce(tp, part)
        return len(live)

    def _at(self, place: TopicPartition) -> TopicPartition:
        """Return where entries of a kind are, in a lower partition where there is no such one.

        Older versions created topics with fewer partitions.
        """
        if not self._partitions:
            info = self._admin.topics.describe([TOPIC]).get(TOPIC)
            self._partitions = len(info.partitions) if info is not None else 0
        if self._partitions > place.partition:
            return place
        return self._at(RUNS) if place == GROUPS else FACTS

    def _records(
        self, tp: TopicPartition, batch: memoryview
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        for offset, key, value in rows(batch):
            if offset >= self._read_to[tp]:
                yield offset, key, value
        header = BatchHeader.read(batch)
        self._read_to[tp] = header.base_offset + header.last_offset_delta + 1
