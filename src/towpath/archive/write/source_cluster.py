"""The check that a source is the cluster which the region archives. Pure.

Topics of two clusters have the same names, so a restore would take those of the cluster that was
seen last, and positions of groups and ACLs would be those of whichever ran last.
"""

from __future__ import annotations

from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import OtherClusterError
from towpath.archive.log import ArchiveState
from towpath.model.nouns import ClusterId

_IMPORTED = "kafka-replicator:"
"""What the ids begin with that stand for the clusters of imported archives, as these tell none."""


def imported_cluster(region: str) -> ClusterId:
    """Return the id that represents the source cluster of an imported kafka-replicator region."""
    return ClusterId(f"{_IMPORTED}{region}")


def require_cluster(config: ArchiveConfig, state: ArchiveState, cluster: ClusterId) -> None:
    """Raise unless the source is the region's cluster, or the one that the file names.

    Args:
        config: The archive.
        state: What it holds.
        cluster: The id of the source's cluster.

    Raises:
        OtherClusterError: It is another one.
    """
    if config.cluster is not None:
        if config.cluster != cluster:
            raise OtherClusterError(config.region, config.store.url, (), cluster, config.cluster)
        return
    archived = {each.cluster for each in state.partitions}
    known = {each for each in archived if not each.startswith(_IMPORTED)}
    if known - {cluster}:
        raise OtherClusterError(config.region, config.store.url, tuple(sorted(known)), cluster)
