"""YAML files as typed, frozen models: their machinery, sections, and the file of a link.

`load` returns a `LinkConfig`, or raises with every problem at once. Files of other kinds are the
products' own (`kinds.py`). The models pickle, secrets and PEM texts included, so tasks on other
machines need neither the file nor the environment.

A name below is imported from its module when it is first asked for: making the models of a link
takes as long as a third of a start, and whoever uses `settings.units` alone needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from towpath.settings.files import note, stamps, troubles
    from towpath.settings.link import LinkConfig
    from towpath.settings.loading import check, from_tree, load, load_target, problem_at, tree
    from towpath.settings.secrets import PemFile, certificates
    from towpath.settings.sections.access import AccessConfig, AclMode
    from towpath.settings.sections.clusters import (
        ClusterConfig,
        GssapiSasl,
        MskSasl,
        OauthSasl,
        PasswordSasl,
        Tls,
    )
    from towpath.settings.sections.glue import given_ids
    from towpath.settings.sections.groups import (
        Following,
        GroupConfigRules,
        GroupsConfig,
        GroupStates,
        Mm2Config,
        Mm2Topic,
    )
    from towpath.settings.sections.metrics import MetricsConfig
    from towpath.settings.sections.rates import RateConfig, max_rate
    from towpath.settings.sections.records import (
        GapArchive,
        GapRules,
        OffsetsPolicy,
        OnGap,
        RecordsConfig,
        StartAt,
    )
    from towpath.settings.sections.registries import (
        APICURIO_PATH,
        ApicurioId,
        BasicLogin,
        OauthLogin,
        RegistryConfig,
        RegistryKind,
    )
    from towpath.settings.sections.schemas import (
        DeletedVersions,
        Extras,
        SchemaIds,
        SchemaRules,
        SchemasConfig,
        SchemaVersions,
    )
    from towpath.settings.sections.store import (
        AwsKeys,
        EncryptionMode,
        LockMode,
        StoreConfig,
        StoreEncryption,
        StoreKind,
        StoreLayout,
        StoreLock,
    )
    from towpath.settings.sections.topics import ConfigRules, LinkTopics, Replicas, TopicsConfig
    from towpath.settings.sections.transform import TransformConfig
    from towpath.settings.units import ByteRate, Duration, Size

__all__ = [
    "APICURIO_PATH",
    "AccessConfig",
    "AclMode",
    "ApicurioId",
    "AwsKeys",
    "BasicLogin",
    "ByteRate",
    "ClusterConfig",
    "ConfigRules",
    "DeletedVersions",
    "Duration",
    "EncryptionMode",
    "Extras",
    "Following",
    "GapArchive",
    "GapRules",
    "GroupConfigRules",
    "GroupStates",
    "GroupsConfig",
    "GssapiSasl",
    "LinkConfig",
    "LinkTopics",
    "LockMode",
    "MetricsConfig",
    "Mm2Config",
    "Mm2Topic",
    "MskSasl",
    "OauthLogin",
    "OauthSasl",
    "OffsetsPolicy",
    "OnGap",
    "PasswordSasl",
    "PemFile",
    "RateConfig",
    "RecordsConfig",
    "RegistryConfig",
    "RegistryKind",
    "Replicas",
    "SchemaIds",
    "SchemaRules",
    "SchemaVersions",
    "SchemasConfig",
    "Size",
    "StartAt",
    "StoreConfig",
    "StoreEncryption",
    "StoreKind",
    "StoreLayout",
    "StoreLock",
    "Tls",
    "TopicsConfig",
    "TransformConfig",
    "certificates",
    "check",
    "from_tree",
    "given_ids",
    "load",
    "load_target",
    "max_rate",
    "note",
    "problem_at",
    "stamps",
    "tree",
    "troubles",
]
_HOMES = {
    "files": "note stamps troubles",
    "link": "LinkConfig",
    "loading": "check from_tree load load_target problem_at tree",
    "secrets": "PemFile certificates",
    "sections.access": "AccessConfig AclMode",
    "sections.clusters": "ClusterConfig GssapiSasl MskSasl OauthSasl PasswordSasl Tls",
    "sections.glue": "given_ids",
    "sections.groups": "Following GroupConfigRules GroupsConfig GroupStates Mm2Config Mm2Topic",
    "sections.metrics": "MetricsConfig",
    "sections.rates": "RateConfig max_rate",
    "sections.records": "GapArchive GapRules OffsetsPolicy OnGap RecordsConfig StartAt",
    "sections.registries": (
        "APICURIO_PATH ApicurioId BasicLogin OauthLogin RegistryConfig RegistryKind"
    ),
    "sections.schemas": "DeletedVersions Extras SchemaIds SchemaRules SchemasConfig SchemaVersions",
    "sections.store": (
        "AwsKeys EncryptionMode LockMode StoreConfig StoreEncryption StoreKind StoreLayout"
        " StoreLock"
    ),
    "sections.topics": "ConfigRules LinkTopics Replicas TopicsConfig",
    "sections.transform": "TransformConfig",
    "units": "ByteRate Duration Size",
}
"""The names by their modules."""
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Return a name of the package from its module, which is imported now.

    Raises:
        AttributeError: The package has no such name.
    """
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
