"""Detection of versions that the target holds in normalized form."""

from __future__ import annotations

from collections.abc import Iterable

from towpath.model.schemas import Schema, SchemaReference, SchemaVersion
from towpath.schemas.observed_schemas import HeldVersion, ObservedSchemas, Versions
from towpath.schemas.parts import stripped
from towpath.schemas.registry_polling import RegistryLook
from towpath.settings import SchemaIds, SchemaRules

Looks = tuple[RegistryLook, RegistryLook]


def same(
    config: SchemaRules,
    seen: ObservedSchemas,
    looks: Looks,
    lacking: Iterable[SchemaVersion],
    there: Versions,
) -> dict[SchemaVersion, HeldVersion]:
    """Return the versions that the target holds in normalized form.

    Args:
        config: What the file asks for.
        seen: The source.
        looks: Look at the source and the target.
        lacking: The versions whose text the target seems to lack.
        there: All versions of the target.

    Raises:
        ClusterError: A registry is away.
    """
    lacking = tuple(lacking)
    wanted = {at: seen.source[at.subject][at.version] for at in lacking}
    return looks[1].same(wanted, there, _Finder(config, seen, looks).held)


class _Finder:
    """Asks the target about versions of the source, and about all that they refer to."""

    def __init__(self, config: SchemaRules, seen: ObservedSchemas, looks: Looks) -> None:
        self._seen, self._looks = seen, looks
        self._keep = config.ids is SchemaIds.KEEP
        self._left = stripped(config, looks[1].traits)
        self._known: dict[SchemaVersion, HeldVersion | None] = {}

    def held(self, at: SchemaVersion) -> HeldVersion | None:
        """Return the target's counterpart of a version, `None` if it has none."""
        return self._held(at, frozenset())

    def _held(self, at: SchemaVersion, above: frozenset[SchemaVersion]) -> HeldVersion | None:
        if at in above or at.subject not in self._seen.wanted:
            return None
        if at not in self._known:
            self._known[at] = self._asked(at, above | {at})
        return self._known[at]

    def _asked(self, at: SchemaVersion, above: frozenset[SchemaVersion]) -> HeldVersion | None:
        schema = self._looks[0].whole(at)
        if schema is None:
            return None
        found = [ref for each in schema.references if (ref := self._referred(each, above))]
        if len(found) < len(schema.references):
            return None
        sent: Schema = schema.without(self._left).referring(tuple(found))
        return self._looks[1].find(self._seen.wanted[at.subject], sent)

    def _referred(
        self, each: SchemaReference, above: frozenset[SchemaVersion]
    ) -> SchemaReference | None:
        """Return a reference as it is on the target; `None` if that lacks what is meant."""
        if self._keep:
            name = self._seen.wanted.get(each.subject, each.subject)
            return each._replace(subject=name)
        held = self._held(each.to, above)
        if held is None:
            return None
        return each._replace(subject=held.at.subject, version=held.at.version)
