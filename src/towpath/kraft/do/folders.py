"""Folders of controllers, and checks of their owner."""

from __future__ import annotations

from pathlib import PurePosixPath

from towpath.kraft.config import KraftConfig, KraftController
from towpath.kraft.errors import StepRefusedError
from towpath.kraft.facts.nouns import NodeId
from towpath.kraft.facts.seen import Observation


def controller_of(config: KraftConfig, node: NodeId) -> KraftController:
    """Return the entry of a controller in the migration's file."""
    return next(each for each in config.controllers.nodes if NodeId(each.id) == node)


def path_in(folder: str, name: str) -> str:
    """Return the path of a file in a folder of a host."""
    return str(PurePosixPath(folder) / name)


def cluster_id(seen: Observation) -> str:
    """Return the id of the cluster, from ZooKeeper or else from other controllers' folders.

    Before the copy nobody but ZooKeeper does.
    """
    if seen.zookeeper is not None:
        return seen.zookeeper.cluster_id
    told = {meta.cluster_id for each in seen.controllers.values() for meta in each.meta}
    return told.pop() if seen.log is not None and len(told) == 1 else ""


def require_own(seen: Observation, node: NodeId, step: str) -> None:
    """Raise if a controller's folder belongs to another node or cluster.

    Raises:
        StepRefusedError: It is that of another node, or of another cluster.
    """
    cluster = cluster_id(seen)
    there = seen.controllers.get(node)
    for meta in there.meta if there is not None else ():
        if (meta.cluster_id, meta.node) != (cluster, node):
            whose = f"node {meta.node} of cluster {meta.cluster_id}"
            why = f"{meta.directory} of controller {node} belongs to {whose}"
            raise StepRefusedError(step, why)
