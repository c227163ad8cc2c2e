"""Connections of a link: both clusters, and the ledger on the target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace

from towpath import __version__
from towpath.cluster.admin import Admin
from towpath.cluster.codes import TOPIC_AUTHORIZATION_FAILED
from towpath.cluster.connect.identity import ClusterIdentity
from towpath.cluster.data.client import Client
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    CHANGES_LEVEL,
    TWIN_LEVEL,
    UNCHANGED_LEVEL,
    Entry,
    LinkIdentity,
    Twinned,
)
from towpath.ledger.event_log import EventLog
from towpath.ledger.ledger import Ledger
from towpath.ledger.transformed import positions_topic
from towpath.model.errors import LedgerError, RefusedError
from towpath.model.nouns import NO_LINK, LinkName, Side
from towpath.runtime.clock import now_ms
from towpath.settings import ClusterConfig, LinkConfig


@dataclass(frozen=True, slots=True)
class Known:
    """Ledger entries that another thread has read already.

    Attributes:
        books: What the ledger knew then. They belong to whoever gets them.
        facts_end: The ledger offset of the first fact that they lack.
        source: The ids that the source must keep, `None` to take what it tells first.
        target: The same of the target.
    """

    books: LinkBooks
    facts_end: int = 0
    source: ClusterIdentity | None = None
    target: ClusterIdentity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTarget:
    """An open target cluster, and the name under which its ledger keeps progress.

    Attributes:
        name: The link, or the restore.
        where: Where the target is.
        target: The cluster to write to.
        ledger: The target's ledger.
        events: What was done, for the topic of events.
        books: What the ledger knows of the link or the restore, as far as `read` was called.
    """

    name: LinkName
    where: ClusterConfig
    target: Admin
    ledger: Ledger
    events: EventLog
    books: LinkBooks

    def read(self) -> None:
        """Read the new ledger entries since the last call."""
        for entry in self.ledger.read(wanted=self.books.wants):
            self.books.take(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLink(OpenTarget):
    """An open link: both clusters, the ledger and the events.

    Attributes:
        config: The file.
        source: The cluster to read from.
    """

    config: LinkConfig
    source: Admin

    def prepare(self) -> None:
        """Create the ledger if it is missing, and record which clusters the link joins.

        Raises:
            ClusterError: The target refuses the ledger.
            LedgerError: The ledger is of no use, the link joins other clusters, or it needs a newer
                version.
            LinkSealedError: The link is sealed or failed over.
        """
        self.ledger.create()
        self.read()
        self.books.require_open()
        if self.config.transforms is None:
            self._require_untransformed()
        source, target = self.source.cluster.id(), self.target.cluster.id()
        self.books.check_clusters(source, target)
        known, missing = self.books.identity, list[Entry]()
        if known is None or known.level < self._level:
            missing += [LinkIdentity(self.config.link, source, target, self._level, __version__)]
        twin = self.config.topics.twin or NO_LINK
        if twin != self.books.twin:
            missing += [Twinned(link=self.config.link, twin=twin, at=now_ms())]
        if missing:
            self.ledger.append(missing)

    def _require_untransformed(self) -> None:
        """Raise if records of the link went through Spark so far: all would be copied again.

        A login that may not see the topic of positions has none: it could not have written it.
        """
        name = positions_topic(self.config.link)
        try:
            found = self.target.topics.find(name)
        except RefusedError as error:
            if error.error != TOPIC_AUTHORIZATION_FAILED:
                raise
            found = None
        if found is not None:
            raise LedgerError(
                f"records of link {self.config.link} went through a query so far (topic {name} on"
                " the target has its positions); to copy them as they are, give the link another"
                " name, and its mirror topics too"
            )

    @property
    def _level(self) -> int:
        """The feature level that a program needs to work on the link as the file has it."""
        if self.config.topics.twin:
            return TWIN_LEVEL
        return CHANGES_LEVEL if self.config.changes_records else UNCHANGED_LEVEL

    def raise_level(self, level: int) -> None:
        """Make programs refuse the link that do not know a feature level; it is never lowered.

        Args:
            level: The level that a program needs from now on.

        Raises:
            ClusterError: The ledger refuses the entry.
        """
        known = self.books.identity
        if known is not None and known.level < level:
            raised = replace(known, level=level, version=__version__)
            self.ledger.append([raised])
            self.books.take(raised)

    def look(self) -> None:
        """Read the ledger without writing anything; do nothing if it does not exist.

        Raises:
            LedgerError: The ledger is of no use, or the link joins other clusters.
        """
        if self.ledger.usable():
            self.read()
        self.books.check_clusters(self.source.cluster.id(), self.target.cluster.id())

    def read(self) -> None:
        """Read the new ledger entries since the last call."""
        OpenTarget.read(self)  # `super` does not know a class with slots
        if self.config.schemas is not None:
            self.ledger.read_schemas(self.books)

    def known(self) -> Known:
        """Return the ledger entries read so far, for another thread."""
        ids = self.source.identity, self.target.identity
        return Known(self.books.copy(), self.ledger.facts_end, *ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemasLink(OpenLink):
    """An open link for work on schemas alone, which reads no facts about partitions."""

    def read(self) -> None:
        """Read the new ledger entries about schemas since the last call."""
        if self.ledger.schemas_apart:
            self.ledger.read_schemas(self.books)
        else:
            OpenTarget.read(self)


@contextmanager
def open_events(config: LinkConfig) -> Iterator[EventLog]:
    """Open the event log of a link alone; remaining events are written at the end."""
    with Admin(config.target, Side.TARGET) as target:
        events = EventLog(config.target, target, config.link)
        try:
            yield events
        finally:
            events.close()


@contextmanager
def open_target(name: LinkName, where: ClusterConfig) -> Iterator[OpenTarget]:
    """Open a target. Connections are made on first use and closed at the end."""
    with ExitStack() as stack:
        target = stack.enter_context(Admin(where, Side.TARGET))
        client = stack.enter_context(Client(where, Side.TARGET, target))
        events = EventLog(where, target, name)
        stack.callback(events.close)
        yield OpenTarget(
            name=name,
            where=where,
            target=target,
            ledger=Ledger(target, client, events.heard),
            events=events,
            books=LinkBooks(name),
        )


@contextmanager
def open_link(config: LinkConfig) -> Iterator[OpenLink]:
    """Open a link. Connections are made on first use and closed at the end."""
    with _opened(config, OpenLink) as link:
        yield link


@contextmanager
def open_schemas(config: LinkConfig) -> Iterator[OpenLink]:
    """Open a link for work on schemas alone, with connections and books of its own."""
    with _opened(config, SchemasLink) as link:
        yield link


@contextmanager
def _opened(config: LinkConfig, kind: type[OpenLink]) -> Iterator[OpenLink]:
    with Admin(config.source, Side.SOURCE) as source, open_target(config.link, config.target) as to:
        yield kind(
            config=config,
            source=source,
            **{each.name: getattr(to, each.name) for each in fields(to)},
        )
