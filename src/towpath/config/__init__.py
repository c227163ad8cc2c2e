"""Floor 1: the YAML file of a link as typed, frozen models, and the base of all files.

`load` returns a `LinkConfig`, or raises with every problem at once. Files of other kinds are the
products' own (`kinds.py`). The models pickle, secrets and PEM texts included, so tasks on other
machines need neither the file nor the environment.
"""

from towpath.config.access import AccessConfig, AclMode
from towpath.config.clusters import (
    ClusterConfig,
    GssapiSasl,
    MskSasl,
    OauthSasl,
    PasswordSasl,
    Tls,
)
from towpath.config.files import note, stamps, troubles
from towpath.config.glue import given_ids
from towpath.config.groups import (
    Following,
    GroupConfigRules,
    GroupsConfig,
    GroupStates,
    Mm2Config,
    Mm2Topic,
)
from towpath.config.link import (
    GapArchive,
    GapRules,
    LinkConfig,
    OffsetsPolicy,
    OnGap,
    RecordsConfig,
    StartAt,
)
from towpath.config.load import check, from_tree, load, load_target, tree
from towpath.config.metrics import MetricsConfig
from towpath.config.rates import RateConfig, max_rate
from towpath.config.registries import (
    APICURIO_PATH,
    ApicurioId,
    BasicLogin,
    OauthLogin,
    RegistryConfig,
    RegistryKind,
)
from towpath.config.schemas import (
    DeletedVersions,
    Extras,
    SchemaIds,
    SchemaRules,
    SchemasConfig,
    SchemaVersions,
)
from towpath.config.secrets import PemFile, certificates
from towpath.config.store import (
    AwsKeys,
    EncryptionMode,
    LockMode,
    StoreConfig,
    StoreEncryption,
    StoreKind,
    StoreLayout,
    StoreLock,
)
from towpath.config.topics import ConfigRules, Replicas, TopicsConfig
from towpath.config.units import ByteRate, Duration, Size

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
