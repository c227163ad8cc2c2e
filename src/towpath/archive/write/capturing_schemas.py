"""Captures of changed subjects of a schema registry.

A registry may take minutes for an answer, so a thread of its own looks at it. What it finds is
written to the store first, as objects that no version names yet; the run then commits which they
are. A process that dies in between leaves objects that nobody reads.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping

from towpath.archive.config import ArchivedSchemas
from towpath.archive.log import ArchiveState, Capture
from towpath.archive.log.schema_parts import (
    ArchivedSubject,
    ArchivedVersion,
    SchemaPart,
    captured_parts,
    captured_registry,
    packed,
    part_of,
    registry_capture,
)
from towpath.archive.log.schema_reading import read_part
from towpath.archive.write.schema_looks import Known, KnownSubject, KnownVersion, SubjectLook
from towpath.model.errors import ClusterError, TowpathError
from towpath.model.foreign import foreign
from towpath.model.nouns import Side
from towpath.model.schemas import Schema, SchemaVersion, SubjectName
from towpath.registry.asking import answers
from towpath.registry.pool import AskingPool
from towpath.registry.registry import Registry
from towpath.schemas.observed_schemas import SeenVersion
from towpath.store import Store

_NAME = "towpath-archived-schemas"
_END = 5.0
"""Seconds for which a run that ends waits for the thread."""


class SchemaCaptures:
    """Finds subjects that changed since the last capture, in a thread.

    Args:
        wanted: Which subjects, and of which registry; `None` for none.
        store: The store.
        region: The region of the archive.
        state: The archive when the run begins.
        where: Its commit log, for messages.
        news: Called in another thread when a look has ended.

    Attributes:
        trouble: Why the last look failed, "" if it did not.
        untold: Sentences about what the last look could not read.
        notes: What a person should know besides.
        settled: Whether a look has ended since the run began, well or not.

    Raises:
        BrokenLogError: A capture of the archive cannot be read.
    """

    def __init__(
        self,
        wanted: ArchivedSchemas | None,
        store: Store,
        region: str,
        state: ArchiveState,
        where: str,
        news: Callable[[], None] = lambda: None,
    ) -> None:
        self._wanted, self._news = wanted, news
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._fresh: dict[tuple[str, str], Capture] = {}
        self._thread: threading.Thread | None = None
        self._registry: Registry | None = None
        self._kept = KeptSchemas(store, region, captured_parts(state, where))
        self._before = captured_registry(state)
        self.trouble, self.settled = "", wanted is None
        self.untold: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()

    def changed(self) -> list[Capture]:
        """Return new captures once each. Never raises, as records are archived in any case."""
        if self._wanted is None:
            return []
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, args=(self._wanted,), name=_NAME, daemon=True
            )
            self._thread.start()
        with self._lock:
            found, self._fresh = [*self._fresh.values()], {}
        return found

    def close(self) -> None:
        """Stop the thread."""
        self._closed.set()
        if self._registry is not None:
            self._registry.stop()
        if self._thread is not None:
            self._thread.join(_END)

    def _run(self, wanted: ArchivedSchemas) -> None:
        try:
            with AskingPool(wanted.max_requests, _NAME) as pool:
                self._registry = Registry(wanted.source, Side.SOURCE, wanted.max_requests)
                look = SubjectLook(wanted, self._registry, pool)
                while not self._closed.is_set():
                    self._tried(wanted.source.url[0], look)
                    self._closed.wait(wanted.interval)
                self._registry.close()
        except Exception as error:
            self.trouble = foreign(error)
            raise
        finally:
            self.settled = True
            self._news()

    def _tried(self, url: str, look: SubjectLook) -> None:
        try:
            fresh = self._kept.take(look)
            if self._before != url:
                fresh.append(self._moved(url))
            with self._lock:
                self._fresh |= {(each.kind, each.name): each for each in fresh}
            self.trouble, self.untold = "", tuple(look.untold)
        except TowpathError as error:
            self.trouble = "" if self._closed.is_set() else str(error)
        self.settled = True
        self._news()

    def _moved(self, url: str) -> Capture:
        """Return which registry is archived now; tell it if it was another one."""
        if self._before:
            self.notes = (
                f"schemas are archived of the registry {url} now, and were of {self._before}; where"
                " both have a version of a subject, this archive has that of the new registry from"
                " now on, and older versions of the archive have that of the old one",
            )
        self._before = url
        return registry_capture(url)


class KeptSchemas:
    """The archived subjects, and the objects that hold them.

    Args:
        store: The store.
        region: The region of the archive.
        parts: The parts as they are archived.
    """

    def __init__(self, store: Store, region: str, parts: Mapping[str, SchemaPart]) -> None:
        self._store, self._region = store, region
        self._parts = dict(parts)
        self._known: dict[SubjectName, KnownSubject] | None = None
        self._fresh: dict[str, Capture] = {}

    def take(self, look: SubjectLook) -> list[Capture]:
        """Write changed subjects to the store, and return captures of the changed parts.

        All that one look has found is returned together, also by the next call after an error.

        Raises:
            BrokenLogError: What was archived before cannot be read.
            ClusterError: The registry cannot be asked.
            StoreError: The store cannot be used.
        """
        if self._known is None:
            self._known = self._read()
        known = self._known
        by_part: defaultdict[str, dict[SubjectName, KnownSubject]] = defaultdict(dict)
        found = look.look(known)
        for name, each in found.items():
            by_part[part_of(name)][name] = each
        for part in sorted({part_of(n) for n, each in found.items() if known.get(n) != each}):
            made = self._written(part, by_part[part], look)
            if made is not None:
                self._parts[part], self._fresh[part] = made, made.capture(part)
                known |= by_part[part]
        fresh, self._fresh = [*self._fresh.values()], {}
        return fresh

    def _read(self) -> dict[SubjectName, KnownSubject]:
        """Return the archived subjects, without texts."""
        return {
            name: _known(each)
            for part in self._parts.values()
            for name, each in read_part(self._store, part).items()
        }

    def _written(self, part: str, subjects: Known, look: SubjectLook) -> SchemaPart | None:
        """Write a part; return `None` if something of it cannot be read now."""
        before = read_part(self._store, self._parts[part]) if part in self._parts else {}
        texts = {
            SchemaVersion(name, number): each.schema
            for name, subject in before.items()
            for number, each in subject.versions.items()
        }
        lacking = [
            at
            for at, standing in _standings(subjects)
            if at not in texts or _seen(before[at.subject].versions[at.version]) != standing.seen
        ]
        for at, answer in answers(look.pool, lacking, look.whole):
            if isinstance(answer, ClusterError):
                look.untold.append(f"{at} is not archived yet: {answer}")
                return None
            if answer is None or answer[0] != subjects[at.subject].versions[at.version].seen:
                return None  # it has changed since; the next look takes it
            texts[at] = answer[1]
        made, data = packed(self._region, part, _whole(subjects, texts))
        self._store.put(made.object, data, lock=True)
        return made


def _standings(subjects: Known) -> list[tuple[SchemaVersion, KnownVersion]]:
    return [
        (SchemaVersion(name, number), each)
        for name, subject in subjects.items()
        for number, each in subject.versions.items()
    ]


def _known(subject: ArchivedSubject) -> KnownSubject:
    versions = subject.versions.items()
    found = {
        number: KnownVersion(_seen(each), each.deleted, each.gone) for number, each in versions
    }
    return KnownSubject(subject.config, found)


def _seen(version: ArchivedVersion) -> SeenVersion:
    return SeenVersion(version.id, version.schema.body, version.schema.references)


def _whole(
    subjects: Known, texts: Mapping[SchemaVersion, Schema]
) -> dict[SubjectName, ArchivedSubject]:
    versions: defaultdict[SubjectName, dict[int, ArchivedVersion]] = defaultdict(dict)
    for at, each in _standings(subjects):
        found = ArchivedVersion(each.seen.id, texts[at], each.deleted, each.gone)
        versions[at.subject][at.version] = found
    return {name: ArchivedSubject(each.config, versions[name]) for name, each in subjects.items()}
