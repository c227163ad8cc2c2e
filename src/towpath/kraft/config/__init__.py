"""The file of a migration to KRaft (`kind: kraft`) as typed, frozen models.

`load_kraft` returns a `KraftConfig`, or raises with every problem of the file at once.
"""

from __future__ import annotations

from pathlib import Path

from towpath.kraft.config.drivers import LocalDriver, SshDriver
from towpath.kraft.config.file import (
    KraftBroker,
    KraftConfig,
    KraftController,
    KraftLimits,
    ZooKeeperConfig,
)
from towpath.kraft.config.kubernetes import KubernetesDriver
from towpath.settings.kinds import FileKind
from towpath.settings.loading import load_as

__all__ = [
    "KraftBroker",
    "KraftConfig",
    "KraftController",
    "KraftLimits",
    "KubernetesDriver",
    "LocalDriver",
    "SshDriver",
    "ZooKeeperConfig",
    "load_kraft",
]


def load_kraft(path: Path) -> KraftConfig:
    """Return the content of the file of a migration to KRaft, with secrets and variables filled in.

    Raises:
        ConfigError: With every problem of the file, or it describes something else.
    """
    return load_as(path, FileKind.KRAFT, KraftConfig)
