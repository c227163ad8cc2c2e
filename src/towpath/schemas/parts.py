"""Policies for schema parts that not every registry can hold, such as metadata. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towpath.model.schemas import COMPATIBILITY_GROUPS, METADATA, NORMALIZE, RULES, TAGS
from towpath.registry.kinds import Traits
from towpath.settings import Extras, SchemaRules

_WORDS = {
    METADATA: "metadata",
    TAGS: "tags",
    RULES: "rules",
    COMPATIBILITY_GROUPS: "compatibility group",
    NORMALIZE: "normalization",
}


def policies(config: SchemaRules, traits: Traits) -> Mapping[str, Extras]:
    """Return the policy for each part, given what the target can hold."""
    return {
        part: Extras.STRIP if policy is Extras.KEEP and part in traits.lacks else policy
        for part, policy in config.policies.items()
    }


def unwanted(config: SchemaRules, traits: Traits) -> frozenset[str]:
    """Return the parts that are not copied to the target unchanged."""
    found = policies(config, traits)
    return frozenset(part for part, policy in found.items() if policy is not Extras.KEEP)


def stripped(config: SchemaRules, traits: Traits) -> frozenset[str]:
    """Return the parts that stay at the source."""
    found = policies(config, traits)
    return frozenset(part for part, policy in found.items() if policy is Extras.STRIP)


def refused(config: SchemaRules) -> frozenset[str]:
    """Return the parts that cause a version or subject to be left out."""
    return frozenset(part for part, each in config.policies.items() if each is Extras.FAIL)


def names_of_parts(parts: Iterable[str]) -> str:
    """Return the names of parts, for people."""
    return " and ".join(_WORDS[part] for part in sorted(parts))


def why_left_out(parts: Iterable[str], config: SchemaRules, traits: Traits) -> str:
    """Return why parts stay at the source, for people."""
    given = {part for part, policy in config.policies.items() if policy is Extras.STRIP}
    if given.issuperset(parts):
        return "as the file says `strip`"
    return f"as a registry of the kind {traits.kind} cannot hold that"
