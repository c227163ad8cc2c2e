"""Floor 1: the YAML file of a link as typed, frozen models.

`load` returns a `LinkConfig` or raises with every problem at once. The models pickle, secrets and
PEM texts included, so tasks on other machines need neither the file nor the environment.
"""

from towpath.config.clusters import (
    ClusterConfig,
    GssapiSasl,
    MskSasl,
    OauthSasl,
    PasswordSasl,
    Tls,
)
from towpath.config.link import (
    LinkConfig,
    OffsetsPolicy,
    OnGap,
    RecordsConfig,
    StartAt,
)
from towpath.config.load import check, load
from towpath.config.secrets import PemFile, certificates
from towpath.config.topics import INTERNAL_TOPICS, TopicsConfig
from towpath.config.units import Duration, Size

__all__ = [
    "INTERNAL_TOPICS",
    "ClusterConfig",
    "Duration",
    "GssapiSasl",
    "LinkConfig",
    "MskSasl",
    "OauthSasl",
    "OffsetsPolicy",
    "OnGap",
    "PasswordSasl",
    "PemFile",
    "RecordsConfig",
    "Size",
    "StartAt",
    "Tls",
    "TopicsConfig",
    "certificates",
    "check",
    "load",
]
