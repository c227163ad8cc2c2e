"""Files that Kafka stores in the log directories of controllers and brokers."""

from __future__ import annotations

from collections.abc import Mapping

META = "meta.properties"
METADATA_LOG = "__cluster_metadata-0"
LEADER_EPOCHS = f"{METADATA_LOG}/leader-epoch-checkpoint"
"""Which leader epochs a metadata log holds, and from which offset on (`LeaderEpochCheckpointFile`):
a version, a number of lines, and in each line an epoch and its first offset."""

CONTROLLER_FILES = (METADATA_LOG, "bootstrap.checkpoint", ".kafka_cleanshutdown", ".lock", META)
"""All that a controller of Kafka 3.9 has in its folder, in the order in which it is removed.

The metadata log goes first: so a folder of which the removal was cut off never looks as if it were
new and holds an old log."""
_LOG_DIRS = ("log.dirs", "log.dir")
_DEFAULT = "/tmp/kafka-logs"  # noqa: S108, Kafka's own default
METADATA = "metadata.log.dir"


def log_dirs(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the log directories of a node, as Kafka reads them (`log.dirs`, else `log.dir`)."""
    told = next((properties[key] for key in _LOG_DIRS if properties.get(key, "").strip()), _DEFAULT)
    return tuple(each.strip() for each in told.split(",") if each.strip())


def metadata_dir(properties: Mapping[str, str]) -> str:
    """Return the folder of the metadata log: `metadata.log.dir`, else the first log directory."""
    return properties.get(METADATA, "").strip() or log_dirs(properties)[0]
