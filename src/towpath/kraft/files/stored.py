"""What Kafka stores in the log directory of a controller, and of a broker that observes it."""

from __future__ import annotations

META = "meta.properties"
METADATA_LOG = "__cluster_metadata-0"
LEADER_EPOCHS = f"{METADATA_LOG}/leader-epoch-checkpoint"
"""Which leader epochs a metadata log holds, and from which offset on (`LeaderEpochCheckpointFile`):
a version, a number of lines, and in each line an epoch and its first offset."""

CONTROLLER_FILES = (METADATA_LOG, "bootstrap.checkpoint", ".kafka_cleanshutdown", ".lock", META)
"""All that a controller of Kafka 3.9 has in its folder, in the order in which it is removed.

The metadata log goes first: so a folder of which the removal was cut off never looks as if it were
new and holds an old log."""
