"""The observation of both registries, combined into one value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from towpath.model.errors import ClusterError, ConfigError
from towpath.model.schemas import (
    QualifiedName,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
    qualified,
)
from towpath.registry.listing import ONE
from towpath.schemas.normal import same
from towpath.schemas.observed_schemas import Apart, ObservedSchemas, SeenVersion, Versions
from towpath.schemas.parts import stripped, unwanted
from towpath.schemas.registry_polling import RegistryLook
from towpath.schemas.twins import twins
from towpath.settings import DeletedVersions, SchemaIds, SchemaRules, SchemaVersions


def observe(
    config: SchemaRules,
    source: RegistryLook,
    target: RegistryLook,
    begun: Iterable[SubjectName],
) -> ObservedSchemas:
    """Observe both registries.

    Args:
        config: What the file asks for.
        source: Looks at the source.
        target: Looks at the target.
        begun: Subjects of the target that an interrupted step may have left in another mode.
    """
    try:
        keep = config.deleted is DeletedVersions.KEEP
        contexts, unmapped = _contexts(config, source)
        found, failed = source.versions(contexts, deleted=keep, matching=config.selects)
        live, more = source.versions(contexts, matching=config.selects) if keep else (found, {})
        versions = {name: dict(each) for name, each in found.items()}
        wanted, misnamed = _names(config, versions)
        copies = _copies(wanted) if config.is_one_registry else frozenset()
        wanted = {name: mirror for name, mirror in wanted.items() if name not in copies}
        further, lost = _closure(config, source, versions, wanted)
        wanted |= further
        gone = _without(found, live)
        if config.versions is SchemaVersions.LATEST:
            _keep_latest(config, versions, wanted, gone)
        alls = _alls(wanted) if config.for_all else {}
        seen = ObservedSchemas(
            source=versions,
            gone=gone,
            lost=lost,
            wanted=wanted,
            alls=alls,
            source_configs=source.configs({**wanted, **alls}),
            failed={**failed, **more},
            unread=source.unread,
            misnamed=misnamed,
            copies=copies,
            unmapped=unmapped,
        )
        return observe_target(config, seen, (source, target), begun)
    except ClusterError as error:
        return ObservedSchemas(trouble=error)


def observe_target(
    config: SchemaRules,
    seen: ObservedSchemas,
    looks: tuple[RegistryLook, RegistryLook],
    begun: Iterable[SubjectName],
) -> ObservedSchemas:
    """Observe the target's registry again, and keep the observation of the source's."""
    source, target = looks
    try:
        names = set(seen.wanted.values())
        contexts = sorted({qualified(name).context for name in names} | ONE)
        has_contexts = len(contexts) == 1 or target.contexts() is not None
        if not has_contexts:
            contexts = [*ONE]
        live, failed = target.versions(contexts, matching=names.__contains__)
        short = _short(config, seen, live)
        versions = dict(live)
        if short:
            # Only what is lacking may be there as a deleted version.
            whole, more = target.versions(contexts, deleted=True, matching=short.__contains__)
            versions, failed = {**live, **whole}, {**failed, **more}
        ours, theirs = twins(seen.source, versions, seen.wanted)
        lacking = _unlike(config, seen, versions, ours)
        needed = {
            mirror
            for name, mirror in seen.wanted.items()
            if mirror in short or seen.source_configs.get(name, SubjectConfig()) != SubjectConfig()
        }
        lost = {name: failed[each] for name, each in seen.wanted.items() if each in failed}
        apart = _apart(config, looks, ours, theirs)
        configs = target.configs(needed.union(begun, seen.alls.values()))
        return replace(
            seen,
            target=versions,
            apart=apart,
            deleted=_without(versions, live),
            target_configs=configs,
            unread_there=target.unread,
            extras=source.extras(lacking, unwanted(config, target.traits)),
            traits=target.traits,
            has_contexts=has_contexts,
            same=same(config, seen, looks, lacking, versions) if config.normalize else {},
            failed={**seen.failed, **lost},
            trouble=None,
        )
    except ClusterError as error:
        return replace(seen, trouble=error)


def _contexts(config: SchemaRules, source: RegistryLook) -> tuple[list[str], frozenset[str]]:
    """Return the contexts of the source to look at, and those for which the file has no rule."""
    wanted, unmapped = [], set()
    for context in sorted(source.contexts() or ONE):
        try:
            if config.target_context(context) is not None:
                wanted.append(context)
            elif not config.leaves_out(context):
                unmapped.add(context)
        except ConfigError:
            # The subjects tell why it has no name.
            wanted.append(context)
    return wanted, frozenset(unmapped)


def _alls(wanted: Mapping[SubjectName, SubjectName]) -> dict[SubjectName, SubjectName]:
    """Return the names for all subjects of contexts, and for them on the target."""
    pairs = {qualified(name).context: qualified(mirror).context for name, mirror in wanted.items()}
    return {
        QualifiedName(context, "").subject: QualifiedName(mirror, "").subject
        for context, mirror in pairs.items()
    }


def _without(all_: Versions, live: Versions) -> frozenset[SchemaVersion]:
    return frozenset(
        SchemaVersion(name, number)
        for name, numbers in all_.items()
        for number in numbers
        if number not in live.get(name, {})
    )


def _lacking(seen: ObservedSchemas, there: Versions) -> list[SchemaVersion]:
    """Return the versions whose text no version of their subject on the target has."""
    found: list[SchemaVersion] = []
    for name, mirror in seen.wanted.items():
        bodies = {each.body for each in there.get(mirror, {}).values()}
        numbers = (n for n, each in seen.source[name].items() if each.body not in bodies)
        found += (SchemaVersion(name, number) for number in numbers)
    return found


def _unlike(
    config: SchemaRules,
    seen: ObservedSchemas,
    there: Versions,
    ours: Collection[SchemaVersion],
) -> list[SchemaVersion]:
    """Return the versions that the target may lack, as those whose text it has elsewhere."""
    found = set(_lacking(seen, there))
    if config.ids is SchemaIds.KEEP:
        for name, mirror in seen.wanted.items():
            numbers = seen.source[name].keys() - there.get(mirror, {}).keys()
            found |= {SchemaVersion(name, number) for number in numbers}
    else:
        found |= set(ours)
    return sorted(found)


def _apart(
    config: SchemaRules,
    looks: tuple[RegistryLook, RegistryLook],
    ours: Collection[SchemaVersion],
    theirs: Collection[SchemaVersion],
) -> tuple[Apart, Apart]:
    """Return the digests of metadata and rules of versions that differ in nothing else."""
    if config.ids is SchemaIds.KEEP:
        return {}, {}
    source, target = looks
    left = stripped(config, target.traits)
    return source.apart(ours, left), target.apart(theirs, frozenset())


def _short(config: SchemaRules, seen: ObservedSchemas, live: Versions) -> set[SubjectName]:
    """Return the subjects of the target that seem to lack something."""
    short = {seen.wanted[at.subject] for at in _lacking(seen, live)}
    for name, mirror in seen.wanted.items():
        wanted, there = seen.source[name].keys(), live.get(mirror, {}).keys()
        is_short = wanted - there if config.ids is SchemaIds.KEEP else len(there) < len(wanted)
        if is_short:
            short.add(mirror)
    return short


def _names(
    config: SchemaRules, versions: Versions
) -> tuple[dict[SubjectName, SubjectName], dict[SubjectName, str]]:
    wanted: dict[SubjectName, SubjectName] = {}
    misnamed: dict[SubjectName, str] = {}
    for name in filter(config.selects, versions):
        try:
            wanted[name] = SubjectName(config.target_name(name))
        except ConfigError as error:
            misnamed[name] = str(error)
    return wanted, misnamed


def _copies(wanted: Mapping[SubjectName, SubjectName]) -> frozenset[SubjectName]:
    """Return the subjects with the names of others on the target."""
    return frozenset(wanted.keys() & {each for name, each in wanted.items() if each != name})


def _closure(
    config: SchemaRules,
    source: RegistryLook,
    versions: dict[SubjectName, dict[int, SeenVersion]],
    wanted: Mapping[SubjectName, SubjectName],
) -> tuple[dict[SubjectName, SubjectName], dict[SchemaVersion, ClusterError]]:
    """Read what wanted schemas refer to.

    Returns:
        The names of further subjects, and the versions that could not be read, and why.
    """
    further: dict[SubjectName, SubjectName] = {}
    lost: dict[SchemaVersion, ClusterError] = {}
    asked: set[SchemaVersion] = set()
    queue = [SchemaVersion(name, number) for name in wanted for number in versions[name]]
    while queue:
        at = queue.pop()
        for each in versions[at.subject][at.version].references:
            if each.to in asked:
                continue
            asked.add(each.to)
            held = versions.setdefault(each.subject, {})
            if each.version not in held:
                found = source.one(each.to)
                if isinstance(found, ClusterError):
                    lost[each.to] = found
                elif found is not None:
                    held[each.version] = found
            if each.subject not in wanted and each.subject not in further:
                with suppress(ConfigError):
                    further[each.subject] = SubjectName(config.target_name(each.subject))
            if each.version in held:
                queue.append(each.to)
    return further, lost


def _keep_latest(
    config: SchemaRules,
    versions: dict[SubjectName, dict[int, SeenVersion]],
    wanted: Mapping[SubjectName, SubjectName],
    gone: Collection[SchemaVersion],
) -> None:
    """Drop versions that neither are the latest of their subject nor are referred to.

    Where the last one is soft-deleted, the last one that is not is the latest as well.
    """
    keep: set[SchemaVersion] = set()
    for name in filter(config.matches, wanted):
        numbers = versions[name].keys()
        live = (n for n in numbers if SchemaVersion(name, n) not in gone)
        last = {max(numbers, default=None), max(live, default=None)}
        keep |= {SchemaVersion(name, number) for number in last if number is not None}
    queue = list(keep)
    while queue:
        at = queue.pop()
        for each in versions[at.subject][at.version].references:
            if each.to not in keep and each.version in versions.get(each.subject, {}):
                keep.add(each.to)
                queue.append(each.to)
    for name in wanted:
        kept = {n: each for n, each in versions[name].items() if SchemaVersion(name, n) in keep}
        versions[name] = kept
