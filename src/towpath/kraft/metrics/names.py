"""The names of all metrics of a migration to KRaft."""

from __future__ import annotations

from towpath.metering.metric import Metric, gauge

KRAFT_INFO = gauge(
    "towpath_kraft_info",
    "1",
    "Always 1; the labels tell the version of Towpath and the name of the migration.",
    labels=("version", "migration"),
)
KRAFT_STATE = gauge(
    "towpath_kraft_migration_state",
    "1",
    "The state of the migration with the numbers of KIP-866: 0 None, 1 MigrationIneligible,"
    " 2 MigratingZkData, 3 DualWriteMetadata, 4 MigrationFinalized. No series where it has none of"
    " these.",
)
KAFKA_STATE = gauge(
    "towpath_kraft_kafka_state",
    "1",
    "The state of the migration with the numbers of Kafka 3.9's own metric ZkMigrationState:"
    " 0 NONE, 1 MIGRATION, 2 PRE_MIGRATION, 3 POST_MIGRATION, 4 ZK.",
)
KRAFT_STAGE = gauge(
    "towpath_kraft_stage",
    "1",
    "1 for the stage that the cluster is in, 0 for all others.",
    labels=("stage",),
)
KRAFT_ALARM = gauge(
    "towpath_kraft_alarm",
    "1",
    "1 while an alarm is raised: to continue regardless could lose the cluster.",
    labels=("alarm",),
)
KRAFT_DIFFERENCES = gauge(
    "towpath_kraft_differences",
    "things",
    "Differences between ZooKeeper and the metadata log, by kind. No series while they are not"
    " compared.",
    labels=("kind",),
)
KRAFT_BROKERS = gauge(
    "towpath_kraft_brokers",
    "brokers",
    "Number of brokers by the mode in which they run; those that do not answer have the mode"
    " `none`.",
    labels=("mode",),
)
KRAFT_UNSEEN = gauge(
    "towpath_kraft_unseen",
    "things",
    "Nodes and stores of metadata that could not be observed.",
)
KRAFT_LOOK = gauge(
    "towpath_kraft_last_look_timestamp_seconds",
    "seconds",
    "Time of the last observation of the cluster, since 1970.",
)
KRAFT_STEP = gauge(
    "towpath_kraft_step_begun_timestamp_seconds",
    "seconds",
    "Time at which the current step began, since 1970. No series between steps.",
)

ALL: tuple[Metric, ...] = (
    KRAFT_INFO,
    KRAFT_STATE,
    KAFKA_STATE,
    KRAFT_STAGE,
    KRAFT_ALARM,
    KRAFT_DIFFERENCES,
    KRAFT_BROKERS,
    KRAFT_UNSEEN,
    KRAFT_LOOK,
    KRAFT_STEP,
)
