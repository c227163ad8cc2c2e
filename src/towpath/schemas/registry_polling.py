"""Polling of one registry, with few requests for unchanged parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from hashlib import blake2b
from typing import Generic, TypeVar

from towpath.model.errors import ClusterError, RegistryRefusedError
from towpath.model.schemas import (
    RegisteredSchema,
    Schema,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.asking import answers
from towpath.registry.kinds import Traits
from towpath.registry.listing import ONE
from towpath.registry.reading import ReadRegistry
from towpath.schemas.observed_schemas import HeldVersion, SeenVersion, Versions

T = TypeVar("T")
K = TypeVar("K")

_Pair = tuple[SeenVersion, SeenVersion | None]
"""A version of the other registry, and that of this one which is the same."""
_FEW = 500
"""Number of subjects up to which each look asks for what is set for each of them."""
_TURNS = 10
"""Of more subjects, one in so many is asked about in each look, in turn."""


class Asked(Generic[K, T]):
    """Answers of a registry by item, and errors of items that failed.

    Args:
        registry: Who is asked.
        pool: Asks about several at once.
        things: What is asked about.
        ask: Returns the answer, which should be small.

    Raises:
        ClusterError: The registry is away.
    """

    def __init__(
        self,
        registry: ReadRegistry,
        pool: Executor,
        things: Iterable[K],
        ask: Callable[[K], T],
    ) -> None:
        self.known: dict[K, T] = {}
        self.failed: dict[K, ClusterError] = {}
        for thing, answer in answers(pool, things, ask):
            if not isinstance(answer, ClusterError):
                self.known[thing] = answer
            elif registry.away and not isinstance(answer, RegistryRefusedError):
                raise answer
            else:
                self.failed[thing] = answer


class RegistryLook:
    """Polls one registry, and caches everything but schema texts.

    Args:
        registry: The registry.
        pool: Asks several things at once.

    Attributes:
        unread: Subjects for which the last look could not read what is set, and why.
    """

    def __init__(self, registry: ReadRegistry, pool: Executor) -> None:
        self._registry, self._pool = registry, pool
        self._seen: dict[bool, dict[SubjectName, dict[int, SeenVersion]]] = {}
        self._bodies: dict[bytes, str] = {}
        self._configs: dict[SubjectName, SubjectConfig] = {}
        self._changed: set[SubjectName] = set()
        self._same: dict[SchemaVersion, tuple[HeldVersion, _Pair]] = {}
        self._apart: dict[SchemaVersion, tuple[frozenset[str], str]] = {}
        self._looks = 0
        self.unread: Mapping[SubjectName, ClusterError] = {}

    def contexts(self) -> frozenset[str] | None:
        """Return all contexts, `None` for a registry without contexts."""
        return self._registry.contexts()

    @property
    def traits(self) -> Traits:
        """The features that this make of registry supports."""
        return self._registry.traits

    def versions(
        self,
        contexts: Collection[str] = ONE,
        *,
        deleted: bool = False,
        matching: Callable[[SubjectName], bool] = lambda _: True,
    ) -> tuple[Versions, dict[SubjectName, ClusterError]]:
        """Return all versions, and the subjects that could not be read.

        A registry that lists all schemas is asked for them at once. Another one is asked for each
        subject: for all of its versions at first, then for the last one, and in turn for all again.

        Args:
            contexts: The contexts to look at.
            deleted: Also soft-deleted versions.
            matching: Which subjects are read where each takes requests of its own.

        Raises:
            ClusterError: The registry cannot be asked at all.
        """
        failed = dict[SubjectName, ClusterError]()
        before = self._seen.get(deleted, {})
        listed = self._registry.all(self._see, contexts, deleted=deleted)
        seen: dict[SubjectName, dict[int, SeenVersion]] = {}
        if listed is not None:
            for at, each in listed.items():
                seen.setdefault(at.subject, {})[at.version] = each
        else:
            names = filter(matching, self._registry.subjects(contexts, deleted=deleted))
            asked = self._asked(names, lambda name: self._one(name, deleted=deleted))
            seen, failed = asked.known, asked.failed
        self._seen[deleted] = seen
        changed = {name for name in seen if seen[name] != before.get(name)}
        self._apart = {at: each for at, each in self._apart.items() if at.subject not in changed}
        self._changed |= changed
        return seen, failed

    def whole(self, at: SchemaVersion) -> Schema | None:
        """Return a version with its text, even a deleted one; `None` if it does not exist.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._registry.schema(at, deleted=True)
        return None if found is None else found.schema

    def find(self, subject: SubjectName, schema: Schema) -> HeldVersion | None:
        """Return the version of a subject that has a schema in its normalized form.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._registry.find(subject, schema, normalize=True)
        return None if found is None else HeldVersion(found.at, found.id)

    def same(
        self,
        wanted: Mapping[SchemaVersion, SeenVersion],
        there: Versions,
        ask: Callable[[SchemaVersion], HeldVersion | None],
    ) -> dict[SchemaVersion, HeldVersion]:
        """Return which versions of the other registry this one holds in normalized form.

        What has not changed on either side is not asked for again.

        Args:
            wanted: The versions of the other registry.
            there: All versions of this one.
            ask: Asks this registry about a version.

        Raises:
            ClusterError: The registry cannot be asked.
        """

        def now(at: SchemaVersion, held: HeldVersion) -> _Pair:
            return wanted[at], there.get(held.at.subject, {}).get(held.at.version)

        known = {
            at: held
            for at, (held, pair) in self._same.items()
            if at in wanted and now(at, held) == pair
        }
        asked = self._asked(wanted.keys() - known.keys(), ask)
        found = known | {at: held for at, held in asked.known.items() if held is not None}
        self._same = {at: (held, now(at, held)) for at, held in found.items()}
        return found

    def extras(
        self, places: Iterable[SchemaVersion], unwanted: frozenset[str]
    ) -> dict[SchemaVersion, frozenset[str]]:
        """Return which unwanted parts (`metadata`, `rules`) versions have.

        Raises:
            ClusterError: The registry cannot be asked.
        """

        def has(at: SchemaVersion) -> frozenset[str]:
            schema = self.whole(at)
            return frozenset() if schema is None else unwanted & schema.extras

        asked = self._asked(places if unwanted else (), has)
        return {at: found for at, found in asked.known.items() if found}

    def apart(
        self, places: Iterable[SchemaVersion], left: frozenset[str]
    ) -> dict[SchemaVersion, str]:
        """Return digests of metadata and rules, without the parts that are not copied.

        Raises:
            ClusterError: The registry is away.
        """

        def digest(at: SchemaVersion) -> str:
            schema = self.whole(at)
            return "" if schema is None else schema.without(left).extras_digest

        # A version never changes, but for a subject that is made again.
        known = {at: held for at in places if (held := self._apart.get(at)) and held[0] == left}
        asked = self._asked([at for at in places if at not in known], digest)
        self._apart = known | {at: (left, found) for at, found in asked.known.items()}
        return {at: found for at, (_, found) in self._apart.items()}

    def one(self, at: SchemaVersion) -> SeenVersion | ClusterError | None:
        """Return a version, even a soft-deleted one; `None` if it does not exist.

        Returns:
            The error where the registry tells nothing of this version.

        Raises:
            ClusterError: The registry is away.
        """
        asked = self._asked([at], lambda each: self._registry.schema(each, deleted=True))
        found = asked.known.get(at)
        return asked.failed.get(at) if found is None else self._see(found)

    def configs(self, subjects: Collection[SubjectName]) -> dict[SubjectName, SubjectConfig]:
        """Return the settings of subjects; `unread` gets those that could not be read.

        Of one that has not changed, its compatibility is asked for in one look and its mode in
        another: at most one request a look, and of many subjects only some in each look.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        self._looks += 1
        turns = 1 if len(subjects) <= _FEW else _TURNS
        asked = self._asked(subjects, lambda subject: self._config(subject, turns))
        self._configs, self.unread = asked.known, asked.failed
        self._changed -= asked.known.keys()
        return asked.known

    def forget(self, subjects: Iterable[SubjectName]) -> None:
        """Drop cached settings of subjects that are about to change."""
        self._changed.update(subjects)

    def _config(self, subject: SubjectName, turns: int) -> SubjectConfig:
        settings, known = self._registry.settings, self._configs.get(subject)
        if known is None or subject in self._changed:
            return settings.config(subject)
        turn = (self._looks + hash(subject)) % (2 * turns)
        if turn == 0:
            return replace(known, mode=settings.mode(subject))
        if turn == turns:
            return replace(settings.compatibility(subject), mode=known.mode)
        return known

    def _asked(self, things: Iterable[K], ask: Callable[[K], T]) -> Asked[K, T]:
        return Asked(self._registry, self._pool, things, ask)

    def _see(self, found: RegisteredSchema) -> SeenVersion:
        """Return a version without its text; texts that were seen before are not read again."""
        raw = blake2b(f"{found.schema.type}\0{found.schema.text}".encode(), digest_size=16).digest()
        body = self._bodies.get(raw) or self._bodies.setdefault(raw, found.schema.body)
        return SeenVersion(found.id, body, found.schema.references)

    def _one(self, subject: SubjectName, *, deleted: bool) -> dict[int, SeenVersion]:
        known = self._seen.get(deleted, {}).get(subject)
        if known and (self._looks + hash(subject)) % _TURNS:
            last = self._registry.latest(subject, deleted=deleted)
            is_same = last is not None and known.get(max(known)) == self._see(last)
            if is_same and last is not None and last.at.version == max(known):
                return known
        numbers = self._registry.versions(subject, deleted=deleted)
        read = (self._registry.schema(SchemaVersion(subject, n), deleted=deleted) for n in numbers)
        return {each.at.version: self._see(each) for each in read if each is not None}
