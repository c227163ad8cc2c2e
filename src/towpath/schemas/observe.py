"""Look at both registries, and join what they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from towpath.config import DeletedVersions, Extras, SchemasConfig, SchemaVersions
from towpath.model.errors import ClusterError, ConfigError
from towpath.model.schemas import (
    RegisteredSchema,
    SchemaVersion,
    SubjectConfig,
    SubjectName,
)
from towpath.schemas.look import RegistryLook
from towpath.schemas.observed import ObservedSchemas, SeenVersion, Versions


def observe(
    config: SchemasConfig,
    source: RegistryLook,
    target: RegistryLook,
    begun: Iterable[SubjectName],
) -> ObservedSchemas:
    """Return both registries as they are.

    Args:
        config: What the file asks for.
        source: Looks at the source.
        target: Looks at the target.
        begun: Subjects of the target that an interrupted step may have left in another mode.
    """
    try:
        keep = config.deleted is DeletedVersions.KEEP
        found, failed = source.versions(deleted=keep, matching=config.matches)
        live = source.live(config.matches) if keep else found
        versions = {name: dict(each) for name, each in found.items()}
        wanted, misnamed = _names(config, versions)
        wanted |= _closure(config, source, versions, wanted)
        if config.versions is SchemaVersions.LATEST:
            _keep_latest(config, versions, wanted)
        seen = ObservedSchemas(
            source=versions,
            gone=_without(found, live),
            wanted=wanted,
            source_configs=source.configs(wanted),
            failed=failed,
            misnamed=misnamed,
        )
        return observe_target(config, seen, (source, target), begun)
    except ClusterError as error:
        return ObservedSchemas(trouble=error)


def observe_target(
    config: SchemasConfig,
    seen: ObservedSchemas,
    looks: tuple[RegistryLook, RegistryLook],
    begun: Iterable[SubjectName],
) -> ObservedSchemas:
    """Return the same observation with the target as it is now."""
    source, target = looks
    try:
        names = set(seen.wanted.values())
        there, _ = target.versions(deleted=True, matching=names.__contains__)
        versions = {name: dict(each) for name, each in there.items()}
        live = target.live(names.__contains__)
        needed = {
            mirror
            for name, mirror in seen.wanted.items()
            if seen.source[name].keys() - versions.get(mirror, {}).keys()
            or seen.source_configs.get(name, SubjectConfig()) != SubjectConfig()
        }
        lacking = [
            SchemaVersion(name, number)
            for name, mirror in seen.wanted.items()
            for number, each in seen.source[name].items()
            if each.body not in {one.body for one in versions.get(mirror, {}).values()}
        ]
        return replace(
            seen,
            target=versions,
            deleted=_without(versions, live),
            target_configs=target.configs(needed.union(begun)),
            extras=source.extras(lacking, _unwanted(config)),
            same=_same(seen, looks, lacking) if config.normalize else {},
            trouble=None,
        )
    except ClusterError as error:
        return replace(seen, trouble=error)


def _unwanted(config: SchemasConfig) -> frozenset[str]:
    """Return which parts of schemas the file does not keep."""
    policies = {"metadata": config.metadata, "rules": config.rules}
    return frozenset(name for name, policy in policies.items() if policy is not Extras.KEEP)


def _without(all_: Versions, live: Versions) -> frozenset[SchemaVersion]:
    return frozenset(
        SchemaVersion(name, number)
        for name, numbers in all_.items()
        for number in numbers
        if number not in live.get(name, {})
    )


def _same(
    seen: ObservedSchemas,
    looks: tuple[RegistryLook, RegistryLook],
    lacking: Iterable[SchemaVersion],
) -> dict[SchemaVersion, RegisteredSchema]:
    """Return versions that the target has in a normalized form."""
    source, target = looks
    found: dict[SchemaVersion, RegisteredSchema] = {}
    for at in lacking:
        mirror = seen.wanted[at.subject]
        schema = source.whole(at)
        if schema is None:
            continue
        refs = tuple(
            each._replace(subject=seen.wanted.get(each.subject, each.subject))
            for each in schema.references
        )
        held = target.find(mirror, schema.referring(refs))
        if held is not None:
            found[at] = held
    return found


def _names(
    config: SchemasConfig, versions: Versions
) -> tuple[dict[SubjectName, SubjectName], dict[SubjectName, str]]:
    wanted: dict[SubjectName, SubjectName] = {}
    misnamed: dict[SubjectName, str] = {}
    for name in filter(config.matches, versions):
        try:
            wanted[name] = SubjectName(config.target_name(name))
        except ConfigError as error:
            misnamed[name] = str(error)
    return wanted, misnamed


def _closure(
    config: SchemasConfig,
    source: RegistryLook,
    versions: dict[SubjectName, dict[int, SeenVersion]],
    wanted: Mapping[SubjectName, SubjectName],
) -> dict[SubjectName, SubjectName]:
    """Read what wanted schemas refer to, and return the names of further subjects."""
    further: dict[SubjectName, SubjectName] = {}
    asked: set[SchemaVersion] = set()
    queue = [SchemaVersion(name, number) for name in wanted for number in versions[name]]
    while queue:
        at = queue.pop()
        for each in versions[at.subject][at.version].references:
            if each.to in asked:
                continue
            asked.add(each.to)
            held = versions.setdefault(each.subject, {})
            if each.version not in held and (found := source.one(each.to)) is not None:
                held[each.version] = found
            if each.subject not in wanted and each.subject not in further:
                with suppress(ConfigError):
                    further[each.subject] = SubjectName(config.target_name(each.subject))
            if each.version in held:
                queue.append(each.to)
    return further


def _keep_latest(
    config: SchemasConfig,
    versions: dict[SubjectName, dict[int, SeenVersion]],
    wanted: Mapping[SubjectName, SubjectName],
) -> None:
    """Drop versions that neither are the latest of their subject nor are referred to."""
    keep = {
        SchemaVersion(name, max(versions[name]))
        for name in wanted
        if versions[name] and config.matches(name)
    }
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
