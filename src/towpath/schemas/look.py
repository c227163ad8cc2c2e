"""Look at one registry again and again, with few requests for what has not changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Generic, TypeVar

from towpath.model.errors import ClusterError, RegistryRefusedError
from towpath.model.schemas import (
    RegisteredSchema,
    Schema,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.registry.registry import Registry
from towpath.schemas.observed import SeenVersion, Versions

T = TypeVar("T")
K = TypeVar("K")


class Asked(Generic[K, T]):
    """Answers about many things, each with its error if there was one."""

    def __init__(
        self, pool: ThreadPoolExecutor, things: Iterable[K], ask: Callable[[K], T]
    ) -> None:
        self.known: dict[K, T] = {}
        self.failed: dict[K, ClusterError] = {}
        asked = {thing: pool.submit(ask, thing) for thing in things}
        for thing, answer in asked.items():
            try:
                self.known[thing] = answer.result()
            except RegistryRefusedError as error:
                self.failed[thing] = error


class RegistryLook:
    """Looks at one registry again and again, and remembers what it saw.

    Args:
        registry: The registry.
        pool: Asks several things at once.
    """

    def __init__(self, registry: Registry, pool: ThreadPoolExecutor) -> None:
        self._registry, self._pool = registry, pool
        self._seen: dict[SubjectName, dict[int, SeenVersion]] = {}
        self._configs: dict[SubjectName, SubjectConfig] = {}
        self._changed: set[SubjectName] = set()
        self._looks = 0

    def versions(
        self, *, deleted: bool = False, matching: Callable[[SubjectName], bool] = lambda _: True
    ) -> tuple[Versions, dict[SubjectName, ClusterError]]:
        """Return all versions, and the subjects that could not be read.

        A registry that lists all schemas is asked for them at once. Another one is asked for the
        versions of each subject, and for the last one of those that seem unchanged.

        Args:
            deleted: Also soft-deleted versions.
            matching: Which subjects are read where each takes requests of its own.

        Raises:
            ClusterError: The registry cannot be asked at all.
        """
        before, failed = self._seen, dict[SubjectName, ClusterError]()
        listed = self._registry.all(deleted=deleted)
        if listed is not None:
            self._seen = {}
            for each in listed:
                self._seen.setdefault(each.at.subject, {})[each.at.version] = SeenVersion.of(each)
        else:
            names = filter(matching, self._registry.subjects(deleted=deleted))
            asked = Asked(self._pool, names, lambda name: self._one(name, deleted=deleted))
            self._seen, failed = asked.known, asked.failed
        self._changed |= {name for name in self._seen if self._seen[name] != before.get(name)}
        return self._seen, failed

    def live(self, matching: Callable[[SubjectName], bool]) -> Versions:
        """Return the versions that are not deleted, after a look at all; only numbers count.

        Raises:
            ClusterError: The registry cannot be asked at all.
        """
        listed = self._registry.all()
        if listed is None:
            names = list(filter(matching, self._registry.subjects()))
            asked = Asked(self._pool, names, self._registry.versions)
            return {
                name: {n: self._seen[name][n] for n in numbers if n in self._seen.get(name, {})}
                for name, numbers in asked.known.items()
            }
        found: dict[SubjectName, dict[int, SeenVersion]] = {}
        for each in listed:
            found.setdefault(each.at.subject, {})[each.at.version] = SeenVersion.of(each)
        return found

    def whole(self, at: SchemaVersion) -> Schema | None:
        """Return a version with its text, also a deleted one; `None` if it is not there.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._registry.schema(at, deleted=True)
        return None if found is None else found.schema

    def find(self, subject: SubjectName, schema: Schema) -> RegisteredSchema | None:
        """Return the version of a subject that has a schema in its normalized form.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        return self._registry.find(subject, schema, normalize=True)

    def extras(
        self, places: Iterable[SchemaVersion], unwanted: frozenset[str]
    ) -> dict[SchemaVersion, frozenset[str]]:
        """Return which of `metadata` and `rules` versions have, as far as they are unwanted.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        asked = Asked(self._pool, places if unwanted else (), self.whole)
        return {
            at: has
            for at, schema in asked.known.items()
            if schema is not None and (has := unwanted & schema.extras)
        }

    def one(self, at: SchemaVersion) -> SeenVersion | None:
        """Return a version, also a soft-deleted one; `None` if it is not there.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._registry.schema(at, deleted=True)
        return None if found is None else SeenVersion.of(found)

    def _one(self, subject: SubjectName, *, deleted: bool) -> dict[int, SeenVersion]:
        known = self._seen.get(subject, {})
        numbers = self._registry.versions(subject, deleted=deleted)
        found: dict[int, SeenVersion] = {}
        for number in reversed(numbers):
            if number in known and found and found[max(found)] == known.get(max(found)):
                found[number] = known[number]
                continue
            read = self._registry.schema(SchemaVersion(subject, number), deleted=deleted)
            if read is not None:
                found[number] = SeenVersion.of(read)
        return dict(sorted(found.items()))

    def configs(self, subjects: Collection[SubjectName]) -> dict[SubjectName, SubjectConfig]:
        """Return what is set for subjects.

        One that has not changed costs one request: for its compatibility in one look, for its mode
        in the next one.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        self._looks += 1
        self._changed &= set(subjects)
        asked = Asked(self._pool, subjects, self._config)
        # What cannot be read is as unknown as what is not set, so it is left alone.
        self._configs = asked.known
        self._changed.clear()
        return asked.known

    def _config(self, subject: SubjectName) -> SubjectConfig:
        known = self._configs.get(subject)
        if known is None or subject in self._changed:
            return self._registry.config(subject)
        if self._looks % 2:
            return replace(known, mode=self._registry.mode(subject))
        return replace(self._registry.compatibility(subject), mode=known.mode)
