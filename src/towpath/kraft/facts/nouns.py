"""Modes, states and goals of a migration to KRaft, with Kafka's numbers (KIP-866)."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NewType

PROBES = "towpath-kraft-probe-"
"""Begins the names of topics that are made and deleted to prove that changes reach every broker and
ZooKeeper. Random letters end them, so nobody else has made a topic of a name that we chose."""

NodeId = NewType("NodeId", int)
"""Id of a broker or controller; brokers and controllers of a cluster share one range."""


class Role(StrEnum):
    """The role of a node."""

    BROKER = "broker"
    CONTROLLER = "controller"


class BrokerMode(StrEnum):
    """The mode of a broker: where it keeps its metadata, as its properties say at its start."""

    ZOOKEEPER = "zookeeper"
    MIGRATION = "migration"
    KRAFT = "kraft"


class LogState(IntEnum):
    """The newest ZkMigrationState record of the metadata log (`ZkMigrationState.java`)."""

    NONE = 0
    MIGRATION = 1
    PRE_MIGRATION = 2
    POST_MIGRATION = 3


class KipState(IntEnum):
    """The five states of KIP-866 with its numbers; Kafka 3.9's own metric uses others."""

    NONE = 0
    MIGRATION_INELIGIBLE = 1
    MIGRATING_ZK_DATA = 2
    DUAL_WRITE_METADATA = 3
    MIGRATION_FINALIZED = 4


class Stage(StrEnum):
    """The stages of a migration that can be observed."""

    ZOOKEEPER = "zookeeper"
    PROVISIONED = "provisioned"
    REGISTERING = "registering"
    COPYING = "copying"
    HYBRID = "hybrid"
    MIXED = "mixed"
    DUAL_WRITE = "dual_write"
    FINALIZING = "finalizing"
    FINAL = "final"
    HEADLESS = "headless"
    """ZooKeeper names a KRaft controller, and no controller tells its metadata log."""
    UNKNOWN = "unknown"


class Alarm(StrEnum):
    """States that lose a cluster if the migration continues as usual."""

    NEVER_MIGRATABLE = "never_migratable"
    WIPE_AHEAD = "wipe_ahead"
    LOST_ANCHOR = "lost_anchor"
    STRANDED = "stranded"
    FLAG_MISSING = "flag_missing"
    UNEQUAL = "unequal"
    QUOTAS_LEFT = "quotas_left"
    STATES_NOT_MADE = "states_not_made"
    ZOOKEEPER_BEHIND = "zookeeper_behind"
    UNWRITABLE = "unwritable"
    ENDS_BROKERS = "ends_brokers"
    KRAFT_ONLY = "kraft_only"
    USERS_DELETED = "users_deleted"


class Goal(StrEnum):
    """The possible goals of a migration."""

    DUAL_WRITE = "dual_write"
    FINAL = "final"
    ZOOKEEPER = "zookeeper"
