"""YAML files as typed, frozen models: their machinery, sections, and the file of a link.

`load` returns a `LinkConfig`, or raises with every problem at once. Files of other kinds are the
products' own (`kinds.py`). The models pickle, secrets and PEM texts included, so tasks on other
machines need neither the file nor the environment.
"""

from towpath.settings.files import note, stamps, troubles
from towpath.settings.link import LinkConfig
from towpath.settings.load import check, from_tree, load, load_target, tree
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
    "certificates",
    "check",
    "from_tree",
    "given_ids",
    "load",
    "load_target",
    "max_rate",
    "note",
    "stamps",
    "tree",
    "troubles",
]
