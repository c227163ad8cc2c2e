"""Versions of a subject that differ only in metadata and rules.

Adding rules to a schema makes a version with the same text, and with an id of its own. Lists of
registries do not tell metadata and rules, so these versions are read one by one. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from towpath.model.schemas import SchemaVersion, SubjectName
from towpath.schemas.observed_schemas import SeenVersion, Versions


def twins(
    source: Versions, there: Versions, wanted: Mapping[SubjectName, SubjectName]
) -> tuple[list[SchemaVersion], list[SchemaVersion]]:
    """Return versions that share text and references with others of their subject.

    Args:
        source: All versions at the source.
        there: All versions on the target.
        wanted: The subjects, with their names on the target.

    Returns:
        These versions, and those of the target that may be the same.
    """
    ours: list[SchemaVersion] = []
    theirs: list[SchemaVersion] = []
    for name, mirror in wanted.items():
        bodies = Counter((each.body, each.references) for each in source[name].values())
        shared = {body for (body, _), count in bodies.items() if count > 1}
        if shared:
            ours += _having(name, source[name], shared)
            theirs += _having(mirror, there.get(mirror, {}), shared)
    return ours, theirs


def _having(
    name: SubjectName, versions: Mapping[int, SeenVersion], bodies: set[str]
) -> Iterator[SchemaVersion]:
    yield from (SchemaVersion(name, n) for n, each in versions.items() if each.body in bodies)
