"""Sessions with the ZooKeeper of a lab, for what somebody does there by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient

from towpath.dev.zookeeper import ZooKeeperCluster


@contextmanager
def znodes_of(lab: ZooKeeperCluster) -> Iterator[KazooClient]:
    """Open a session with the ZooKeeper of a lab."""
    znodes = KazooClient(lab.connect)
    znodes.start(20)
    try:
        yield znodes
    finally:
        znodes.stop()
        znodes.close()
