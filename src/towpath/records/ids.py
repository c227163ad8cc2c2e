"""Schema id decisions for the lanes of one slice (docs/decisions/0035).

One thread reads the decisions in the ledger. An id without one is asked for there, and only the
lanes whose records name it wait. A slice registers nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.books.id_table import IdTables
from towpath.ledger.books.ids import IdBooks, SchemaName, written_id
from towpath.ledger.entries import (
    AwaitedIds,
    DecidedIds,
    Entry,
    RefusedIds,
    Removed,
    Unreadable,
)
from towpath.ledger.keys import new_name
from towpath.ledger.ledger import Ledger
from towpath.model.changes import IdChange, RecordChange
from towpath.model.errors import TowpathError, UnknownIdsError
from towpath.model.nouns import Side, TopicPartition
from towpath.model.reasons import Reason, ReasonCode
from towpath.model.subjects import KEY, VALUE, has_ids, strategy_of
from towpath.records.change_services import Ready
from towpath.records.work import Assignment, Slice
from towpath.runtime.clock import now_ms
from towpath.wire.ids import IdTable

if TYPE_CHECKING:
    from towpath.wire.change import UnknownId

_WAIT = 1.0
_GRACE = 15.0
"""Seconds after the bound in which the run may answer, as it knows more of why an id is unknown."""
_REPEATED = 10.0
"""Seconds after which a question is asked again: another slice may have removed it."""
_NAMED = 5
_NO_IDS = IdTable.of()
_UNANSWERED = Reason.of(ReasonCode.SCHEMA_ID_UNANSWERED)


class SliceIds:
    """Reads schema id decisions from the ledger, and requests missing ones.

    Args:
        work: The slice.
        target: The control plane of the target.
    """

    def __init__(self, work: Slice, target: Admin) -> None:
        self._work, self._target = work, target
        self._on_news: Callable[[], None] = lambda: None
        self.books = IdBooks()
        self._tables = IdTables(self.books)
        self.lock = threading.Lock()
        self._writing = threading.Lock()
        self._reader = Client(work.target, Side.TARGET, target)
        self._writer = Client(work.target, Side.TARGET, target)
        self._written = Ledger(target, self._writer)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._read, name="towpath-ids", daemon=True)
        self.waiting = 0
        self.caught_up = False
        self.error: TowpathError | None = None

    def listen(self, on_news: Callable[[], None]) -> None:
        """Set the callback for news that waiting lanes should check; another thread calls it."""
        self._on_news = on_news

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._closed.set()
        self._reader.close()
        if self._thread.is_alive():
            self._thread.join()
        with self._writing:
            self._writer.close()

    def table(self, a: Assignment, change: RecordChange) -> IdTable:
        """Return the known schema id decisions for a partition, without blocking."""
        with self.lock:
            if self._thread.ident is None and not self._closed.is_set():
                self._thread.start()
            return _NO_IDS if change.ids is None else self._tables.of(a.source.topic, change.ids)

    def want(self, a: Assignment, change: RecordChange, unknown: Sequence[UnknownId]) -> Ready:
        """Request decisions about schema ids, without blocking."""
        self.waiting += 1
        return _Want(self, self._work, a.source, change.ids or IdChange(), unknown).ready

    def write(self, entry: Entry) -> None:
        """Append an entry to the ledger. Blocking.

        Raises:
            ClusterError: The target could not be reached, or refused.
        """
        with self._writing:
            self._written.append([entry])

    def _read(self) -> None:
        ledger = Ledger(self._target, self._reader)
        while not self._closed.is_set():
            try:
                entries = ledger.read_ids(self._work.link, wait=_WAIT)
            except TowpathError:
                self._closed.wait(_WAIT)
                continue
            with self.lock:
                for entry in entries:
                    if isinstance(entry, Unreadable):
                        self.error = entry.error
                    elif isinstance(entry, DecidedIds | AwaitedIds | RefusedIds | Removed):
                        self.books.take(entry)
                self.caught_up = True
            if self.waiting:
                self._on_news()


class _Want:
    """Ids that one partition waits for. `ready` is called by one thread at a time."""

    def __init__(
        self,
        ids: SliceIds,
        work: Slice,
        tp: TopicPartition,
        change: IdChange,
        unknown: Sequence[UnknownId],
    ) -> None:
        self._ids, self._work, self._tp, self._change = ids, work, tp, change
        self._unknown = tuple(dict.fromkeys((each.part, each.name) for each in unknown))
        self._name, self._since, self._asked = new_name(), 0.0, 0.0

    def ready(self) -> bool:
        """Request the decisions once, then return whether all are there.

        Raises:
            ClusterError: The target could not be asked.
            LedgerError: The ledger cannot be read.
            UnknownIdsError: Nothing may pass, and an id stays unknown.
        """
        with self._ids.lock:
            error, open_ = self._ids.error, list(self._undecided())
            refused = self._ids.books.refused.get(self._tp)
        if error is not None:
            raise error
        if not open_:
            self._over()
            return True
        if refused is not None and refused.name == self._name:
            raise self._refused(open_, refused.why)
        if self._ids.caught_up:
            self._ask(open_)
        return False

    def _undecided(self) -> Iterator[tuple[str, SchemaName]]:
        for part, name in self._unknown:
            strategy, books = strategy_of(self._change, part), self._ids.books
            wanted = has_ids(self._change, part)
            if wanted and not books.is_decided(strategy, self._tp.topic, part, name):
                yield part, name

    def _ask(self, open_: Sequence[tuple[str, SchemaName]]) -> None:
        """Ask for decisions.

        Raises:
            UnknownIdsError: The run does not answer. Nothing is decided then, as a decision holds
                for ever.
        """
        now = time.monotonic()
        self._since = self._since or now
        if now - self._since > self._change.wait_ms / 1000 + _GRACE:
            raise self._refused(open_, _UNANSWERED)
        if not self._asked or now - self._asked > _REPEATED:
            self._ids.write(self._awaited(open_))
            self._asked = now

    def _refused(self, open_: Sequence[tuple[str, SchemaName]], why: Reason) -> UnknownIdsError:
        self._over()
        return UnknownIdsError(_told(open_), why)

    def _over(self) -> None:
        self._ids.waiting -= 1
        if self._asked:
            about = self._tp.topic, self._tp.partition
            with suppress(TowpathError):  # then it is replaced by the next one of the partition
                self._ids.write(Removed(AwaitedIds.kind, self._work.link, about))

    def _awaited(self, open_: Sequence[tuple[str, SchemaName]]) -> AwaitedIds:
        return AwaitedIds(
            link=self._work.link,
            topic=self._tp.topic,
            partition=self._tp.partition,
            name=self._name,
            at=now_ms(),
            keys=tuple(written_id(name) for part, name in open_ if part == KEY),
            values=tuple(written_id(name) for part, name in open_ if part == VALUE),
        )


def _told(ids: Sequence[tuple[str, SchemaName]]) -> str:
    named = ", ".join(f"schema id {name} in {part}s" for part, name in ids[:_NAMED])
    return named + (" and others" if len(ids) > _NAMED else "")
