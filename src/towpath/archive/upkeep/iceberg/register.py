"""`towpath archive register`: register an archive's files in a catalog, topic by topic.

What is registered is made from the commit log each time: the files that a table lacks are added,
and those that are none of the archive any more go. So a registration that failed, or that was left
out, is made up for by the next one. It is apart from the run of the archive, which never waits for
a catalog.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from towpath.archive.config import ArchiveConfig
from towpath.archive.keys import quoted, registered_prefix
from towpath.archive.log import Archive, ArchiveReading, CommitLog
from towpath.archive.log.lease import HeldArchive
from towpath.archive.model import PartitionId
from towpath.archive.upkeep.iceberg.table_files import TableFiles, TopicObjects, objects_of
from towpath.archive.upkeep.iceberg.tables import IcebergTables, TableChanges, TableContent
from towpath.model.errors import ConfigError, ConfigProblem, StoreError, TowpathError
from towpath.model.nouns import TopicId, TopicName
from towpath.runtime.clock import now_ms
from towpath.settings import StoreConfig
from towpath.store import Store, hasty

WORK = "register"
OnDone = Callable[[int, int], None]
_KEPT = 86_400_000
"""Milliseconds for which copies are kept at least, for readers of older snapshots of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRegistration:
    """The result of registering the table of one topic.

    Attributes:
        topic: The topic.
        table: The name of its table.
        files: Number of files that the table has.
        records: Number of records that they have.
        changes: What was changed.
        copies: Number of new or changed files that are copies, as an object has other row groups.
        skipped: Number of segments of whole batches, which no table can have.
        skipped_records: Number of their records.
        why: Why it could not be registered, "" if it was.
    """

    topic: TopicName
    table: str
    files: int = 0
    records: int = 0
    changes: TableChanges = TableChanges()  # noqa: RUF009  # it is frozen
    copies: int = 0
    skipped: int = 0
    skipped_records: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """The result of registering all topics as of a version.

    Attributes:
        version: The version of the commit log.
        tables: The tables, by topic.
        topics: How many topics there are; more than tables if it was stopped.
    """

    version: int
    tables: tuple[TableRegistration, ...]
    topics: int

    @property
    def complete(self) -> bool:
        """Whether each topic has a table with all of its records."""
        return self.current and not any(each.skipped for each in self.tables)

    @property
    def current(self) -> bool:
        """Whether no table names a file that the archive no longer has."""
        return len(self.tables) == self.topics and not any(each.why for each in self.tables)


ShowRound = Callable[["Registration | StoreError"], None]


def register(config: ArchiveConfig, on_done: OnDone = lambda _done, _all: None) -> Registration:
    """Register the files of an archive in its catalog once.

    A topic that cannot be registered holds up no other.

    Args:
        config: The archive.
        on_done: Told how many tables are done, and how many there are.

    Raises:
        ConfigError: The file names no catalog, or pyiceberg is not installed.
        CatalogError: The catalog cannot be used.
        CommitLogError: There is no archive, or its log cannot be used.
        ArchiveHeldError: Another process registers it now.
        StoreError: The store cannot be used.
    """
    with _opened(config, config.store, threading.Event()) as work:
        return work.once(on_done)


def keep_registered(
    config: ArchiveConfig, every: float, stop: threading.Event, show: ShowRound
) -> Registration:
    """Register the files of an archive repeatedly until stopped; return the last result.

    A store that fails after the first round is told, and asked again in the next one. Objects that
    tables still name stay, as it is a reader of the archive.

    Args:
        config: The archive.
        every: Seconds between two rounds.
        stop: Set to end between two topics.
        show: Told what each round did, or why it could not.

    Raises:
        TowpathError: As `register` raises them: in the first round, or if another process has
            taken the right to register.
    """
    with _opened(config, hasty(config.store), stop) as work:
        done = work.once()
        show(done)
        while not stop.wait(every):
            try:
                done = work.once()
            except StoreError as error:
                show(error)
            else:
                show(done)
        return done


@contextmanager
def _opened(
    config: ArchiveConfig, store_config: StoreConfig, stop: threading.Event
) -> Iterator[_Registering]:
    """Open the archive and its catalog, and hold the right to register."""
    if config.iceberg is None:
        text = "is missing: name the catalog whose tables the files become"
        raise ConfigError((ConfigProblem("iceberg", text),))
    with (
        Store(store_config) as store,
        ArchiveReading(store, config.region, WORK) as reading,
    ):
        log = CommitLog.open(store, config.region)
        location = f"{_base(store)}/{quoted(config.region)}/_iceberg/_tables"
        tables = IcebergTables(config.iceberg, config.store, location)
        held = HeldArchive(store, config.archive, config.region, WORK, WORK, stop)
        with held:
            yield _Registering(log, tables, held, reading, stop)


class _Registering:
    def __init__(
        self,
        log: CommitLog,
        tables: IcebergTables,
        held: HeldArchive,
        reading: ArchiveReading,
        stop: threading.Event,
    ) -> None:
        self._log, self._tables, self._held, self._stop = log, tables, held, stop
        self._reading = reading
        self._store, self._region = log.store, log.region
        self._base = _base(log.store)

    def once(self, on_done: OnDone = lambda _done, _all: None) -> Registration:
        """Register all topics as of the newest version."""
        self._held.require()
        self._log.follow()
        partitions: defaultdict[TopicId, set[PartitionId]] = defaultdict(set)
        self._archive = Archive(self._log, self._log.state)
        for each in self._archive.partitions():
            partitions[each.source.topic_id].add(each)
        topics = sorted(self._archive.topics().items())
        tables: list[TableRegistration] = []
        for topic, ids in topics:
            if self._stop.is_set():
                break
            tables.append(self._topic(topic, ids[-1], partitions[ids[-1]]))
            on_done(len(tables), len(topics))
        done = Registration(self._log.state.version, tuple(tables), len(topics))
        if done.current:
            with suppress(StoreError):  # the next sign of life says so
                self._reading.passed(done.version)
        return done

    def _topic(
        self, topic: TopicName, number: TopicId, partitions: set[PartitionId]
    ) -> TableRegistration:
        name, state = self._tables.name_of(topic), self._log.state
        found = objects_of(self._archive, partitions)
        files: list[str] = []

        def places(there: Collection[str]) -> list[str]:
            files.extend(self._keys(topic, found, there))
            return [f"{self._base}/{key}" for key in files]

        try:
            content = TableContent(self._log.where, number, state.version, found.digest)
            changes = self._tables.register(topic, content, places)
            if changes.removed:
                self._forget_copies(topic, files)
        except TowpathError as error:
            return TableRegistration(topic=topic, table=name, why=str(error))
        return TableRegistration(
            topic=topic,
            table=name,
            files=len(found.objects),
            records=sum(each.records for each in found.objects.values()),
            changes=changes,
            copies=sum(key not in found.objects for key in files),
            skipped=found.batches,
            skipped_records=found.batch_records,
        )

    def _keys(self, topic: TopicName, found: TopicObjects, there: Collection[str]) -> list[str]:
        """Return the keys of the files of a table."""
        known = {each.removeprefix(f"{self._base}/") for each in there}
        files = TableFiles(self._store, self._region, topic, self._log.state.removed)
        objects = found.objects.values()
        return [*self._store.threads.map(lambda each: files.key(each, known), objects)]

    def _forget_copies(self, topic: TopicName, files: Collection[str]) -> None:
        """Delete old copies that the table does not need any more."""
        before = now_ms() - _KEPT
        found = self._store.list(registered_prefix(self._region, topic))
        old = [each.key for each in found if each.modified < before]
        self._store.delete(key for key in old if key.endswith(".parquet") and key not in files)


def _base(store: Store) -> str:
    """Return the place of a store as paths of Iceberg begin, which are not quoted."""
    config = store.config
    if config.bucket:
        return config.url
    return f"file://{config.prefix}".rstrip("/")
