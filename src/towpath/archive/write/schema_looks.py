"""Repeated observations of a schema registry's subjects, without schema texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from towpath.archive.config import ArchivedSchemas
from towpath.model.amounts import counted
from towpath.model.errors import ClusterError
from towpath.model.schemas import (
    QualifiedName,
    Schema,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.registry.listing import ONE
from towpath.registry.reading import ReadRegistry
from towpath.schemas.observed_schemas import SeenVersion, Versions
from towpath.schemas.registry_polling import RegistryLook

_NAMED = 3


class KnownVersion(NamedTuple):
    """A version in the registry; `deleted` and `gone` as in `ArchivedVersion`."""

    seen: SeenVersion
    deleted: bool = False
    gone: bool = False


class KnownSubject(NamedTuple):
    """A subject in the registry, or a context's settings, which have no versions."""

    config: SubjectConfig
    versions: Mapping[int, KnownVersion]


Known = Mapping[SubjectName, KnownSubject]
_NOTHING = KnownSubject(SubjectConfig(), {})


class SubjectLook:
    """Observes the selected subjects of a registry.

    Args:
        wanted: Which subjects.
        registry: The registry.
        pool: Asks several things at once.

    Attributes:
        pool: Asks several things at once.
        untold: Sentences about what could not be read since the last look began.
    """

    def __init__(self, wanted: ArchivedSchemas, registry: ReadRegistry, pool: Executor) -> None:
        self._wanted, self._registry, self.pool = wanted, registry, pool
        self._look = RegistryLook(registry, pool)
        self.untold: list[str] = []

    def look(self, known: Known) -> dict[SubjectName, KnownSubject]:
        """Return the current state of all archived subjects; unreadable ones keep their last state.

        Args:
            known: The subjects as they are archived.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        self.untold = []
        contexts = sorted(self._look.contexts() or ONE)
        selects = self._wanted.selects
        found, failed = self._look.versions(contexts, deleted=True, matching=selects)
        live, more = self._look.versions(contexts, matching=selects)
        failed = {**failed, **more}
        self._tell("", failed)
        names = {name for name in found if selects(name) and name not in failed}
        referred = self._referred(found, names)
        alls = {QualifiedName(each, "").subject for each in contexts}
        configs = self._look.configs({*names, *referred, *alls})
        self._tell("what is set for ", self._look.unread)
        told = dict(known)
        for name in names | referred.keys() | (alls & configs.keys()):
            there = found.get(name, {}) if name in names else referred.get(name, {})
            versions = _standing(there, live.get(name, {}) if name in found else None)
            before = known.get(name, _NOTHING)
            told[name] = _joined(before, versions, configs.get(name), whole=name in names)
        for name in self._vanished(known, found, failed):
            told[name] = _joined(known[name], {}, None, whole=True)
        return {name: each for name, each in told.items() if name in known or each != _NOTHING}

    def whole(self, at: SchemaVersion) -> tuple[SeenVersion, Schema] | None:
        """Return a version with its text, even a deleted one; `None` if it does not exist.

        Raises:
            ClusterError: The registry cannot be asked.
        """
        found = self._registry.schema(at, deleted=True)
        if found is None:
            return None
        schema = found.schema
        return SeenVersion(found.id, schema.body, schema.references), schema

    def _referred(
        self, found: Versions, names: Collection[SubjectName]
    ) -> dict[SubjectName, dict[int, SeenVersion]]:
        """Return the versions of other subjects that wanted ones refer to, directly or not."""
        further: defaultdict[SubjectName, dict[int, SeenVersion]] = defaultdict(dict)
        asked: set[SchemaVersion] = set()
        queue = [each for name in names for each in found[name].values()]
        while queue:
            for to in (ref.to for ref in queue.pop().references):
                if to.subject in names or to in asked:
                    continue
                asked.add(to)
                held = found.get(to.subject, {}).get(to.version) or self._look.one(to)
                if isinstance(held, ClusterError):
                    self.untold.append(f"{to}, which a schema refers to, is not archived: {held}")
                elif held is not None:
                    further[to.subject][to.version] = held
                    queue.append(held)
        return dict(further)

    def _vanished(
        self, known: Known, found: Versions, failed: Collection[SubjectName]
    ) -> Iterator[SubjectName]:
        """Yield the subjects that the registry had once."""
        for name in known:
            is_looked_at = self._wanted.selects(name) and qualified(name).name
            if is_looked_at and name not in found and name not in failed:
                yield name

    def _tell(self, what: str, failed: Mapping[SubjectName, ClusterError]) -> None:
        for name in sorted(failed)[:_NAMED]:
            self.untold.append(f"{what}{name} stays as it was archived: {failed[name]}")
        if len(failed) > _NAMED:
            self.untold.append(f"and {counted(len(failed) - _NAMED, 'subject')} more")


def _standing(
    found: Mapping[int, SeenVersion], live: Iterable[int] | None
) -> dict[int, KnownVersion]:
    """Return versions as they stand; where it is not known which are live, all are."""
    there = None if live is None else frozenset(live)
    return {
        number: KnownVersion(each, deleted=there is not None and number not in there)
        for number, each in found.items()
    }


def _joined(
    known: KnownSubject,
    versions: Mapping[int, KnownVersion],
    config: SubjectConfig | None,
    *,
    whole: bool,
) -> KnownSubject:
    """Return a subject with the versions that it had, too, as records may name their schemas.

    Args:
        known: The subject as it is archived.
        versions: The versions that the registry has.
        config: What is set for it, `None` if that could not be read.
        whole: Whether `versions` are all that the registry has.
    """
    before = {
        number: each._replace(gone=True) if whole else each
        for number, each in known.versions.items()
    }
    joined = dict(sorted({**before, **versions}.items()))
    return KnownSubject(known.config if config is None else config, joined)
