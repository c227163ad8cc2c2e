"""The commit log of one region: the authoritative list of an archive's segments.

Entries are objects with ascending numbers, each written only if there is none with its number. So
of several writers one makes a version, and the others read what it did, and judge their own draft
again. Whoever follows the log asks for the next number until there is none: no list is needed, and
nothing has to be told to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock

from towpath.archive.errors import (
    BrokenLogError,
    NoArchiveError,
    NoVersionError,
    WriterReplacedError,
)
from towpath.archive.keys import entry_key, log_prefix
from towpath.archive.log.checkpointing import CheckpointWriting
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.entries import Draft, LogEntry
from towpath.archive.log.rules import Judged, judge, problem_of
from towpath.archive.log.state import ArchiveState
from towpath.archive.log.stored import StoredEntries, StoredEntry
from towpath.archive.model import Segment
from towpath.model.errors import ConfigError, ConfigProblem, StoreError
from towpath.runtime.clock import now_ms
from towpath.settings import StoreLayout
from towpath.store import Store

CHECKPOINT_EACH = 100
"""Versions between two checkpoints; more where a checkpoint is large."""
_SEGMENTS_FOR_A_VERSION = 5_000
_CHANGED = 20_000
"""Segments that change between two checkpoints at most; more where a checkpoint is large."""
_CHANGED_SHARE = 20
_READ_AHEAD = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The result of committing a draft.

    Attributes:
        version: The version that holds it; `None` if nothing of it was left to commit.
        added: The segments that the archive has now, also those that an earlier attempt added.
        dropped: The segments that another writer had made redundant. Nobody needs their objects;
            they are found later as objects that are in no entry.
    """

    version: int | None
    added: tuple[Segment, ...]
    dropped: tuple[Segment, ...]


class CommitLog:
    """An opened commit log, read up to some version. Threads may share it.

    Args:
        store: The store.
        region: The region of the archive.
        state: The state that was read.
        notes: What was wrong with checkpoints that were passed over.

    Attributes:
        store: The store.
        region: The region of the archive.
        notes: What was wrong with checkpoints that were passed over, as sentences.
    """

    def __init__(
        self, store: Store, region: str, state: ArchiveState, notes: Sequence[str] = ()
    ) -> None:
        self.store, self.region, self.notes = store, region, tuple(notes)
        self._state, self._checkpoint = state, state.version
        self._changed = 0
        self._lock = RLock()
        self._writing = CheckpointWriting(store, region, self._adopt, self._not_written)
        self._unsure = False
        self._entries = StoredEntries(store, region)
        self._seen = 0, ""
        """The last version that was read or written as an entry, and the tag of its object."""

    @classmethod
    def open(cls, store: Store, region: str, *, arriving: bool = False) -> CommitLog:
        """Open an existing log and read it to its end.

        Args:
            store: The store.
            region: The region of the archive.
            arriving: Whether others copy the objects there, in any order. Then the log ends for
                now in front of the first entry that is missing (`missing`).

        Raises:
            NoArchiveError: It has none.
            BrokenLogError: An entry is missing, or contradicts those before it.
            NewerArchiveError: An entry was written in a newer format.
            StoreError: The store could not be read.
        """
        log = cls._read(store, region, arriving=arriving)
        if not log.state.version:
            raise NoArchiveError(log.where)
        return log

    @classmethod
    def open_or_begin(cls, store: Store, region: str) -> CommitLog:
        """Open a log for writing; the log is empty if no archive exists.

        Raises:
            BrokenLogError: An entry is missing, or contradicts those before it.
            NewerArchiveError: An entry was written in a newer format.
            StoreRefusedError: The store does not keep two writers apart.
            StoreError: The store could not be read or written.
        """
        log = cls._read(store, region)
        log.require_tip()
        store.require_conditions()
        store.require_lock()
        return log

    @classmethod
    def _read(cls, store: Store, region: str, *, arriving: bool = False) -> CommitLog:
        require_archive(store)
        checkpoints = LogCheckpoints(store, region)
        log = cls(store, region, checkpoints.newest(), checkpoints.notes)
        log.follow()
        if not arriving and log.missing() is not None:
            raise log._entries.missing(log.state.version + 1)
        if not arriving:
            log._note_tip()
        return log

    @property
    def where(self) -> str:
        """The log as a URL."""
        return f"{self.store.config.url}/{log_prefix(self.region)}"

    @property
    def state(self) -> ArchiveState:
        """The state as of the last version that was read or written."""
        return self._state

    def follow(self) -> tuple[LogEntry, ...]:
        """Read and return the entries that were added since the last read.

        Raises:
            BrokenLogError: An entry contradicts those before it.
            NewerArchiveError: An entry was written in a newer format.
            StoreError: The store could not be read.
        """
        found: list[LogEntry] = []
        with self._lock:
            at_once = 1
            while some := self._next(at_once):
                found += some
                at_once = _READ_AHEAD  # it is behind
            self._unsure = False
        return tuple(found)

    def missing(self) -> int | None:
        """Return the next version if its entry is missing although later ones exist, else `None`.

        A list of the keys behind the end tells. Whoever changed or deleted an entry, or copies the
        objects to another store and has not copied this one yet, is to be asked.

        Raises:
            BrokenLogError: An entry contradicts those before it.
            NewerArchiveError: An entry was written in a newer format.
            StoreError: The store could not be read.
        """
        last = entry_key(self.region, self._state.version)
        prefix = log_prefix(self.region)
        for each in self.store.list(prefix, after=last):
            if each.key.removeprefix(prefix).removesuffix(".json").isdigit():
                self.follow()  # it may have been written just now
                version = self._state.version
                return version + 1 if entry_key(self.region, version) < each.key else None
            return None
        return None

    def append(self, draft: Draft) -> Committed:
        """Commit a draft as the next version.

        What another writer made redundant meanwhile is dropped. If an error of the store leaves it
        open whether the version was written, the next call finds out.

        Raises:
            WriterReplacedError: Another process does this work now.
            CommitRefusedError: The draft contradicts the archive, or itself.
            BrokenLogError: An entry contradicts those before it, or the last one is gone.
            StoreError: The store could not be written.
        """
        with self._lock:
            raced = bool(self.follow()) if self._unsure else False
            while True:
                self._require_not_replaced(draft)
                judged = judge(self._state, draft, raced=raced)
                if judged.says_nothing:
                    return Committed(version=None, added=judged.known, dropped=judged.dropped)
                if self._written(judged):
                    self._keep_checkpoint()
                    return Committed(
                        version=self._state.version,
                        added=(*judged.known, *judged.draft.add),
                        dropped=judged.dropped,
                    )
                self.follow()
                raced = True

    def as_of(self, version: int) -> ArchiveState:
        """Return the state as of an older version.

        Raises:
            BrokenLogError: An entry is missing.
            NoVersionError: There is no such version.
            StoreError: The store could not be read.
        """
        if not 0 < version <= self._state.version:
            why = f"there is no version {version}; the newest one is {self._state.version}"
            raise NoVersionError(self.where, why)
        past = CommitLog(
            self.store, self.region, LogCheckpoints(self.store, self.region).newest(version)
        )
        while past.state.version < version:
            left = version - past.state.version
            if not past._next(min(left, _READ_AHEAD)):
                raise past._entries.missing(past.state.version + 1)
        return past.state

    def version_at(self, time: int) -> int:
        """Return the last version written up to a time, in ms; 0 if there is none.

        Raises:
            BrokenLogError: An entry is missing.
            StoreError: The store could not be read.
        """
        low, high = 0, self._state.version
        if time >= self._state.time:
            return high
        while high - low > 1:
            middle = (low + high) // 2
            if self.entry(middle).time <= time:
                low = middle
            else:
                high = middle
        return low

    def entry(self, version: int) -> LogEntry:
        """Return the entry of an earlier version.

        Raises:
            BrokenLogError: It is missing.
            StoreError: The store could not be read.
        """
        found = self._entries.get(version)
        if found is None:
            raise self._entries.missing(version)
        return found.entry

    def checkpoint(self) -> None:
        """Write a checkpoint, so that the log opens faster.

        Raises:
            StoreError: The store could not be written.
        """
        self.settle()
        with self._lock:
            self._state = LogCheckpoints(self.store, self.region).write(self._state)
            self._checkpoint, self._changed = self._state.version, 0

    def settle(self) -> None:
        """Wait until no checkpoint is being written, as before the store is closed."""
        self._writing.settle()

    def _keep_checkpoint(self) -> None:
        """Begin a checkpoint when reading what came since would take as long as reading it."""
        if self._writing.busy:
            return
        state, size = self._state, len(self._state.base)
        versions = max(CHECKPOINT_EACH, size // _SEGMENTS_FOR_A_VERSION)
        changed = max(_CHANGED, size // _CHANGED_SHARE)
        if state.version - self._checkpoint >= versions or self._changed >= changed:
            self._writing.begin(state)

    def _adopt(self, state: ArchiveState) -> None:
        """Go on from a state that was written, with all that was taken in meanwhile."""
        with self._lock:
            since = self._writing.taken()
            self._state = state.after(since)
            self._checkpoint = state.version
            self._changed = sum(len(entry.add) + len(entry.remove) for entry, _ in since)

    def _not_written(self, error: StoreError) -> None:
        """Say why no checkpoint was written; the next commit tries again."""
        with self._lock:
            self._writing.taken()
            self.notes = (f"no checkpoint was written: {error}",)

    def _written(self, judged: Judged) -> bool:
        """Write the next entry; return whether there was none."""
        state, draft = self._state, judged.draft
        entry = LogEntry(
            version=state.version + 1,
            time=max(now_ms(), state.time),
            writer=draft.writer,
            before=state.tip,
            kind=draft.kind,
            add=draft.add,
            remove=draft.remove,
            partitions=draft.partitions,
            captures=draft.captures,
            swept=draft.swept,
        )
        self.require_tip()
        self._unsure = True
        made = self._entries.put_new(entry)
        if made is None:
            return False
        self._unsure = False
        self._take(made)
        return True

    def require_tip(self) -> None:
        """Check that the store still has the last entry that was read or written.

        Where the store was set back meanwhile, objects may be needed that are replaced here.

        Raises:
            BrokenLogError: It is not.
            StoreError: The store could not be read.
        """
        version, (seen, tag) = self._state.version, self._seen
        if version:
            known = tag if seen == version else ""
            self._seen = version, self._entries.require_same(version, self._state.tip, known)

    def _note_tip(self) -> None:
        """Note if the last entry is not there, or another one, and only a checkpoint told of it."""
        try:
            self.require_tip()
        except BrokenLogError as error:
            self.notes += (str(error),)

    def _take(self, stored: StoredEntry) -> None:
        entry, tip = stored.entry, stored.hash
        self._state = self._state.after([(entry, tip)])
        self._changed += len(entry.add) + len(entry.remove)
        self._writing.took(entry, tip)
        self._seen = entry.version, stored.tag

    def _next(self, most: int) -> list[LogEntry]:
        """Take in up to so many entries that follow, and return them."""
        found: list[LogEntry] = []
        for each in self._entries.behind(self._state.version, most):
            if problem := problem_of(self._state, each.entry):
                raise self._entries.broken(self._state.version + 1, problem)
            self._take(each)
            found.append(each.entry)
        return found

    def _require_not_replaced(self, draft: Draft) -> None:
        last = self._state.writers.get(draft.writer.work)
        if last is not None and last.epoch > draft.writer.epoch:
            raise WriterReplacedError(self.where, draft.writer.work, last.host)


def require_archive(store: Store) -> None:
    """Check that a store belongs to an archive, and not to another program.

    Raises:
        ConfigError: It is not.
    """
    if store.config.layout is not StoreLayout.ARCHIVE:
        text = f"is {store.config.layout}, which only `towpath restore` reads"
        raise ConfigError((ConfigProblem("store.layout", text),))
