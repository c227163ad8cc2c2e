"""Features of the makes of registries, and read-only detection of the make."""

from __future__ import annotations

from dataclasses import dataclass

from towpath.model.errors import RegistryRefusedError
from towpath.model.schemas import COMPATIBILITY_GROUPS, METADATA, NORMALIZE, RULES, TAGS
from towpath.registry.http import RegistryHttp
from towpath.settings import APICURIO_PATH, RegistryConfig, RegistryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The features of a make of registry.

    What stays unsaid is found out: what comes back after each write is compared.

    Attributes:
        kind: The make.
        keeps_ids: Whether it may take the ids that it is given.
        has_modes: Whether the modes that it answers were set by somebody and can be set.
        has_contexts: Whether it may have contexts.
        lacks: Parts of schemas and subjects that it cannot hold.
    """

    kind: RegistryKind
    keeps_ids: bool = True
    has_modes: bool = True
    has_contexts: bool = True
    lacks: frozenset[str] = frozenset()


USUAL = Traits(kind=RegistryKind.CONFLUENT)
_OF_SUBJECTS = frozenset({COMPATIBILITY_GROUPS, NORMALIZE})
_ALL = _OF_SUBJECTS | {METADATA, TAGS, RULES}
_TRAITS = {
    each.kind: each
    for each in (
        USUAL,
        Traits(kind=RegistryKind.SERVERLESS, has_contexts=False, lacks=_ALL),
        # Its mode is always READWRITE, for each subject, too.
        Traits(kind=RegistryKind.KARAPACE, has_modes=False, has_contexts=False, lacks=_OF_SUBJECTS),
        # It stores modes that have no effect, and gives ids by itself.
        Traits(
            kind=RegistryKind.APICURIO,
            keeps_ids=False,
            has_modes=False,
            has_contexts=False,
            lacks=_ALL,
        ),
    )
}


def traits(config: RegistryConfig, http: RegistryHttp) -> Traits:
    """Return a registry's features; detect its make if the file does not name one.

    Raises:
        ClusterError: The registry cannot be asked.
    """
    kind = config.kind
    if kind is RegistryKind.AUTO:
        kind = _found(config, http)
    return _TRAITS[kind]


def _found(config: RegistryConfig, http: RegistryHttp) -> RegistryKind:
    if any(APICURIO_PATH in f"{url}/" for url in config.url):
        return RegistryKind.APICURIO
    try:
        found = http.call("ask for its make", "GET", "/_health")
    except RegistryRefusedError:
        # Only Karapace has such a page.
        return RegistryKind.CONFLUENT
    is_karapace = isinstance(found, dict) and any(
        name.lower().replace("-", "_") == "karapace_version"
        or name == "schema_registry_ready"
        or (isinstance(each, dict) and "schema_registry_ready" in each)
        for name, each in found.items()
    )
    return RegistryKind.KARAPACE if is_karapace else RegistryKind.CONFLUENT
